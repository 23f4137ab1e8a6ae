-- A receipt writes less ahead and takes less room (docs/ledger.md): the index that lists of an organisation are answered from
-- has what they filter, rank and nothing else. Totals come from sums by hour and day, and single receipts from their rows.
drop index ledger_body_by_org;
create index ledger_body_by_org on ledger_body (org_id, entry_id) include (
  kind, model, region, tier, outcome, key_id, input_tokens, output_tokens, energy_kwh, gwp_kgco2e);
