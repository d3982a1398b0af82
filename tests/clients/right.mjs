// A right client on fetch: the environment names the sandbox; anything thrown fails the run.
import crypto from 'node:crypto';

const env = process.env;
const base = env.CONFORMANCE_BASE_URL;

async function call(method, target, document) {
  const body = document === undefined ? '' : JSON.stringify(document);
  const key = method === 'POST' ? crypto.randomUUID() : undefined;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const timestamp = String(Math.floor(Date.now() / 1000));
    const nonce = crypto.randomBytes(16).toString('hex');
    const string = method + target + timestamp + nonce + body;
    const headers = {
      'X-API-Key': env.CONFORMANCE_PRIMARY_API_KEY,
      'X-Timestamp': timestamp,
      'X-Nonce': nonce,
      'X-Signature': crypto.createHmac('sha256', env.CONFORMANCE_PRIMARY_SECRET).update(string).digest('hex'),
      ...(body && { 'Content-Type': 'application/json' }),
      ...(key && { 'Idempotency-Key': key }),
    };
    let answer;
    try {
      answer = await fetch(base + target, { method, headers, body: body || undefined });
      if (answer.ok) return await answer.json();
    } catch {
      continue; // Lost: nobody knows whether it was done.
    }
    if (answer.status !== 429 && answer.status !== 503) throw new Error(`${answer.status} ${await answer.text()}`);
    await new Promise((done) => setTimeout(done, 1000 * Number(answer.headers.get('retry-after') ?? 1)));
  }
  throw new Error(`no answer to ${method} ${target}`);
}

async function all(path, size) {
  const items = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const answer = await call('GET', `${path}?page=${page}&size=${size}`);
    items.push(...answer.items);
    pages = answer.pages;
  }
  return items;
}

const accounts = `/v1/customers/${env.CONFORMANCE_PRIMARY_CUSTOMER_ID}/accounts`;
for (let number = 0; number < 5; number += 1) await call('POST', accounts, { name: `Account ${number}` });
if ((await all(accounts, 2)).length < 6) throw new Error('not every account is listed');
const funded = `/v1/accounts/${env.CONFORMANCE_PRIMARY_FUNDED_ACCOUNT_ID}`;
const beneficiary = await call('POST', `${funded}/beneficiaries`, {
  first_name: 'Zoë', last_name: 'Byron', display_name: 'Zoë Byron', email: 'zoe@example.com',
  phone: '+12025550123', country_code: 'US',
  address: { address_line: '1 Main St', city: 'Boston', region: 'MA', postal_code: '02101', country: 'US' },
});
const destination = await call('POST', `${funded}/beneficiaries/${beneficiary.id}/payout-destinations`, {
  country: 'US', type: 'bank_account', currency: 'USD', account_number: '12345678901',
  account_name: 'Zoë Byron', routing_number: '021000021', account_type: 'checking',
});
for (let number = 0; number < 4; number += 1) {
  await call('POST', `${funded}/payouts`, {
    beneficiary_id: beneficiary.id, payout_destination_id: destination.id, amount: `${number + 1}.50`, currency: 'USD',
  });
}
const made = await call('POST', `${funded}/virtual-accounts`, { currency: 'EUR', label: 'label' });
await call('GET', `${funded}/virtual-accounts/${made.id}`);
