import type { Pool } from 'pg';
import type { RegionNote } from '#shared/catalogue/redis/region-status.ts';
import type { RegionHealth } from '#shared/catalogue/routing.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import type { StatusHistory } from '#shared/catalogue/postgres/status-history.ts';
import { ledgerWord, regionLines, type ServiceHistory, type ServiceStatus } from './status.ts';

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
  history: Pick<StatusHistory, 'days' | 'incidents' | 'note'>;
  onError: (error: Error) => void;
  /** Epoch milliseconds. */
  now?: () => number;
}

/** How the service is, and how it was. */
export interface StatusReader {
  now: () => Promise<ServiceStatus>;
  /** Undefined while PostgreSQL does not say. */
  history: () => Promise<ServiceHistory | undefined>;
  /** Notes how it is now, so that it is known later; what cannot be seen is not noted. */
  note: () => Promise<void>;
}

/** What is read once a minute for all: the past changes slowly, and words of an incident are to be seen soon. */
const HISTORY_KEPT_MS = 60_000;

/** Says how the service is. Regions are known in memory; for their notes Redis is asked, and of the ledger PostgreSQL. */
export function openStatus(pool: Pool, options: StatusOptions): StatusReader {
  const { index, health, isServed, notes, history, onError, now = Date.now } = options;
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
  const past = async (): Promise<ServiceHistory | undefined> => {
    try {
      const [days, incidents] = await Promise.all([history.days(), history.incidents()]);
      return { days, incidents };
    } catch (error) {
      onError(error as Error);
      return undefined;
    }
  };
  let keptPast: { until: number; answer: ReturnType<typeof past> } | undefined;
  const status = async (): Promise<ServiceStatus> => {
    const at = now();
    if (kept === undefined || kept.until < at) kept = ask(at + KEPT_MS);
    const [word, said] = await kept.answers;
    const regions = regionLines({ index: index(), health: health(), isServed, notes: said });
    return { at, regions, ledger: word };
  };
  return {
    now: status,
    history: async () => {
      const at = now();
      if (keptPast === undefined || keptPast.until < at) {
        keptPast = { until: at + HISTORY_KEPT_MS, answer: past() };
      }
      const asked = keptPast;
      const answer = await asked.answer;
      // Where there was none it is asked again as soon as how things are.
      if (answer === undefined) asked.until = Math.min(asked.until, now() + KEPT_MS);
      return answer;
    },
    note: async () => {
      try {
        const { regions, ledger: word } = await status();
        if (word === 'unknown') return;
        const states = regions.map(({ code, word: state }) => [`region:${code}`, state] as const);
        await history.note({ ledger: word, ...Object.fromEntries(states) });
      } catch (error) {
        onError(error as Error);
      }
    },
  };
}
