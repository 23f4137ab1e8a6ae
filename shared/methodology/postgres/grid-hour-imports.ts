import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { execute, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import type { HourlyFactor } from '../hourly-factors.ts';
import { isOver } from './grid-hours.ts';

/** The clocks of two machines never differ by more: a day that is over by one alone is both judged and looked at. */
const CLOCKS_DIFFER = "interval '1 hour'";

const ADD = statement(
  {},
  `insert into grid_hour (zone, hour, version, provider, signal, gwp)
   select zone, hour::timestamptz, $1, provider, signal, gwp
   from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::float8[]) as n (zone, hour, provider, signal, gwp)
   on conflict do nothing`,
);

/** The hours of a file, and of days that are over their time all hours that are there: they may have become whole. */
const ADD_DUE = statement(
  {},
  `with given as (
     select zone, hour::timestamptz as hour from unnest($1::text[], $2::text[]) as n (zone, hour)
   ), late as (
     select distinct zone, date_trunc('day', hour, 'UTC') as day from given
     where ${isOver("date_trunc('day', hour, 'UTC')", `now() + ${CLOCKS_DIFFER}`)}
   )
   insert into grid_hour_due (zone, hour)
   select zone, hour from given
   union
   select g.zone, g.hour from late join grid_hour g on g.zone = late.zone and g.hour >= late.day and g.hour < late.day + interval '24 hours'
   on conflict (zone, hour) do update set due_from = now()`,
);

/** Days that are not over their time yet. */
const ADD_OPEN = statement(
  {},
  `insert into grid_day_open (day, zone)
   select distinct (hour::timestamptz at time zone 'UTC')::date, zone from unnest($1::text[], $2::text[]) as n (zone, hour)
   where not ${isOver("date_trunc('day', hour::timestamptz, 'UTC')", `now() - ${CLOCKS_DIFFER}`)}
   on conflict do nothing`,
);

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
    if (added > 0) {
      await execute(client, ADD_DUE, [zones, hours]);
      await execute(client, ADD_OPEN, [zones, hours]);
    }
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
