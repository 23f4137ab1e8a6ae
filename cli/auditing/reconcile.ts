import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { type EarlierPack, earlierPack } from '#shared/packs/report/statement.ts';
import type { TotalsDocument } from '#shared/packs/seal-format.ts';
import type { BilledDay } from './invoices.ts';
import type { TableRow } from './pack-tables.ts';

/** `only_receipts`, `only_invoices`: the other side has nothing of that day and model. */
export type Agreement = 'equal' | 'within' | 'differs' | 'only_receipts' | 'only_invoices';

/** A day and a model on both sides. */
export interface ReconciledDay {
  day: string;
  model: string;
  receipts: number;
  inputTokens: { receipts: number; invoices: number };
  outputTokens: { receipts: number; invoices: number };
  agreement: Agreement;
}

/** Tokens that receipts state, by day of the request's begin and model. */
export class ReceiptedDays {
  readonly #days = new Map<string, BilledDay & { receipts: number }>();

  /** Revisions say the same of the inference as what they revise, so that the first receipt of each is taken, and no other. */
  take(rows: Iterable<TableRow>): void {
    for (const { isRevision, startedAt, model, inputTokens, outputTokens } of rows) {
      if (isRevision) continue;
      const day = startedAt.slice(0, 10);
      const key = keyOf({ day, model });
      const sum = this.#days.get(key) ?? {
        day,
        model,
        inputTokens: 0,
        outputTokens: 0,
        receipts: 0,
      };
      this.#days.set(key, {
        ...sum,
        receipts: sum.receipts + 1,
        inputTokens: sum.inputTokens + inputTokens,
        outputTokens: sum.outputTokens + outputTokens,
      });
    }
  }

  /**
   * @param names what a list calls a model, and what receipts call it
   * @param tolerance share of the greater of both, 0 to 1
   * @returns by day and model
   */
  compare(
    invoices: readonly BilledDay[],
    { names, tolerance }: { names: ReadonlyMap<string, string>; tolerance: number },
  ): ReconciledDay[] {
    const billed = new Map<string, BilledDay>();
    for (const each of invoices) {
      const named = { ...each, model: names.get(each.model) ?? each.model };
      const sum = billed.get(keyOf(named));
      billed.set(keyOf(named), {
        ...named,
        inputTokens: named.inputTokens + (sum?.inputTokens ?? 0),
        outputTokens: named.outputTokens + (sum?.outputTokens ?? 0),
      });
    }
    const keys = [...new Set([...this.#days.keys(), ...billed.keys()])].toSorted();
    return keys.map((key) => reconciled(this.#days.get(key), billed.get(key), tolerance));
  }
}

function reconciled(
  ours: (BilledDay & { receipts: number }) | undefined,
  theirs: BilledDay | undefined,
  tolerance: number,
): ReconciledDay {
  const inputTokens = {
    receipts: ours?.inputTokens ?? 0,
    invoices: theirs?.inputTokens ?? 0,
  };
  const outputTokens = {
    receipts: ours?.outputTokens ?? 0,
    invoices: theirs?.outputTokens ?? 0,
  };
  const { day, model } = (ours ?? theirs)!;
  const agreement = (): Agreement => {
    const pairs = [inputTokens, outputTokens];
    // A blocked request has a receipt and no tokens: nothing is missing on the other side.
    if (pairs.every(({ receipts, invoices }) => receipts === invoices)) return 'equal';
    if (ours === undefined) return 'only_invoices';
    if (theirs === undefined) return 'only_receipts';
    const isWithin = pairs.every(
      ({ receipts, invoices }) =>
        Math.abs(receipts - invoices) <= tolerance * Math.max(receipts, invoices),
    );
    return isWithin ? 'within' : 'differs';
  };
  return {
    day,
    model,
    receipts: ours?.receipts ?? 0,
    inputTokens,
    outputTokens,
    agreement: agreement(),
  };
}

function keyOf({ day, model }: { day: string; model: string }): string {
  return `${day} ${model}`;
}

/** What a pack has of its ledger, first and last entry included. */
export interface PackedRange {
  path: string;
  /** Origin of the ledger. */
  log: string;
  first: number;
  last: number;
}

/** Packs cannot be added up: they are of two ledgers, or have an entry twice. */
export class PacksDoNotFit extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'PacksDoNotFit';
  }
}

/**
 * Entries between the first and the last pack that none of them has.
 * @throws PacksDoNotFit
 */
export function gapsBetween(packs: readonly PackedRange[]): { first: number; last: number }[] {
  const inOrder = packs.toSorted((a, b) => a.first - b.first);
  return inOrder.slice(1).flatMap((pack, i) => {
    const before = inOrder[i]!;
    if (pack.log !== before.log) {
      throw new PacksDoNotFit(
        `${before.path} is of the ledger ${before.log}, and ${pack.path} of ${pack.log}: give packs of one.`,
      );
    }
    if (pack.first <= before.last) {
      const last = Math.min(pack.last, before.last);
      throw new PacksDoNotFit(
        `${before.path} and ${pack.path} both have the entries ${pack.first} to ${last}: they would count twice.`,
      );
    }
    return pack.first === before.last + 1 ? [] : [{ first: before.last + 1, last: pack.first - 1 }];
  });
}

/** A pack as it is laid beside others. */
export interface LaidPack extends PackedRange {
  name: string;
  /** Entries under the head that it leads to. */
  size: number;
  /** Multihash of its seal's bytes. */
  seal: string;
  totals: TotalsDocument;
  /** Packs of before that it names. */
  earlier: readonly EarlierPack[];
}

/**
 * What became of a pack that another names: it is there with the seal and the figures that were named, with that seal or
 * that head and other figures, its entries are there under another seal, or it was not given.
 */
export type FoundEarlier = 'same' | 'other_figures' | 'another_seal' | 'not_given';

/** A pack of before, as a later one names it. */
export interface NamedEarlier {
  /** The pack that names it. */
  by: string;
  named: EarlierPack;
  found: FoundEarlier;
}

/** Each pack that one of these names as of before, held against those that were given. */
export function namedEarlier(packs: readonly LaidPack[]): NamedEarlier[] {
  return packs.flatMap(({ path: by, earlier }) =>
    earlier.map((named) => ({ by, named, found: foundAmong(packs, named) })),
  );
}

function foundAmong(packs: readonly LaidPack[], named: EarlierPack): FoundEarlier {
  const same = packs.find(({ seal }) => seal === named.seal);
  if (same !== undefined) return isAsNamed(same, named) ? 'same' : 'other_figures';
  const others = packs.filter(
    ({ first, last }) => first === named.firstIndex && last === named.lastIndex,
  );
  if (others.length === 0) return 'not_given';
  // Under one head entries add up to one thing, under each seal that a pack of them has.
  const { name, seal } = named;
  const differs = others.some(
    (each) => each.size === named.checkpointSize && !isAsNamed({ ...each, name, seal }, named),
  );
  return differs ? 'other_figures' : 'another_seal';
}

function isAsNamed(pack: LaidPack, named: EarlierPack): boolean {
  const { name, seal, size: checkpointSize, first: firstIndex, last: lastIndex, totals } = pack;
  const is = earlierPack({ name, seal, checkpointSize, firstIndex, lastIndex }, totals);
  return canonicalJson(is) === canonicalJson(named);
}
