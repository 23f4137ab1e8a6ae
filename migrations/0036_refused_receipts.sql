-- What screening has blocked, over all organisations and newest first: a few among millions of receipts.
create index ledger_body_refused on ledger_body (entry_id) include (refusal_rule, org_id) where kind = 'refused';
