/** What the settings of a service ask others to say of its anchor log. */
export interface AskedAttestation {
  /** `TSA_URL` names an authority. */
  timestamp: boolean;
  /** Names of the witnesses in `WITNESSES`. */
  witnesses: readonly string[];
}

/** What others have said of a checkpoint of the anchor log. */
export interface Attestation {
  timestamps: number;
  witnesses: readonly string[];
}

/** A checkpoint of the anchor log that a pack may lead to. */
export interface AnchorCandidate extends Attestation {
  size: number;
  /** Whether the last entry of the pack's range is anchored below it. */
  covers: boolean;
}

/** What a pack lacks whose anchor no authority has stamped. */
export const LACKS_TIMESTAMP = 'a timestamp';

/** What is asked for and not there, in words. */
export function lacking(asked: AskedAttestation, { timestamps, witnesses }: Attestation): string[] {
  return [
    ...(asked.timestamp && timestamps === 0 ? [LACKS_TIMESTAMP] : []),
    ...asked.witnesses
      .filter((name) => !witnesses.includes(name))
      .map((name) => `a cosignature of ${name}`),
  ];
}

/** Whether nothing better is to be waited for. */
export function isWhole(asked: AskedAttestation, candidate: AnchorCandidate): boolean {
  return candidate.covers && lacking(asked, candidate).length === 0;
}

/**
 * Which anchor a pack leads to: one that covers the range, with most of what is asked for, with most of what else was said.
 * Of equal ones the pinned stays, so that a pack that is asked for again has the same bytes; else the newest is taken.
 */
export function bestAnchor(
  candidates: readonly AnchorCandidate[],
  { asked, pinned }: { asked: AskedAttestation; pinned: number | null },
): AnchorCandidate | undefined {
  const rank = (each: AnchorCandidate): number[] => [
    Number(each.covers),
    -lacking(asked, each).length,
    Math.min(each.timestamps, 1) + each.witnesses.length,
    Number(each.size === pinned),
    each.size,
  ];
  return candidates.toSorted((one, other) => compared(rank(other), rank(one)))[0];
}

function compared(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((each, i) => each !== other[i]);
  return at < 0 ? 0 : one[at]! - other[at]!;
}
