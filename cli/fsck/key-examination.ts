import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { finding, type Finding } from './findings.ts';
import {
  judgeKey,
  type KeyIntervals,
  type KeyPurpose,
  type KeyStanding,
} from '#shared/ledger/key-events.ts';
import { MalformedLedgerText, noteKeyHash } from '#shared/ledger/notes.ts';

/** From entry `index` of the anchor log on, the first `size` entries of a log are anchored. */
export interface AnchoredSize {
  index: number;
  size: number;
}

/** Two purposes under the name of a log, and of the few trees that were opened after losses. */
const ORIGINS_MAX = 16;

/** A run of what one key signed and should not have. */
interface Disowned {
  what: string;
  key: string;
  standing: KeyStanding;
  first: number;
  last: number;
  count: number;
}

const REASONS: Readonly<Record<KeyStanding, string>> = {
  good: '',
  unknown_key: 'which the anchor log does not know',
  wrong_purpose: 'which signs something else',
  not_added_yet: 'before it was added',
  retired: 'after it was retired',
  compromised: 'after it was compromised',
};

/**
 * Checks that everything signed in one log lies within its key's interval. Receipts and checkpoints
 * must come in order. Findings are summed up by key: a compromise may concern millions.
 */
export class KeyExamination {
  readonly #intervals: KeyIntervals;
  readonly #anchored: readonly AnchoredSize[];
  readonly #disowned = new Map<string, Disowned>();
  /** Keys by the hash under which a note of a log names them, by purpose and log. */
  readonly #named = new Map<string, ReadonlyMap<string, string>>();
  #at = 0;

  /** @param anchored the log's anchored sizes, smallest first. Not needed for the anchor log itself. */
  constructor(intervals: KeyIntervals, anchored: readonly AnchoredSize[]) {
    this.#intervals = intervals;
    this.#anchored = anchored;
  }

  /** Takes the receipt at `index`. One without a signature is none of this examination's business. */
  addReceipt(index: number, body: Uint8Array): void {
    const key = signingKeyOf(body);
    if (key !== null) this.#judge('receipts', key, index, this.#anchoredAt(index));
  }

  /** Takes a checkpoint of an organisation's log. */
  addCheckpoint(size: number, note: string): void {
    const key = this.#noteKey(note, 'checkpoints');
    if (key !== null) this.#judge('checkpoints', key, size, this.#anchoredAt(size - 1));
  }

  /** Takes a checkpoint of the anchor log: its last entry says when it was made. */
  addAnchorCheckpoint(size: number, note: string): void {
    const key = this.#noteKey(note, 'anchor');
    if (key !== null) this.#judge('anchor', key, size, size - 1);
  }

  /** The entry of the anchor log by which this index of the log was anchored first. */
  #anchoredAt(index: number): number | null {
    // Receipts and checkpoints come interleaved, a checkpoint after the receipts that it covers.
    while (this.#at > 0 && this.#anchored[this.#at - 1]!.size > index) this.#at -= 1;
    while (this.#at < this.#anchored.length && this.#anchored[this.#at]!.size <= index) {
      this.#at += 1;
    }
    return this.#anchored[this.#at]?.index ?? null;
  }

  /** Which key of this purpose the note names; null when it names none that is known: its signature is examined elsewhere. */
  #noteKey(note: string, purpose: KeyPurpose): string | null {
    try {
      const { note: signed, checkpoint } = parseCheckpoint(note);
      const keys = this.#keysOf(purpose, checkpoint.origin);
      const names = signed.signatures.map(({ keyHash }) => Buffer.from(keyHash).toString('hex'));
      return names.map((name) => keys.get(name)).find((key) => key !== undefined) ?? null;
    } catch (error) {
      if (error instanceof MalformedLedgerText) return null;
      throw error;
    }
  }

  #keysOf(purpose: KeyPurpose, origin: string): ReadonlyMap<string, string> {
    const known = this.#named.get(`${purpose} ${origin}`);
    if (known !== undefined) return known;
    const keys = [...this.#intervals.values()].filter((each) => each.purpose === purpose);
    const named = new Map(
      keys.map(({ key, publicKey }) => {
        return [Buffer.from(noteKeyHash(origin, publicKey)).toString('hex'), key];
      }),
    );
    // A log has one origin; notes that claim others are forged, and must not fill the memory.
    if (this.#named.size < ORIGINS_MAX) this.#named.set(`${purpose} ${origin}`, named);
    return named;
  }

  #judge(purpose: KeyPurpose, key: string, at: number, anchoredAt: number | null): void {
    const interval = this.#intervals.get(key);
    // What is not anchored yet may be signed by a key that the log will know by then.
    if (interval === undefined && anchoredAt === null) return;
    const standing = judgeKey(interval, purpose, anchoredAt);
    if (standing === 'good') return;
    const name = `${purpose} ${key} ${standing}`;
    const known = this.#disowned.get(name);
    if (known === undefined) {
      const what = purpose === 'receipts' ? 'receipts' : 'checkpoints';
      this.#disowned.set(name, { what, key, standing, first: at, last: at, count: 1 });
    } else {
      known.last = at;
      known.count += 1;
    }
  }

  /** Call it last. */
  findings(logId: string): Finding[] {
    return [...this.#disowned.values()].map(({ what, key, standing, first, last, count }) => {
      const kind = standing === 'compromised' || standing === 'retired' ? 'key_ended' : 'key_unfit';
      const detail = `${count} ${what} are signed by ${key}, ${REASONS[standing]}.`;
      return finding(kind, logId, `${what} ${first} to ${last}`, detail);
    });
  }
}

const METHOD = '"verificationMethod":"';

/** The key that a receipt names in its proof. Receipts are canonical JSON, so it stands in one form; the last is the proof's. */
function signingKeyOf(body: Uint8Array): string | null {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  const start = bytes.lastIndexOf(METHOD);
  if (start < 0) return null;
  const end = bytes.indexOf('"', start + METHOD.length);
  return end < 0 ? null : bytes.toString('utf8', start + METHOD.length, end);
}
