/**
 * Receipts from the third to the fourth of these numbers, of so many (second) that end at a moment (first) and are spread over
 * the thirty days before it, of one organisation (fifth). Bodies have the size of real ones: the index is what is read, but the
 * heap is what surrounds it.
 */
export const FILL = `
  insert into ledger_body (entry_id, org_id, kind, key_id, model, region, tier, route, outcome, issued_at,
    input_tokens, cached_input_tokens, output_tokens, energy_kwh, gwp_kgco2e, water_l, adpe_kgsbe, adpf_mj, bounds, data_quality, leaf_hash, body)
  select receipt_id_at(at) || lpad(upper(to_hex(i)), 16, '0'), $5,
    case when i % 50 = 0 then 'degraded' else 'inference' end,
    'key_' || i % 8, 'model-' || i % 12, (array['eu-west', 'eu-north', 'us-east'])[i % 3 + 1],
    'enterprise', 'chat.completions', 'complete', at, 200 + i % 900, 0, 300 + i % 500,
    case when i % 50 <> 0 then 0.0003 + (i % 97) * 1e-6 end, case when i % 50 <> 0 then 0.00002 end,
    case when i % 50 <> 0 then 0.0011 end, case when i % 50 <> 0 then 2e-11 end, case when i % 50 <> 0 then 0.003 end,
    case when i % 50 <> 0 then '{1,2,1,2,1,2,1,2,1,2}'::float8[] end, case when i % 50 <> 0 then 'T3' end,
    sha256(i::text::bytea), convert_to(repeat(md5(i::text), 120), 'UTF8')
  from (select i, to_timestamp($1::float8 / 1000 - ($2::bigint - i) * 2592000.0 / $2) as at
        from generate_series($3::bigint, $4::bigint) i) t`;

/** Brings into the ledger what is not there yet, of one organisation, without summing it up. */
export const INTEGRATE = `
  with head as (select coalesce((select size from ledger_head where org_id = $1), 0) as size
  ), entry as (
    insert into ledger_entry (org_id, index, entry_id, kind, leaf_hash, supersedes, integrated_at)
    select org_id, (select size from head) + row_number() over (order by issued_at, entry_id) - 1, entry_id, kind, leaf_hash,
      supersedes, now()
    from ledger_body b where b.org_id = $1 and not exists (select from ledger_entry e where e.entry_id = b.entry_id) returning 1)
  insert into ledger_head (org_id, size, root, frontier, integrated_at)
  select $1, (select size from head) + count(*), sha256(''), ''::bytea, now() from entry
  on conflict (org_id) do update set size = excluded.size`;
