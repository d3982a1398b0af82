"""What checks are written in: the check's context, side effects, pagination, authentication, idempotency,
tenancy.

It turns rules into judgements; it must not know pytest, reports or generated requests."""
