import { finding, type Finding } from './findings.ts';
import { type KeyIntervals, keyIntervals, type PlacedKeyEvent } from '#shared/ledger/key-events.ts';
import { MalformedLedgerText } from '#shared/ledger/notes.ts';
import { ANCHOR_LOG } from '#shared/ledger/origins.ts';
import { queryRow, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { readKeyEvents } from '#shared/ledger/postgres/anchor-keys.ts';

/**
 * What the anchor log says of keys. It is asked for with every log that is examined, and looks through each entry of the
 * anchor once: there is one every ten seconds, and few are about keys.
 */
export class KeyHistory {
  readonly #events: PlacedKeyEvent[] = [];
  #intervals: KeyIntervals = new Map();
  #read = 0;
  /** The reason why it cannot be trusted; then nothing is judged by it. */
  problem: Finding | null = null;

  /** Reads on. Returns what the log says of keys as of now; nothing when it contradicts itself. */
  async readOn(db: Queryable): Promise<KeyIntervals> {
    const size = await entriesOf(db);
    if (size === this.#read || this.problem !== null) return this.#intervals;
    try {
      const events = await readKeyEvents(db, this.#read);
      // Entries that came in between the two statements are read the next time.
      this.#events.push(...events.filter(({ index }) => index < size));
      this.#intervals = keyIntervals(this.#events);
      this.#read = size;
    } catch (error) {
      if (!(error instanceof MalformedLedgerText)) throw error;
      this.problem = finding('anchor_wrong', ANCHOR_LOG, 'key events', error.message);
      this.#intervals = new Map();
    }
    return this.#intervals;
  }
}

/** Counted by the entries themselves: the head is under examination too. */
const LAST_ENTRY = statement(
  { index: 'int8' },
  'select index from ledger_entry where org_id = $1 order by index desc limit 1',
);

async function entriesOf(db: Queryable): Promise<number> {
  const last = await queryRow(db, LAST_ENTRY, [ANCHOR_LOG]);
  return last === undefined ? 0 : Number(last.index) + 1;
}
