import { quoted } from '#shared/kernel/plain-text.ts';
import { verifyCosignature } from '#shared/ledger/cosignatures.ts';
import { MalformedLedgerText } from '#shared/ledger/notes.ts';
import {
  judgeByPolicy,
  parseWitnessPolicy,
  type WitnessPolicy,
  type WitnessWords,
} from '#shared/ledger/witness-policy.ts';
import { ANCHORED_HEAD } from '#shared/packs/layout.ts';
import { PackProblem } from '#shared/packs/problem.ts';
import { CannotJudge } from './cannot-judge.ts';
import type { Anchored } from './key-standing.ts';

/** Whose word is asked for, beside the issuer's. */
export interface WitnessDemands {
  /** A C2SP tlog-policy, and where it came from. */
  witnessPolicy?: { content: Uint8Array | string; source: string };
  /** So many of its witnesses, at least. */
  requireWitness?: number;
}

/** What was asked for, once it could be read. */
interface ReadDemands {
  policy: WitnessPolicy;
  source: string;
  least: number;
}

/** What witnesses have said of the anchor log's checkpoint. */
export interface JudgedWitnesses extends WitnessWords {
  /** Where the policy came from. */
  policy: string;
  /** Of the operator's own policy, which the pack has: why it is not met, if it is not. Null for the reader's. */
  own: { unmet: string | null } | null;
}

/** Where a policy came from that the pack has itself. */
const OWN_POLICY = 'the operator’s own policy in the pack';

/** As many as a policy can name. */
const WITNESSES_MAX = 64;

/** Null where no witness is asked for. @throws CannotJudge when it cannot be told whose word is wanted */
export function readDemands({ witnessPolicy, requireWitness }: WitnessDemands): ReadDemands | null {
  const isCount =
    requireWitness === undefined ||
    (Number.isSafeInteger(requireWitness) &&
      requireWitness >= 1 &&
      requireWitness <= WITNESSES_MAX);
  if (!isCount) {
    throw new CannotJudge(`--require-witness is a whole number from 1 to ${WITNESSES_MAX}.`);
  }
  if (witnessPolicy === undefined) {
    if (requireWitness === undefined) return null;
    throw new CannotJudge(
      '--require-witness needs --witness-policy: a cosignature is worth what the key is that you know its witness by.',
    );
  }
  const { content, source } = witnessPolicy;
  const policy = policyIn(content, source);
  if (requireWitness !== undefined && policy.witnesses.length === 0) {
    throw new CannotJudge(`--require-witness needs witnesses, and ${source} names none.`);
  }
  return { policy, source, least: requireWitness ?? 0 };
}

function policyIn(content: Uint8Array | string, source: string): WitnessPolicy {
  try {
    return parseWitnessPolicy(content);
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    throw new CannotJudge(`${source} is no witness policy: ${error.message}`, error);
  }
}

/**
 * Holds the anchor log's checkpoint against the policy that the pack has, by the word of the one who sealed. That it is not met
 * is told, and no reason to refuse a pack: a witness may have been away when it was made.
 * @throws PackProblem `cosignature_invalid` for a line that is not by the key that it names
 */
export function judgeOwnPolicy(
  content: string,
  anchored: Anchored | null,
  lastIndex: number,
): JudgedWitnesses {
  const policy = parseWitnessPolicy(content);
  const said = anchored === null ? silence(policy) : wordsOf(policy, anchored);
  // Names of another's policy stand in quotes, and not at any length.
  const words = {
    ...said,
    cosigned: said.cosigned.map((each) => ({ ...each, witness: shownName(each.witness) })),
    missing: said.missing.map(shownName),
    unverifiable: said.unverifiable.map(shownName),
  };
  const unmet = whyUnmet({ policy, least: 0 }, words, anchored, lastIndex) ?? null;
  return { ...words, policy: OWN_POLICY, own: { unmet } };
}

/** Characters of the name of a witness that a pack names. */
const NAME_SHOWN_MAX = 120;

function shownName(name: string): string {
  return quoted(name.slice(0, NAME_SHOWN_MAX), name.length > NAME_SHOWN_MAX ? '…' : '');
}

