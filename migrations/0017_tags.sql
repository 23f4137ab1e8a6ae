-- Tags: members of a request's metadata that its organisation has declared. They say whose use it was, by team or project.

-- The keys, in the order in which they are shown.
alter table account add column tags text[] not null default '{}'
  check (cardinality(tags) <= 10 and array_position(tags, null) is null);
drop trigger account_announce on account;
create trigger account_announce after update
  of state, plan, requests_per_second, burst, requests_per_day, concurrent_streams, allowed_regions, allowed_models,
    keep_responses, tags on account
  for each row execute function announce_account();

-- Each as `key=value`, beside the receipt and not in it: a receipt is shown to others, and a name of a team is not for them.
-- A revision has those of what it revises.
alter table ledger_body add column tags text[];

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
  b.tags
from ledger_body b;

-- The values of a tag that are counted by themselves in a day: the first hundred, and those that a budget was of when the day
-- began. A value that is not here when it is counted is counted with the others for all of that day, so that a revision is
-- taken from where its receipt was added.
create table usage_tag (
  org_id text collate "C" not null,
  -- The start of the day (UTC) of its requests.
  at     timestamptz not null,
  tag    text collate "C" not null,
  value  text collate "C" not null,
  primary key (org_id, at, tag, value)
);

-- As `usage_hour` and `usage_day`, of the requests that have a tag, for each that they have.
create table usage_tag_hour (
  like usage_hour,
  tag   text collate "C" not null,
  value text collate "C" not null,
  primary key (org_id, tag, at, value, model, region, key_id, tier, quality)
) with (fillfactor = 50);
create table usage_tag_day (
  like usage_day,
  tag   text collate "C" not null,
  value text collate "C" not null,
  primary key (org_id, tag, at, value, model, region, key_id, tier, quality)
) with (fillfactor = 50);

alter table request add column tags text[];
-- Lists by a tag are answered by it alone; rows without one, which are all rows of most organisations, are not in it.
create index request_tagged on request (org_id, id) include (tags, key_id, model, region, status, code, total_ms)
  where tags is not null;

alter table budget drop constraint budget_scope_check;
alter table budget add constraint budget_scope_check check (scope in ('organisation', 'key', 'model', 'tag'));

-- Grants: each role only what it does. Integration sums up, and looks which values a budget is of.
grant select, insert on usage_tag to docket_ledger;
grant select, insert, update on usage_tag_hour, usage_tag_day to docket_ledger;
grant select (org_id, scope, target, created_at) on budget to docket_ledger;
grant select on usage_tag, usage_tag_hour, usage_tag_day to docket_api, docket_operator;
grant select on usage_tag_day to docket_housekeeping;
