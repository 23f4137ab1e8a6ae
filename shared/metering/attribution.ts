/** A request that ran on an endpoint. */
export interface Run {
  /** `rcpt_…` of its first receipt. */
  readonly receiptId: string;
  /** Epoch milliseconds of the call that was answered, and of the last byte of its answer. */
  readonly from: number;
  readonly to: number;
  /** Its tokens, as `tokenWeight` weighs them. */
  readonly weight: number;
}

/** Who used the energy of an interval. `idleUj` and all shares add up to it, to the microjoule. */
export interface Attribution {
  readonly idleUj: bigint;
  readonly shares: readonly {
    readonly receiptId: string;
    readonly weight: bigint;
    readonly energyUj: bigint;
  }[];
}

/**
 * An output token weighs this many times as much as an input token: what docket-1 computes for dense models lies around
 * it (llama-3.1-8b 4.7, llama-3.1-405b 2.2, deepseek-v3.1 15).
 */
const OUTPUT_WEIGHT = 4;

/** A request's tokens as energy is shared by them; what came from the prefix cache weighs nothing. */
export function tokenWeight(tokens: { input: number; cached: number; output: number }): number {
  return tokens.input - Math.min(tokens.cached, tokens.input) + OUTPUT_WEIGHT * tokens.output;
}

/** Weights within an interval are whole numbers of this part of a token. */
const PARTS = 1_000_000n;

/**
 * Shares the energy of an interval over the requests that ran in it, by the tokens of each, taken to be spread evenly over
 * its time. The time in which none ran is idle: at the power that the accelerators drew when nothing ran, where that is
 * known, else at the mean power of the interval. Order of `runs` does not matter.
 */
export function attribute(
  interval: { readonly from: number; readonly to: number; readonly energyUj: bigint },
  runs: readonly Run[],
  idleUw: bigint | undefined,
): Attribution {
  const { from, to, energyUj } = interval;
  const parts = runs
    .map((run) => ({ run, weight: weightWithin(run, from, to) }))
    .filter(({ weight }) => weight > 0n)
    .toSorted((a, b) => (a.run.receiptId < b.run.receiptId ? -1 : 1));
  if (parts.length === 0) return { idleUj: energyUj, shares: [] };
  const uncoveredMs = BigInt(
    uncovered(
      parts.map(({ run }) => run),
      from,
      to,
    ),
  );
  const unused =
    idleUw === undefined
      ? (energyUj * uncoveredMs) / BigInt(to - from)
      : (idleUw * uncoveredMs) / 1_000n;
  const idleUj = unused < energyUj ? unused : energyUj;
  const busy = energyUj - idleUj;
  const all = parts.reduce((sum, { weight }) => sum + weight, 0n);
  // Each boundary between two shares is rounded down once, so nothing is lost between them.
  let before = 0n;
  let given = 0n;
  const shares = parts.map(({ run, weight }) => {
    before += weight;
    const until = (busy * before) / all;
    const share = until - given;
    given = until;
    return { receiptId: run.receiptId, weight, energyUj: share };
  });
  return { idleUj, shares };
}

/** A call without a duration ran for a millisecond. */
const endOf = ({ from, to }: Run): number => Math.max(to, from + 1);

function weightWithin(run: Run, from: number, to: number): bigint {
  const end = endOf(run);
  const overlap = Math.min(end, to) - Math.max(run.from, from);
  if (overlap <= 0) return 0n;
  return (BigInt(run.weight) * PARTS * BigInt(overlap)) / BigInt(end - run.from);
}

/** Milliseconds of the interval in which no run is. */
function uncovered(runs: readonly Run[], from: number, to: number): number {
  let reached = from;
  let ms = 0;
  for (const run of runs.toSorted((a, b) => a.from - b.from)) {
    if (run.from > reached) ms += run.from - reached;
    reached = Math.max(reached, Math.min(endOf(run), to));
  }
  return ms + Math.max(0, to - reached);
}