/**
 * Holds the anchor log's checkpoint against a policy.
 * @throws PackProblem `cosignature_invalid` for a line that is not by the key that it names, `witness_missing` when fewer
 *   have signed than the policy or the caller asks for
 * @throws CannotJudge when as many may have, by kinds of keys that are not verified here
 */
export function judgeWitnesses(
  { policy, source, least }: ReadDemands,
  anchored: Anchored | null,
  lastIndex: number,
): JudgedWitnesses {
  const said = anchored === null ? silence(policy) : wordsOf(policy, anchored);
  const unmet = whyUnmet({ policy, least }, said, anchored, lastIndex);
  if (unmet === undefined) return { ...said, policy: source, own: null };
  if (mayBeMet(said, least)) throw new CannotJudge(`${unmet}.`);
  throw new PackProblem('witness_missing', ANCHORED_HEAD, `${unmet}.`);
}

/** Whether too few have signed, and one who can verify what is not verified here may find them enough. */
function mayBeMet(
  { cosigned, unverifiable, isQuorum, mayBeQuorum, ofKnownLog }: WitnessWords,
  least: number,
): boolean {
  const isShort = !isQuorum || cosigned.length < least;
  return ofKnownLog && isShort && mayBeQuorum && cosigned.length + unverifiable.length >= least;
}

/** Why less was said than is asked for, in words without a point; undefined when it was said. */
function whyUnmet(
  { policy, least }: Pick<ReadDemands, 'policy' | 'least'>,
  { cosigned, missing, unverifiable, isQuorum, ofKnownLog }: WitnessWords,
  anchored: Anchored | null,
  lastIndex: number,
): string | undefined {
  if (!ofKnownLog) {
    return anchored === null
      ? 'Nothing is anchored, and the policy names the logs that it is to be in'
      : `No log of the policy is ${anchored.origin}, or its key is another`;
  }
  if (!isQuorum || cosigned.length < least) {
    const wanted = isQuorum ? `${count(least)} required` : 'The quorum of the policy is not met';
    const found = isQuorum ? `, and ${cosigned.length} have cosigned` : '';
    return `${wanted}${found}: ${absence(missing, unverifiable)}`;
  }
  if (asksForAnyone({ policy, least }) && (anchored?.size ?? 0) <= lastIndex) {
    return `Witnesses have cosigned only the first ${anchored?.size ?? 0} entries of the ledger, and the range ends with entry ${lastIndex}`;
  }
  return undefined;
}

function count(least: number): string {
  return least === 1 ? 'One witness was' : `${least} witnesses were`;
}

function asksForAnyone({ policy, least }: Pick<ReadDemands, 'policy' | 'least'>): boolean {
  return least > 0 || policy.quorum !== 'none';
}

function silence({ logs, witnesses, quorum }: WitnessPolicy): WitnessWords {
  const none = { text: '\n', signatures: [] };
  const said = judgeByPolicy(
    { logs: [], witnesses, groups: [], quorum: 'none' },
    none,
    () => false,
  );
  const isQuorum = quorum === 'none';
  return { ...said, ofKnownLog: logs.length === 0, isQuorum, mayBeQuorum: isQuorum };
}

function wordsOf(policy: WitnessPolicy, { note }: Anchored): WitnessWords {
  try {
    return judgeByPolicy(policy, note, verifyCosignature);
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    throw new PackProblem('cosignature_invalid', ANCHORED_HEAD, error.message);
  }
}

/** Names that a sentence has. */
const NAMES_MAX = 16;

/** Which witnesses are missing. */
export function absence(missing: readonly string[], unverifiable: readonly string[]): string {
  const parts = [
    ...(missing.length > 0 ? [`no cosignature of ${listed(missing)}`] : []),
    ...(unverifiable.length > 0
      ? [`of ${listed(unverifiable)} the kind of key is not verified here and counts as none`]
      : []),
  ];
  return parts.length === 0 ? 'the policy names no others' : parts.join('; ');
}

function listed(names: readonly string[]): string {
  const more = names.length - NAMES_MAX;
  return `${names.slice(0, NAMES_MAX).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
