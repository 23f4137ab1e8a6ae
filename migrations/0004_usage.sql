-- What an organisation has used, summed up as receipts enter its ledger: by hour and by day, so that figures of any
-- period are read from as many rows, however many receipts there were.

-- The time in a receipt's id, cut to the hour: the first ten digits of a ULID are its milliseconds in base 32.
create function receipt_hour(id text) returns timestamptz language sql immutable strict parallel safe as $$
  select to_timestamp((
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 6, 1)) - 1)::bigint << 45) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 7, 1)) - 1)::bigint << 40) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 8, 1)) - 1)::bigint << 35) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 9, 1)) - 1)::bigint << 30) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 10, 1)) - 1)::bigint << 25) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 11, 1)) - 1)::bigint << 20) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 12, 1)) - 1)::bigint << 15) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 13, 1)) - 1)::bigint << 10) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 14, 1)) - 1)::bigint << 5) +
    ((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(id, 15, 1)) - 1)::bigint << 0)) / 3600000 * 3600)
$$;

-- What a receipt adds to figures while it is the current one of its inference. Receipts state at most twelve significant
-- digits, and a double gives back fifteen: these decimals are those of the receipts, exactly.
create view receipt_figure with (security_invoker = true) as
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
  coalesce(b.adpf_mj, 0)::numeric as adpf, coalesce(b.bounds[9], 0)::numeric as adpf_lower, coalesce(b.bounds[10], 0)::numeric as adpf_upper
from ledger_body b;

-- An inference is counted where its first receipt lies, in time and in the ledger, and in the groups of its current one.
create table usage_hour (
  org_id                        text collate "C" not null,
  -- The start of the hour of its requests.
  at                            timestamptz not null,
  model                         text collate "C" not null,
  region                        text collate "C" not null,
  key_id                        text collate "C" not null,
  tier                          text collate "C" not null,
  quality                       text collate "C" not null,
  -- All first receipts lie between these, both included.
  first_index                   bigint not null,
  last_index                    bigint not null,
  refused                       bigint not null,
  failed                        bigint not null,
  covered                       bigint not null,
  uncovered                     bigint not null,
  input_tokens                  numeric not null,
  cached_input_tokens           numeric not null,
  output_tokens                 numeric not null,
  uncovered_input_tokens        numeric not null,
  uncovered_cached_input_tokens numeric not null,
  uncovered_output_tokens       numeric not null,
  energy numeric not null, energy_lower numeric not null, energy_upper numeric not null,
  gwp    numeric not null, gwp_lower    numeric not null, gwp_upper    numeric not null,
  water  numeric not null, water_lower  numeric not null, water_upper  numeric not null,
  adpe   numeric not null, adpe_lower   numeric not null, adpe_upper   numeric not null,
  adpf   numeric not null, adpf_lower   numeric not null, adpf_upper   numeric not null,
  primary key (org_id, at, model, region, key_id, tier, quality)
) with (fillfactor = 50); -- the current hour changes with every batch: room to do so in place
create table usage_day (like usage_hour including all) with (fillfactor = 50);

-- Whether an organisation has ever had receipts of a model, in a region or by a key is asked of these indexes before a list
-- that is filtered by one is read: a name that was never used would otherwise have all of its sums read. Rows are added once
-- a day and name, so that keeping them costs next to nothing.
create index usage_day_by_model on usage_day (org_id, model);
create index usage_day_by_region on usage_day (org_id, region);
create index usage_day_by_key on usage_day (org_id, key_id);

grant select on receipt_figure to docket_api, docket_ledger, docket_operator;
grant select, insert, update on usage_hour, usage_day to docket_ledger;
grant select on usage_hour, usage_day to docket_api, docket_operator, docket_exports;
