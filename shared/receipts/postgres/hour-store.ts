import type { Pool } from 'pg';
import { firstReceiptIdAt } from '#shared/kernel/ids.ts';
import { execute, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { type BodyArchive, createBodyArchive } from '#shared/ledger/postgres/body-archive.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';
import type { GridSignal } from '#shared/methodology/methodology.ts';
import { judgeGridDays, readGridHours } from '#shared/methodology/postgres/grid-hours.ts';
import {
  newestOfChain,
  REVISABLE,
  REVISABLE_COLUMNS,
  type RevisableReceipt,
  revisableAmong,
} from './revisable.ts';

/** An hour of a zone that was imported, with its newest record; without one where its day is not whole and over its time. */
export interface DueHour {
  zone: string;
  /** Epoch milliseconds. */
  hour: number;
  dueFrom: number;
  gridSignal: GridSignal | undefined;
}

const DUE = statement(
  { zone: 'text', hour: 'timestamptz', due_from: 'timestamptz' },
  `select zone, hour, due_from from grid_hour_due order by zone, hour limit 1000`,
);

const DONE = statement(
  {},
  `delete from grid_hour_due where zone = $1 and hour = $2 and due_from <= $3`,
);

/** First receipts of requests of an hour, by the time in their ids, each with the newest of its chain. */
const PAGE = statement(
  { first_id: 'text', ...REVISABLE, index: 'int8?' },
  `select f.entry_id as first_id, ${REVISABLE_COLUMNS}, e.index
   from (select entry_id, org_id from ledger_body
     where entry_id >= $1 and entry_id < $2 and entry_id > $3 and kind in ('inference', 'degraded') and region = any ($4::text[])
     order by entry_id limit $5) f
   cross join lateral (
     select ${newestOfChain('f.org_id', 'f.entry_id')} as id) tip
   join ledger_body b on b.entry_id = tip.id
   left join ledger_entry e on e.entry_id = tip.id
   order by f.entry_id`,
);

export type HourStore = ReturnType<typeof createHourStore>;

/** Receipts whose hour has come, for the role `docket_recalculation`. */
export function createHourStore(pool: Pool, archive: BodyArchive = createBodyArchive(undefined)) {
  return {
    /** Days that have come over their time make their hours due. @returns how many of them are not whole */
    judgeDays: (nowMs: number): Promise<number> => judgeGridDays(pool, nowMs),
    async due(nowMs: number): Promise<DueHour[]> {
      const rows = await queryRows(pool, DUE);
      if (rows.length === 0) return [];
      const times = rows.map(({ hour }) => hour.getTime());
      const zones = [...new Set(rows.map(({ zone }) => zone))];
      const [fromMs, toMs] = [Math.min(...times), Math.max(...times) + HOUR_MS];
      const hours = await readGridHours(pool, { zones, fromMs, toMs, nowMs });
      return rows.map(({ zone, hour, due_from }) => ({
        zone,
        hour: hour.getTime(),
        dueFrom: due_from.getTime(),
        gridSignal: hours(zone, hour.getTime()),
      }));
    },
    /** The next receipts of requests that began in this hour; `lastId` is null when there are no more. */
    async page(
      hour: number,
      regions: readonly string[],
      after: string,
      limit: number,
    ): Promise<{ receipts: RevisableReceipt[]; lastId: string | null; notIntegrated: number }> {
      const range = [firstReceiptIdAt(hour), firstReceiptIdAt(hour + HOUR_MS)];
      const rows = await queryRows(pool, PAGE, [...range, after, regions, limit]);
      const receipts = await revisableAmong(pool, archive, rows);
      const lastId = rows.at(-1)?.first_id ?? null;
      return { receipts, lastId, notIntegrated: rows.length - receipts.length };
    },
    /** Every receipt of the hour states it. One that was imported again meanwhile stays due. */
    async done({ zone, hour, dueFrom }: DueHour): Promise<void> {
      await execute(pool, DONE, [zone, new Date(hour), new Date(dueFrom)]);
    },
  };
}
