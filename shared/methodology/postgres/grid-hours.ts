import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { hourAt } from '../grid-hour.ts';
import { execute, queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { HourlyFactor } from '../hourly-factors.ts';
import type { GridSignal } from '../methodology.ts';

/** A day in UTC has as many, in summer time too. */
const HOURS_OF_DAY = 24;
/** So long after its end the hours of a day may come; providers publish them within one. */
const TIME_OF_DAY_HOURS = 48;

/** The clocks of two machines never differ by more: a day that is over by one alone is both judged and looked at. */
const CLOCKS_DIFFER = "interval '1 hour'";

/** Whether a day is over its time at a moment, in SQL. @param day its start */
function isOver(day: string, moment: string): string {
  return `(${day} + interval '${HOURS_OF_DAY + TIME_OF_DAY_HOURS} hours' <= ${moment})`;
}

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

/** One turn's: their hours are 24,000 rows. The zones of a catalogue are few, and each has a day a day. */
const DAYS_JUDGED_MAX = 1_000;

/**
 * One statement, so one transaction: a day is judged once, and what follows from it is due, or neither. Its hours are due
 * where some are missing; the receipts of a day that is whole state them already.
 */
const JUDGE = statement(
  { days: 'int8', incomplete: 'int8' },
  `with judged as (
     delete from grid_day_open o using (
       select day, zone from grid_day_open where ${isOver("(day::timestamp at time zone 'UTC')", '$1::timestamptz')}
       order by day, zone limit ${DAYS_JUDGED_MAX} for update skip locked) d
     where o.day = d.day and o.zone = d.zone
     returning o.zone, (o.day::timestamp at time zone 'UTC') as day
   ), hours as (
     select distinct j.zone, j.day, g.hour from judged j
     join grid_hour g on g.zone = j.zone and g.hour >= j.day and g.hour < j.day + interval '24 hours'
   ), incomplete as (
     select zone, day from hours group by zone, day having count(*) < ${HOURS_OF_DAY}
   ), due as (
     insert into grid_hour_due (zone, hour) select h.zone, h.hour from hours h join incomplete i using (zone, day)
     on conflict (zone, hour) do update set due_from = now()
   )
   select (select count(*) from judged) as days, (select count(*) from incomplete) as incomplete`,
);

/** The newest version of each hour that counts: of days that are over their time, those of whole days alone. */
const HOURS = statement(
  {
    zone: 'text',
    hour: 'timestamptz',
    version: 'text',
    provider: 'text',
    signal: 'text',
    gwp: 'float8',
  },
  `with newest as (
     select distinct on (zone, hour) zone, hour, version, provider, signal, gwp, date_trunc('day', hour, 'UTC') as day
     from grid_hour
     where zone = any ($1::text[]) and hour >= date_trunc('day', $2::timestamptz, 'UTC')
       and hour < date_trunc('day', $3::timestamptz, 'UTC') + interval '24 hours'
     order by zone, hour, imported_at desc, version desc
   ), counted as (select *, count(*) over (partition by zone, day) as hours from newest)
   select zone, hour, version, provider, signal, gwp from counted
   where hour >= $2::timestamptz and hour < $3::timestamptz
     and (hours = ${HOURS_OF_DAY} or not ${isOver('day', '$4::timestamptz')})`,
);

/** The signal of the hour in which something began, where there is one. */
export type GridHours = (zone: string, atMs: number) => GridSignal | undefined;

/** Hours of these zones from one time to another, as they count at a moment; in epoch milliseconds. */
export async function readGridHours(
  pool: Pool,
  {
    zones,
    fromMs,
    toMs,
    nowMs,
  }: { zones: readonly string[]; fromMs: number; toMs: number; nowMs: number },
): Promise<GridHours> {
  const times = [fromMs, toMs, nowMs].map((ms) => new Date(ms));
  const rows = await queryRows(pool, HOURS, [zones, ...times]);
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

/**
 * Judges days that have come over their time: the hours of those that are not whole are due, since they count no more.
 * @returns how many were not whole
 */
export async function judgeGridDays(pool: Pool, nowMs: number): Promise<number> {
  const row = await queryRow(pool, JUDGE, [new Date(nowMs)]);
  return Number(row!.incomplete);
}
