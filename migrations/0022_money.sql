-- What requests cost by the operator's prices, and budgets of that; hard budgets of what is estimated.

-- The currency in which costs are counted: that of the first price. Sums of two would be of neither.
create table currency (
  code text primary key check (code ~ '^[A-Z]{3}$'),
  one  boolean not null default true unique check (one)
);

-- Beside the receipt and not in it: a receipt says what a request was, and not what its operator asks for it. A revision has
-- that of what it revises. Null where there was no price.
alter table ledger_body add column cost numeric;

create or replace view receipt_figure with (security_invoker = true) as
select b.org_id, b.entry_id, coalesce(b.model, '') as model, coalesce(b.region, '') as region,
  coalesce(b.key_id, '') as key_id, coalesce(b.tier, '') as tier,
  coalesce(b.data_quality, '') as quality,
  (b.kind = 'refused')::int as refused,
  (b.kind = 'failed')::int as failed,
  (b.kind not in ('refused', 'failed', 'degraded'))::int as covered,
  (b.kind = 'degraded')::int as uncovered,
  coalesce(b.input_tokens, 0)::numeric as input_tokens,
  coalesce(b.cached_input_tokens, 0)::numeric as cached_input_tokens,
  coalesce(b.output_tokens, 0)::numeric as output_tokens,
  coalesce(b.energy_kwh, 0)::numeric as energy, coalesce(b.bounds[1], 0)::numeric as energy_lower, coalesce(b.bounds[2], 0)::numeric as energy_upper,
  coalesce(b.gwp_kgco2e, 0)::numeric as gwp, coalesce(b.bounds[3], 0)::numeric as gwp_lower, coalesce(b.bounds[4], 0)::numeric as gwp_upper,
  coalesce(b.water_l, 0)::numeric as water, coalesce(b.bounds[5], 0)::numeric as water_lower, coalesce(b.bounds[6], 0)::numeric as water_upper,
  coalesce(b.adpe_kgsbe, 0)::numeric as adpe, coalesce(b.bounds[7], 0)::numeric as adpe_lower, coalesce(b.bounds[8], 0)::numeric as adpe_upper,
  coalesce(b.adpf_mj, 0)::numeric as adpf, coalesce(b.bounds[9], 0)::numeric as adpf_lower, coalesce(b.bounds[10], 0)::numeric as adpf_upper,
  b.tags,
  (b.cost is not null)::int as priced, coalesce(b.cost, 0) as cost
from ledger_body b;

alter table usage_hour add column priced bigint not null default 0, add column cost numeric not null default 0;
alter table usage_day add column priced bigint not null default 0, add column cost numeric not null default 0;
alter table usage_tag_hour add column priced bigint not null default 0, add column cost numeric not null default 0;
alter table usage_tag_day add column priced bigint not null default 0, add column cost numeric not null default 0;

alter table budget drop constraint budget_measure_check;
alter table budget add constraint budget_measure_check check (measure in ('requests', 'tokens', 'energy', 'gwp', 'money'));
-- A hard one holds what a request may take; its receipt says what it took.
alter table budget drop constraint budget_check1;

-- Grants: each role only what it does. The first process that counts a cost writes in which currency.
grant select, insert on currency to docket_receipts, docket_api;
grant select on currency to docket_operator, docket_housekeeping;
