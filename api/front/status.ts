import type { Region } from '#shared/catalogue/catalogue.ts';
import { circuitName } from '#shared/catalogue/circuit-breaker.ts';
import type { Incident, StatusDay } from '#shared/catalogue/service-history.ts';
import type { RegionNote } from '#shared/catalogue/redis/region-status.ts';
import type { RegionHealth } from '#shared/catalogue/routing.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { MAXIMUM_MERGE_DELAY_SECONDS } from '#shared/receipts/document.ts';

/** How a region is, in a word. `impaired`: some of its models cannot be had there now. */
export type RegionWord = 'normal' | 'impaired' | 'degraded' | 'saturated' | 'decommissioned';

/** A region as the public sees it. */
export interface RegionStatusLine {
  code: string;
  name: string;
  word: RegionWord;
  /** What operators tell the public about it. */
  note?: RegionNote;
  /** Models that can be had there now, of those that it offers. */
  available: number;
  offered: number;
}

/** How the service is at a moment. */
export interface ServiceStatus {
  /** Epoch milliseconds. */
  at: number;
  regions: RegionStatusLine[];
  /** Whether receipts get into the ledger in time; `unknown` while the database does not answer. */
  ledger: 'normal' | 'behind' | 'unknown';
}

/** How it was, as far as processes have looked, and what operators said of it. */
export interface ServiceHistory {
  days: readonly StatusDay[];
  incidents: readonly Incident[];
}

export interface StatusSources {
  index: RoutingIndex;
  health: RegionHealth;
  /** Whether a region has a worker. */
  isServed: (code: string) => boolean;
  /** By region code. */
  notes?: ReadonlyMap<string, RegionNote>;
}

/** What a catalogue has for one customer is not told to others. */
const isForEverybody = ({ organisations }: { organisations?: readonly string[] }): boolean =>
  organisations === undefined;

/** How regions and their models are: those that are open to every account, or those that `isShown` says. */
export function regionLines(
  { index, health, isServed, notes }: StatusSources,
  isShown: (each: Pick<Region, 'organisations'>) => boolean = isForEverybody,
): RegionStatusLine[] {
  return [...index.regions.values()].filter(isShown).map(({ code, name, status }) => {
    const routes = [...index.models.values()]
      .filter(({ model }) => isShown(model))
      .flatMap(({ byRegion }) => byRegion.get(code) ?? []);
    const available = routes.filter(({ endpoints }) =>
      endpoints.some(({ endpoint }) => !health.openCircuits.has(circuitName(code, endpoint.name))),
    ).length;
    const offered = routes.length;
    const state = health.states.get(code) ?? status;
    const note = notes?.get(code);
    return {
      code,
      name,
      ...(note !== undefined && { note }),
      word: wordOf(state, { available, offered, isServed: isServed(code) }),
      available: state === 'normal' && isServed(code) ? available : 0,
      offered,
    };
  });
}

function wordOf(
  state: 'normal' | 'degraded' | 'saturated' | 'decommissioned',
  of: { available: number; offered: number; isServed: boolean },
): RegionWord {
  if (state === 'decommissioned' || state === 'saturated') return state;
  if (state === 'degraded' || !of.isServed || (of.offered > 0 && of.available === 0)) {
    return 'degraded';
  }
  return of.available < of.offered ? 'impaired' : 'normal';
}

/** Twice what is promised: a receipt that was issued this moment ago is not late. */
const BEHIND_MS = 2 * MAXIMUM_MERGE_DELAY_SECONDS * 1_000;

/** How the ledger is, by the oldest receipt that waits for it; null when none does. */
export function ledgerWord(oldestWaiting: string | null, now: number): 'normal' | 'behind' {
  return oldestWaiting !== null && now - timeOfId(oldestWaiting) > BEHIND_MS ? 'behind' : 'normal';
}
