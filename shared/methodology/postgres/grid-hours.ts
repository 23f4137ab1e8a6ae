import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { hourAt } from '../grid-hour.ts';
import { execute, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { HourlyFactor } from '../hourly-factors.ts';
import type { GridSignal } from '../methodology.ts';

const ADD = statement(
  {},
  `insert into grid_hour (zone, hour, version, provider, signal, gwp)
   select zone, hour::timestamptz, $1, provider, signal, gwp
   from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::float8[]) as n (zone, hour, provider, signal, gwp)
   on conflict do nothing`,
);

const ADD_DUE = statement(
  {},
  `insert into grid_hour_due (zone, hour) select zone, hour::timestamptz
   from unnest($1::text[], $2::text[]) as n (zone, hour)
   on conflict (zone, hour) do update set due_from = now()`,
);

/** The newest version of each hour. */
const HOURS = statement(
  {
    zone: 'text',
    hour: 'timestamptz',
    version: 'text',
    provider: 'text',
    signal: 'text',
    gwp: 'float8',
  },
  `select distinct on (zone, hour) zone, hour, version, provider, signal, gwp from grid_hour
   where zone = any ($1::text[]) and hour >= $2::timestamptz and hour < $3::timestamptz
   order by zone, hour, imported_at desc, version desc`,
);

/** The signal of the hour in which something began, where there is one. */
export type GridHours = (zone: string, atMs: number) => GridSignal | undefined;

/** Hours of these zones from one time to another, in epoch milliseconds. */
export async function readGridHours(
  pool: Pool,
  zones: readonly string[],
  fromMs: number,
  toMs: number,
): Promise<GridHours> {
  const rows = await queryRows(pool, HOURS, [zones, new Date(fromMs), new Date(toMs)]);
  const known = new Map(
    rows.map(({ zone, hour: at, version, provider, signal, gwp }) => {
      const hour = hourAt(at.getTime());
      return [`${zone} ${hour}`, { hour, signal, provider, version, gwpKgco2ePerKwh: gwp }];
    }),
  );
  return (zone, atMs) => known.get(`${zone} ${hourAt(atMs)}`);
}

interface GridHoursImport {
  /** The multihash of the file. */
  version: string;
  factors: readonly HourlyFactor[];
  by: { actor: Actor; reason?: string };
}

/** Keeps what a file says, and has the receipts of its hours looked at. @returns how many hours are new */
export function addGridHours(
  pool: Pool,
  surroundings: Surroundings,
  { version, factors, by }: GridHoursImport,
): Promise<number> {
  return inTransaction(pool, async (client) => {
    const column = (name: keyof HourlyFactor) => factors.map((factor) => factor[name]);
    const [zones, hours] = [column('zone'), column('hour')];
    const more = [column('provider'), column('signal'), column('gwpKgco2ePerKwh')];
    const added = await execute(client, ADD, [version, zones, hours, ...more]);
    if (added > 0) await execute(client, ADD_DUE, [zones, hours]);
    await appendAudit(client, surroundings, {
      orgId: SERVICE_CHAIN,
      action: 'factors.imported',
      subject: version,
      details: { hours: factors.length, added },
      ...by,
    });
    return added;
  });
}
