import { sha256Text } from '#primitives';
import type { TableRow } from './pack-tables.ts';

/** More is no sample that a person looks at. */
export const SAMPLE_SIZE_MAX = 10_000;
export const SAMPLE_SIZE = 60;
/** What stands in a table, on a page and before a hash has one form. */
export const SEED = /^[!-~]{1,128}$/;
export const SEED_WORDS = 'It is up to 128 printable ASCII characters without spaces.';
/** Where a seed came from: that of the pack was known to those who made it. */
export const SEED_FROM = {
  root: 'the root of the pack’s head, which who made the pack could know before',
  given: 'given by who drew',
} as const;

/** What is alike in what shows a difference: where it ran, what was promised of it, and how good its data are. */
interface Stratum {
  region: string;
  tier: string;
  dataQuality: string;
  /** Receipts of it that count. */
  receipts: number;
  drawn: number;
}

export interface DrawnRow {
  row: TableRow;
  stratum: Stratum;
  /** SHA-256 of seed, a space and the receipt's address; the lowest of a stratum are drawn. */
  rank: string;
}

export interface Sample {
  seed: string;
  /** By region, tier and quality of data. */
  strata: Stratum[];
  /** By stratum, then by rank. */
  rows: DrawnRow[];
}

/** There are not as many rows as strata, so that one of them would have none. */
export class TooFewRows extends Error {
  constructor(strata: number) {
    super(
      `There are ${strata} kinds of receipts (region, tier, quality of data): draw at least ${strata}.`,
    );
    this.name = 'TooFewRows';
  }
}

/**
 * Draws receipts that count, in every stratum at least one, the rest in proportion. Which ones follows from the seed alone,
 * so that another has the same of the same pack, and no choice is left to who draws.
 *
 * @param rows gives the lines of the tables anew each time, since they are gone through twice
 * @throws TooFewRows
 */
export function drawSample(
  rows: () => Iterable<TableRow>,
  { seed, size }: { seed: string; size: number },
): Sample {
  const strata = new Map<string, Stratum>();
  for (const row of counted(rows())) {
    const { region, tier, dataQuality } = row;
    const key = keyOf(row);
    const stratum = strata.get(key) ?? { region, tier, dataQuality, receipts: 0, drawn: 0 };
    strata.set(key, { ...stratum, receipts: stratum.receipts + 1 });
  }
  const shares = shareOut(
    [...strata].map(([key, { receipts }]) => [key, receipts]),
    size,
  );
  for (const [key, stratum] of strata) strata.set(key, { ...stratum, drawn: shares.get(key)! });
  const drawn = new Map([...strata].map(([key, stratum]) => [key, new Lowest(stratum.drawn)]));
  for (const row of counted(rows())) {
    const key = keyOf(row);
    const rank = rankOf(seed, row.receipt);
    drawn.get(key)!.offer({ row, rank, stratum: strata.get(key)! });
  }
  const keys = [...strata.keys()].toSorted();
  return {
    seed,
    strata: keys.map((key) => strata.get(key)!),
    rows: keys.flatMap((key) => drawn.get(key)!.sorted()),
  };
}

/** Where a receipt stands in the draw of this seed. */
function rankOf(seed: string, receipt: string): string {
  return sha256Text(`${seed} ${receipt}`, 'hex');
}

/**
 * Shares `size` out: one to each, the rest by what each has beyond one, by largest remainders; equal ones by name.
 * @throws TooFewRows
 */
export function shareOut(
  counts: readonly (readonly [key: string, count: number])[],
  size: number,
): Map<string, number> {
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  if (size >= total) return new Map(counts);
  if (size < counts.length) throw new TooFewRows(counts.length);
  const rest = size - counts.length;
  const beyond = total - counts.length;
  const shares = counts.map(([key, count]) => {
    const product = rest * (count - 1);
    const whole = Math.floor(product / beyond);
    return { key, share: 1 + whole, remainder: product - whole * beyond };
  });
  const left = size - shares.reduce((sum, { share }) => sum + share, 0);
  const first = shares
    .toSorted((a, b) => b.remainder - a.remainder || (a.key < b.key ? -1 : 1))
    .slice(0, left);
  return new Map(shares.map((one) => [one.key, one.share + (first.includes(one) ? 1 : 0)]));
}

function* counted(rows: Iterable<TableRow>): Generator<TableRow> {
  for (const row of rows) if (row.isCounted) yield row;
}

function keyOf({ region, tier, dataQuality }: TableRow): string {
  return [region, tier, dataQuality].join('\n');
}

/** Keeps the lowest of what it is offered, in memory for that many. */
class Lowest {
  readonly #size: number;
  #rows: DrawnRow[] = [];

  constructor(size: number) {
    this.#size = size;
  }

  offer(row: DrawnRow): void {
    this.#rows.push(row);
    if (this.#rows.length >= 2 * this.#size + 1_000) this.#rows = this.sorted();
  }

  sorted(): DrawnRow[] {
    return this.#rows.toSorted((a, b) => (a.rank < b.rank ? -1 : 1)).slice(0, this.#size);
  }
}
