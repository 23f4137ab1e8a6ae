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
    // Most sweeps find nothing, and one statement says so.
    const counts = await revisions.counts();
    events.counted(counts);
    const due = counts.pending > 0 ? await revisions.due(HANDED_OUT_MAX) : [];
    for (const receiptId of due) {
      if (signal.aborted) return;
      await addRecalculation(receiptId);
    }
    const unfinished = counts.restatements > 0 ? await restatements.unfinished() : [];
    for (const orgId of unfinished) {
      await addRestatement(orgId);
    }
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
