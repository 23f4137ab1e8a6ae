import { receiptRow, RECEIPTS_HEADER } from '#shared/packs/tables.ts';
import { parseTime } from '#shared/kernel/time.ts';
import { CLOCKS_DIFFER_MS } from '#shared/receipts/agreement.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { linesOf, textOf } from './lines.ts';

/** `2026-11-20T09:38:04.123Z,1,` in front of what follows from the receipt. */
const FRONT = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z),([01]),/;

export interface TableFindings {
  /** When the first and the last entry were integrated. */
  integrated: readonly [string, string];
  /** What it first says otherwise than the receipts. */
  contradiction?: { path: string; message: string };
}

/**
 * The table of a shard, which must say of each receipt what the receipt says. That it does not is reported with the
 * findings, not thrown: a receipt in the wrong place is the graver problem, and the ledger's check of that comes first.
 */
export class ShardTable {
  readonly #path: string;
  readonly #sealedAt: number;
  readonly #lines: Generator<Uint8Array>;
  #first: string | undefined;
  #last = '';
  #contradiction: TableFindings['contradiction'];

  /** @param sealedAt epoch milliseconds */
  constructor(bytes: Uint8Array, path: string, sealedAt: number) {
    this.#path = path;
    this.#sealedAt = sealedAt;
    this.#lines = linesOf(bytes, path);
    if (this.#next() !== RECEIPTS_HEADER) this.contradict('in its head');
  }

  /** Takes the line of the next receipt. Returns whether it says that the receipt counts; undefined where it says nothing. */
  take(document: ReceiptDocument, index: number, supersededBy: number | null): boolean | undefined {
    const line = this.#next() ?? '';
    const [front = '', integratedAt = '', counts] = FRONT.exec(line) ?? [];
    const holds = line.slice(front.length) === receiptRow(document, index, supersededBy);
    const at = parseTime(integratedAt) ?? NaN;
    // Nothing is integrated before it is signed, nor after the head that the pack leads to.
    const isOfItsTime =
      at >= Date.parse(document.validFrom) - CLOCKS_DIFFER_MS &&
      at <= this.#sealedAt + CLOCKS_DIFFER_MS;
    // Along a log, times of integration never go down.
    if (!holds || !isOfItsTime || integratedAt < this.#last) {
      this.contradict(`of entry ${index}`);
      return undefined;
    }
    this.#first ??= integratedAt;
    this.#last = integratedAt;
    return counts === '1';
  }

  findings(): TableFindings {
    if (this.#next() !== undefined) this.contradict('at its end');
    return {
      integrated: [this.#first ?? '', this.#last],
      ...(this.#contradiction === undefined ? {} : { contradiction: this.#contradiction }),
    };
  }

  /** Notes that it says something else than the receipts. */
  contradict(where: string): void {
    const message = `It says something else than the receipts (${where}).`;
    this.#contradiction ??= { path: this.#path, message };
  }

  #next(): string | undefined {
    const { done, value } = this.#lines.next();
    return done === true ? undefined : `${textOf(value, this.#path)}\n`;
  }
}
