import type { Pool } from 'pg';
import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';

/** How estimates compare with what was measured, of one model on one endpoint. Energy in kWh. */
export interface Accuracy {
  model: string;
  endpoint: string;
  requests: number;
  estimated: number;
  measured: number;
  /** Estimate over measurement, request by request: 5 %, half, 95 %. */
  ratio5: number;
  ratio50: number;
  ratio95: number;
  /** Part of the requests whose measurement lies in the interval of the estimate. */
  within: number;
  /** Requests on the endpoint that no meter covered whole. */
  unmeasured: number;
}

const ACCURACY = statement(
  {
    model: 'text?',
    endpoint: 'text',
    requests: 'int8',
    estimated: 'float8?',
    measured: 'float8?',
    ratios: '_float8?',
    within: 'float8?',
    unmeasured: 'int8',
  },
  `select b.model, r.endpoint,
     count(*) filter (where r.state = 'measured') as requests,
     sum(b.energy_kwh) filter (where r.state = 'measured') as estimated,
     sum(m.energy_kwh) as measured,
     percentile_cont(array[0.05, 0.5, 0.95]) within group (order by b.energy_kwh / nullif(m.energy_kwh, 0)) as ratios,
     avg((m.energy_kwh between b.bounds[1] and b.bounds[2])::int)::float8 as within,
     count(*) filter (where r.state = 'unmeasured') as unmeasured
   from metered_request r
   join ledger_body b on b.entry_id = r.receipt_id
   left join ledger_body m on m.entry_id = r.revision_id
   where r.receipt_id >= $1 and b.energy_kwh is not null and r.state in ('measured', 'unmeasured')
   group by b.model, r.endpoint order by b.model, r.endpoint`,
);

const RECORD = statement(
  { digest: 'text', body: 'text' },
  `select digest, convert_from(body, 'UTF8') as body from metered_record where digest = $1`,
);

/** What operators and their auditors read of meters, for the role `docket_operator`. */
export function createMeteredRecords(pool: Pool) {
  return {
    /** Of requests since this receipt id. */
    async accuracy(since: string): Promise<Accuracy[]> {
      const rows = await queryRows(pool, ACCURACY, [since]);
      return rows.map((row) => {
        const [ratio5 = 0, ratio50 = 0, ratio95 = 0] = row.ratios ?? [];
        return {
          model: row.model ?? '',
          endpoint: row.endpoint,
          requests: Number(row.requests),
          estimated: row.estimated ?? 0,
          measured: row.measured ?? 0,
          ratio5,
          ratio50,
          ratio95,
          within: row.within ?? 0,
          unmeasured: Number(row.unmeasured),
        };
      });
    },
    /** The canonical JSON of an interval or span; undefined when there is none of that digest. */
    async record(digest: string): Promise<string | undefined> {
      return (await queryRow(pool, RECORD, [digest]))?.body;
    },
  };
}
