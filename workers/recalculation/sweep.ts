import type { RestatementStore, RevisionStore } from '#shared/receipts/postgres/revisions.ts';
import type { RecalculationEvents } from './events.ts';

/** Jobs handed out by one sweep; the next follows two seconds later. A thousand estimates take about a second. */
const HANDED_OUT_MAX = 1_000;

export interface SweepDeps {
  revisions: Pick<RevisionStore, 'due' | 'counts' | 'renew'>;
  restatements: Pick<RestatementStore, 'unfinished'>;
  addRecalculation: (receiptId: string) => Promise<void>;
  addRestatement: (orgId: string) => Promise<void>;
  basis: () => string;
  events: RecalculationEvents;
}

/**
 * Hands out what is due. PostgreSQL says what that is; a job only carries an id, and is not added while one of the
 * same id is there. So a queue that is lost is filled again by the next sweep.
 */
export class Sweep {
  readonly #deps: SweepDeps;
  #renewedFor = '';

  constructor(deps: SweepDeps) {
    this.#deps = deps;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { revisions, restatements, addRecalculation, addRestatement, events } = this.#deps;
    await this.renew();
    for (const receiptId of await revisions.due(HANDED_OUT_MAX)) {
      if (signal.aborted) return;
      await addRecalculation(receiptId);
    }
    for (const orgId of await restatements.unfinished()) {
      await addRestatement(orgId);
    }
    events.counted(await revisions.counts());
  }

  /**
   * Once for each catalogue that this process gets, at its start too: what failed on another is tried again, parked or
   * not, because a mended catalogue is how most failures are mended.
   */
  async renew(): Promise<void> {
    const basis = this.#deps.basis();
    if (basis === this.#renewedFor) return;
    const renewed = await this.#deps.revisions.renew(basis);
    this.#renewedFor = basis;
    if (renewed > 0) this.#deps.events.renewed(renewed);
  }
}
