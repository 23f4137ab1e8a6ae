import type { Pool } from 'pg';
import type { RegionHealth } from '#shared/catalogue/routing.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { ledgerWord, regionLines, type ServiceStatus } from './status.ts';

/** An answer this old is as good as a new one, whoever asks: the page costs a query every five seconds at most. */
const KEPT_MS = 5_000;

const OLDEST_WAITING = statement(
  { entry_id: 'text' },
  'select entry_id from receipt_pending order by entry_id limit 1',
);

export interface StatusOptions {
  index: () => RoutingIndex;
  health: () => Pick<RegionHealth, 'states' | 'openCircuits'>;
  isServed: (code: string) => boolean;
  onError: (error: Error) => void;
  /** Epoch milliseconds. */
  now?: () => number;
}

/** Says how the service is. Regions are known in memory; of the ledger PostgreSQL is asked. */
export function openStatus(pool: Pool, options: StatusOptions): () => Promise<ServiceStatus> {
  const { index, health, isServed, onError, now = Date.now } = options;
  const ledger = async (): Promise<ServiceStatus['ledger']> => {
    try {
      const [oldest] = await queryRows(pool, OLDEST_WAITING, []);
      return ledgerWord(oldest?.entry_id ?? null, now());
    } catch (error) {
      onError(error as Error);
      return 'unknown';
    }
  };
  let kept: { until: number; ledger: Promise<ServiceStatus['ledger']> } | undefined;
  return async () => {
    const at = now();
    if (kept === undefined || kept.until < at) kept = { until: at + KEPT_MS, ledger: ledger() };
    const regions = regionLines({ index: index(), health: health(), isServed });
    return { at, regions, ledger: await kept.ledger };
  };
}
