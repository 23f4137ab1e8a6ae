-- What an organisation has used, summed up as receipts enter its ledger: by hour and by day, so that figures of any
-- period are read from as many rows, however many receipts there were.

-- The lower and upper bounds of energy, greenhouse gas, water, abiotic depletion and fossil energy, two by two in this
-- order, and the tier of the estimate's data. Null on receipts from before; theirs are read from their bytes.
alter table ledger_body add column bounds float8[], add column data_quality text;

create function receipt_bounds(body bytea) returns float8[] language sql immutable strict parallel safe
  set search_path = public, pg_temp as $$
  select array_agg(bound::float8 order by
    array_position(array['energy', 'gwp', 'water', 'adpe', 'adpf'], result ->> 'quantityKind'), place)
  from jsonb_array_elements(convert_from(body, 'UTF8')::jsonb #> '{measurement,result}') result
  cross join lateral (values (1, result ->> 'lower'), (2, result ->> 'upper')) bounds (place, bound)
$$;

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
  coalesce(b.data_quality, case when b.energy_kwh is null then '' else
    convert_from(b.body, 'UTF8')::jsonb #>> '{measurement,dataQuality}' end) as quality,
  (b.kind = 'refused')::int as refused,
  (b.kind not in ('refused', 'degraded'))::int as covered,
  (b.kind = 'degraded')::int as uncovered,
  coalesce(b.input_tokens, 0)::numeric as input_tokens,
  coalesce(b.cached_input_tokens, 0)::numeric as cached_input_tokens,
  coalesce(b.output_tokens, 0)::numeric as output_tokens,
  coalesce(b.energy_kwh, 0)::numeric as energy, coalesce(bound[1], 0)::numeric as energy_lower, coalesce(bound[2], 0)::numeric as energy_upper,
  coalesce(b.gwp_kgco2e, 0)::numeric as gwp, coalesce(bound[3], 0)::numeric as gwp_lower, coalesce(bound[4], 0)::numeric as gwp_upper,
  coalesce(b.water_l, 0)::numeric as water, coalesce(bound[5], 0)::numeric as water_lower, coalesce(bound[6], 0)::numeric as water_upper,
  coalesce(b.adpe_kgsbe, 0)::numeric as adpe, coalesce(bound[7], 0)::numeric as adpe_lower, coalesce(bound[8], 0)::numeric as adpe_upper,
  coalesce(b.adpf_mj, 0)::numeric as adpf, coalesce(bound[9], 0)::numeric as adpf_lower, coalesce(bound[10], 0)::numeric as adpf_upper
from ledger_body b
cross join lateral (
  select coalesce(b.bounds, case when b.energy_kwh is null then null else receipt_bounds(b.body) end) as bound) own;

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

-- Entries of the log that are summed up. It lags behind the size where entries were integrated by a release that did not
-- sum up; a ledger worker then makes up for it, a few thousand entries at a time.
alter table ledger_head add column usage_size bigint not null default 0 check (usage_size >= 0);

grant select on receipt_figure to docket_api, docket_ledger, docket_operator;
grant select, insert, update on usage_hour, usage_day to docket_ledger;
grant select on usage_hour, usage_day to docket_api, docket_operator, docket_exports;
