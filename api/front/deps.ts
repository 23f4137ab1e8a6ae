import type { Pool } from 'pg';
import type { RegionNote } from '#shared/catalogue/redis/region-status.ts';
import type { RegionHealth } from '#shared/catalogue/routing.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { ledgerWord, regionLines, type ServiceStatus } from './status.ts';

/** An answer this old is as good as a new one: the page costs a query every five seconds at most. */
const KEPT_MS = 5_000;

const OLDEST_WAITING = statement(
  { entry_id: 'text' },
  'select entry_id from receipt_pending order by entry_id limit 1',
);

export interface StatusOptions {
  index: () => RoutingIndex;
  health: () => Pick<RegionHealth, 'states' | 'openCircuits'>;
  isServed: (code: string) => boolean;
  /** What operators say about regions, by their codes. */
  notes: () => Promise<ReadonlyMap<string, RegionNote>>;
  onError: (error: Error) => void;
  /** Epoch milliseconds. */
  now?: () => number;
}

/** Says how the service is. Regions are known in memory; for their notes Redis is asked, and of the ledger PostgreSQL. */
export function openStatus(pool: Pool, options: StatusOptions): () => Promise<ServiceStatus> {
  const { index, health, isServed, notes, onError, now = Date.now } = options;
  const ledger = async (): Promise<ServiceStatus['ledger']> => {
    try {
      const [oldest] = await queryRows(pool, OLDEST_WAITING, []);
      return ledgerWord(oldest?.entry_id ?? null, now());
    } catch (error) {
      onError(error as Error);
      return 'unknown';
    }
  };
  // Without them the page says what it knows by itself.
  const notesOrNone = async (): Promise<ReadonlyMap<string, RegionNote>> => {
    try {
      return await notes();
    } catch (error) {
      onError(error as Error);
      return new Map();
    }
  };
  const ask = (until: number) => ({ until, answers: Promise.all([ledger(), notesOrNone()]) });
  let kept: ReturnType<typeof ask> | undefined;
  return async () => {
    const at = now();
    if (kept === undefined || kept.until < at) kept = ask(at + KEPT_MS);
    const [word, said] = await kept.answers;
    const regions = regionLines({ index: index(), health: health(), isServed, notes: said });
    return { at, regions, ledger: word };
  };
}
