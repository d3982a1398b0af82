// Signed calls with the types that openapi-typescript makes of spec/openapi.bundled.json, and openapi-fetch.
//
//     npx openapi-typescript spec/openapi.bundled.json --default-non-nullable=false -o schema.ts
//     npx tsc && BASE_URL=... API_KEY=... API_SECRET=... CUSTOMER_ID=... node typescript_client.js

import { createHmac, randomBytes, randomUUID } from 'node:crypto';
import createClient, { type Middleware } from 'openapi-fetch';
import type { components, paths } from './schema.js';

type AccountItem = components['schemas']['AccountItem'];

/** Signs a request as it goes out. */
function signed(apiKey: string, secret: string): Middleware {
  return {
    async onRequest({ request }) {
      const url = new URL(request.url);
      const timestamp = String(Math.floor(Date.now() / 1000));
      const nonce = randomBytes(16).toString('hex');
      const signature = createHmac('sha256', secret)
        .update(request.method + url.pathname + url.search + timestamp + nonce)
        .update(Buffer.from(await request.clone().arrayBuffer()))
        .digest('hex');
      request.headers.set('X-API-Key', apiKey);
      request.headers.set('X-Timestamp', timestamp);
      request.headers.set('X-Nonce', nonce);
      request.headers.set('X-Signature', signature);
      return request;
    },
  };
}

function client(secret: string) {
  const made = createClient<paths>({ baseUrl: process.env.BASE_URL ?? '' });
  made.use(signed(process.env.API_KEY ?? '', secret));
  return made;
}

const api = client(process.env.API_SECRET ?? '');
const path = { customer_id: process.env.CUSTOMER_ID ?? '' };
const created = await api.POST('/v1/customers/{customer_id}/accounts', {
  params: { path, header: { 'Idempotency-Key': randomUUID() } },
  body: { name: 'Generated in TypeScript' },
});
if (!created.data) throw new Error(JSON.stringify(created.error));
const listed = await api.GET('/v1/customers/{customer_id}/accounts', {
  params: { path, query: { page: 1, size: 100 } },
});
if (!listed.data) throw new Error(JSON.stringify(listed.error));
const { data, response } = await client('another secret').GET('/v1/customers/{customer_id}/accounts', {
  params: { path },
});
if (data) throw new Error('a wrong signature was accepted');
const id: string = created.data.id;
console.log(created.data.name, listed.data.items.some((account: AccountItem) => account.id === id), response.status);
