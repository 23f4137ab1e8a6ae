import type { Pool } from 'pg';
import { hourAt } from '../grid-hour.ts';
import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { GridSignal } from '../methodology.ts';

/** A day in UTC has as many, in summer time too. */
const HOURS_OF_DAY = 24;
/** So long after its end the hours of a day may come; providers publish them within one. */
const TIME_OF_DAY_HOURS = 48;

/** Whether a day is over its time at a moment, in SQL. @param day its start */
export function isOver(day: string, moment: string): string {
  return `(${day} + interval '${HOURS_OF_DAY + TIME_OF_DAY_HOURS} hours' <= ${moment})`;
}

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

/**
 * Judges days that have come over their time: the hours of those that are not whole are due, since they count no more.
 * @returns how many were not whole
 */
export async function judgeGridDays(pool: Pool, nowMs: number): Promise<number> {
  const row = await queryRow(pool, JUDGE, [new Date(nowMs)]);
  return Number(row!.incomplete);
}
