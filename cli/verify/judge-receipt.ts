import { sha256Text } from '#primitives';
import { disagreement } from '#shared/receipts/agreement.ts';
import {
  derivationDigest,
  type DerivationDocument,
  parseDerivation,
  type WholeMeasurement,
  wholeMeasurement,
} from '#shared/receipts/derivation.ts';
import { locateReceipt, type SavedAnswer } from '#shared/receipts/locate.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { isPendingReceipt } from '#shared/receipts/pending.ts';
import type { OnProgress } from '#shared/receipts/content.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { type ReceiptVerdict, type TrustedKeys, verifyReceipt } from '#shared/receipts/verify.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { foreignForm } from '#cli/foreign-form.ts';
import { textIn } from '#cli/utf8.ts';
import { CannotJudge, withinBounds } from './cannot-judge.ts';
import {
  type ComparedContents,
  compareContents,
  type Contents,
  NOTHING_COMPARED,
} from './compared.ts';
import { judgeFigures, type LineageMethodologies } from './figures.ts';
import type { Verdict } from './judge-pack.ts';

/** A did.json, and where it came from. */
export interface TrustFile {
  didJson: string;
  source: string;
  /** It was named or pinned: keys that only lie beside what they are to show prove nothing of whose it is. */
  isChosen: boolean;
}

/** Whose keys a verdict rests on. */
export interface Trust {
  keys: TrustedKeys;
  /** For people: where the keys came from, and what that is worth. */
  source: string;
  isChosen: boolean;
}

/** A receipt, judged: by the words of its verdict, and by what the verdict rests on. */
export interface JudgedReceipt {
  found: Verdict;
  verdict: ReceiptVerdict;
  trust: Trust;
  /** What is to be said of the derivation record that it names; null when it names none. */
  derivation: string | null;
  /** What is to be said of its figures; null when they were not computed. */
  figures: string | null;
  /** Whether answer and request are those that it is of. */
  compared: ComparedContents;
}

/** A receipt of which the signature was judged, and nothing else yet. */
interface JudgedSignature extends Pick<JudgedReceipt, 'found' | 'verdict' | 'trust'> {
  /** The answer that came with it. */
  answer?: SavedAnswer | undefined;
}

const NO_TRUST: Trust = {
  keys: new Map(),
  source: 'nothing: it did not come to that',
  isChosen: false,
};

/** The standing of a receipt for which no keys were named, and none were found. */
export const NO_KEYS: Trust = {
  keys: new Map(),
  source: 'no key: fetch did.json from the issuer and name it with --trust',
  isChosen: false,
};

/** A did.json that the issuer has told the SHA-256 (hex) of. @throws CannotJudge when it is another */
export function pinnedTrust(didJson: string, pin: string, name: string): TrustFile {
  if (sha256Text(didJson, 'hex') !== pin.toLowerCase()) {
    throw new CannotJudge(`${name} is not the did.json that was pinned.`);
  }
  return { didJson, source: `${name}, which you pinned`, isChosen: true };
}

/** @throws CannotJudge when the file holds no keys */
export function trustIn({ didJson, source, isChosen }: TrustFile): Trust {
  try {
    return { keys: trustedKeysOf(textIn(didJson)), source, isChosen };
  } catch (error) {
    throw new CannotJudge(`${source}: ${(error as Error).message}`, error);
  }
}

/** A receipt and an answer begin as an object of JSON, a stream with a field or a comment (after white space). */
const BEGINS_AS_ANSWER = /^\s*(?:\{|(?:data|event|id|retry)?:)/;

/** How far in is looked for that: a file that begins with more white space is no file of ours. */
const BEGINNING_BYTES = 4096;

/** What is neither a receipt nor an answer is nothing to be judged. @throws CannotJudge */
export function checkIsAnswer(source: Uint8Array | string, file: string): void {
  const foreign = typeof source === 'string' ? undefined : foreignForm(source);
  if (foreign !== undefined) throw new CannotJudge(`${file} ${foreign}.`);
  const start =
    typeof source === 'string'
      ? source.slice(0, BEGINNING_BYTES)
      : new TextDecoder().decode(source.subarray(0, BEGINNING_BYTES));
  if (BEGINS_AS_ANSWER.test(start)) return;
  throw new CannotJudge(
    `${file} holds no receipt: it is neither a JSON object, nor a stream of an answer, nor a pack.`,
  );
}

/**
 * Finds the receipt in what was saved, and verifies it by keys that may depend on who its issuer is.
 * @throws CannotJudge where that holds more than can be judged
 */
export function judgeReceipt(
  read: () => string,
  trustFor: (issuer: () => string) => Trust,
  now: number,
): JudgedSignature {
  const judged = verified(read, trustFor, now);
  return { ...judged, found: standingOf(judged.verdict, judged.trust) };
}

function verified(
  read: () => string,
  trustFor: (issuer: () => string) => Trust,
  now: number,
): Omit<JudgedSignature, 'found'> {
  try {
    const { receipt, answer } = withinBounds(() => locateReceipt(read()));
    if (isPendingReceipt(receipt)) {
      return { verdict: verifyReceipt(receipt, new Map(), now), trust: NO_TRUST };
    }
    const trust = trustFor(() => parseReceipt(receipt).document.issuer);
    return { verdict: verifyReceipt(receipt, trust.keys, now), trust, answer };
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    const verdict = { good: false, code: error.code, message: error.message };
    return { verdict, trust: NO_TRUST };
  }
}

/** What a verdict on a receipt is worth by where its keys came from. */
function standingOf({ good, code }: ReceiptVerdict, { keys, isChosen }: Trust): Verdict {
  if (code === 'pending' || (code === 'unknown_key' && keys.size === 0)) return 'cannot_judge';
  // A receipt of a later release is not a bad one.
  if (code === 'unknown_format') return 'cannot_judge';
  if (!good) return 'bad';
  return isChosen ? 'good' : 'intact';
}

/** How a receipt names its derivation record. */
export interface DerivationName {
  digest: string;
  /** Where the receipt says that it is. */
  address: string;
  /** Of the receipt. */
  issuer: string;
}

/** A derivation record, and what its file is called. */
export interface NamedDerivation {
  file: string;
  document: DerivationDocument;
}

/** Reads a record of which a receipt gives the digest. @throws MalformedData with the file's name when it is another */
export function namedDerivation(
  file: string,
  source: Uint8Array | string,
  digest: string,
): NamedDerivation {
  try {
    return { file, document: parseDerivation(textIn(source), digest) };
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    throw new MalformedData(error.code, file, error.message);
  }
}

/** Why a record is not there, and what is to be done about it. */
export interface MissingDerivation {
  missing: string;
}

/** Finds a record; undefined where none was named. @throws MalformedData when what is there is another */
export type FindDerivation = (
  name: DerivationName,
) => Promise<NamedDerivation | MissingDerivation | undefined>;

/**
 * Holds a receipt against all that came with it: itself, the derivation record that it names, the answer and the request.
 * A receipt beside an altered answer is as good as ever, and the answer is not the one that it is of.
 * @throws CannotJudge when there are two answers
 */
export async function heldAgainstAll(
  judged: JudgedSignature,
  { onProgress, ...given }: Contents & { onProgress?: OnProgress | undefined },
  find: FindDerivation,
  methodologies: () => LineageMethodologies | Promise<LineageMethodologies>,
): Promise<JudgedReceipt> {
  if (judged.answer !== undefined && given.answer !== undefined) {
    throw new CannotJudge(
      'The file holds an answer already: name another one beside a receipt alone.',
    );
  }
  const held = await heldAgainstItself(judged, find, methodologies);
  const { document, canonical } = held.verdict;
  if (document === undefined) return { ...held, compared: NOTHING_COMPARED };
  const answer = judged.answer ?? given.answer;
  const compared = await compareContents(document, canonical, { ...given, answer }, onProgress);
  return withComparison({ ...held, compared });
}

/** A content that differs makes a verdict bad, also where the keys are not known: no key makes it the one. */
function withComparison(judged: JudgedReceipt): JudgedReceipt {
  const { compared, found, verdict } = judged;
  if (found === 'bad') return judged;
  for (const what of ['answer', 'request'] as const) {
    const { kind, isOfOtherBytes } = compared[what];
    if (kind !== 'differs') continue;
    const differs = `The ${what} is not the one that the receipt is of.`;
    const message = isOfOtherBytes === true ? `${differs} ${LOOKS_SO_TOO}` : differs;
    const code = `${what}_differs` as const;
    return { ...judged, found: 'bad', verdict: { ...verdict, good: false, code, message } };
  }
  if (!verdict.good) return judged;
  return {
    ...judged,
    verdict: { ...verdict, message: `${verdict.message} ${comparison(compared)}` },
  };
}

const LOOKS_SO_TOO = 'A file that a program has written again in another form looks so too.';

/** What was looked at beside the receipt, in the first line of a verdict. */
function comparison({ answer, request }: ComparedContents): string {
  const { payloads } = answer;
  if (payloads !== undefined) {
    const asked =
      request.kind === 'same'
        ? 'The request is the one that it is of.'
        : 'The request was not compared.';
    return `${beginning(payloads)} ${asked}`;
  }
  const isAnswer = answer.kind === 'same';
  if (isAnswer && request.kind === 'same')
    return 'The answer and the request are those that it is of.';
  if (isAnswer) return 'The answer is the one that it is of; the request was not compared.';
  if (request.kind === 'same') {
    return 'The request is the one that it is of; the answer was not compared.';
  }
  return 'Answer and request were not compared.';
}

/** A stream that broke off is vouched for as far as the receipt counts its payloads, and a file can have any after them. */
function beginning({ covered, further }: { covered: number; further: number }): string {
  const first =
    covered === 1
      ? 'The first payload of the answer is the one that it is of'
      : `The first ${covered} payloads of the answer are those that it is of`;
  return `${first}; ${further} after ${covered === 1 ? 'it' : 'them'} ${further === 1 ? 'was' : 'were'} not compared.`;
}

/**
 * Holds a receipt against itself, and against the derivation record that it names where that is at hand: who has the
 * issuer's key can sign one that says two things at once, or figures that do not follow from what it names.
 */
async function heldAgainstItself(
  judged: JudgedSignature,
  find: FindDerivation,
  methodologies: () => LineageMethodologies | Promise<LineageMethodologies>,
): Promise<Omit<JudgedReceipt, 'compared'>> {
  const { derivation, whole, isAltered } = await whatItNames(judged, find);
  const { verdict } = judged;
  const { found, trust } = judged;
  const held = { found, verdict, trust, derivation, figures: null };
  const bad = (
    code: 'contradiction' | 'figures_mismatch' | 'derivation_mismatch',
    message: string,
  ): typeof held => {
    return { ...held, found: 'bad', verdict: { ...verdict, good: false, code, message } };
  };
  if (isAltered && found !== 'bad') {
    return bad(
      'derivation_mismatch',
      'The record beside it is not the one that the receipt names.',
    );
  }
  if (!verdict.good) return held;
  const document = verdict.document!;
  const stated = document.measurement;
  const said = disagreement(document, whole ?? (stated && { stated, used: stated.used }));
  if (said !== undefined) {
    return bad('contradiction', `The receipt says two things at once (${said}).`);
  }
  if (whole === undefined) return held;
  const figures = judgeFigures(whole, await methodologies());
  if (figures.kind === 'different') return bad('figures_mismatch', figures.message);
  const { name, version } = whole.hadPlan;
  const words = {
    same: 'computed again from what it names, and the same',
    unknown: `not computed again: this release does not know the methodology ${name} ${version}`,
  };
  return { ...held, figures: words[figures.kind] };
}

/** The measurement with everything that it names, as far as that is at hand, and what is to be said of it. */
async function whatItNames(
  { verdict }: JudgedSignature,
  find: FindDerivation,
): Promise<{ derivation: string | null; whole?: WholeMeasurement; isAltered?: true }> {
  const { document } = verdict;
  const measurement = document?.measurement;
  if (measurement === undefined) return { derivation: null };
  const { derivation: address } = measurement;
  const digest = derivationDigest(measurement);
  try {
    const record = await find({ digest, address, issuer: document!.issuer });
    if (record === undefined || 'missing' in record) {
      const what = record?.missing ?? `fetch ${address} and name it with --derivation`;
      return { derivation: `not looked at, so the estimate cannot be recomputed: ${what}` };
    }
    const whole = wholeMeasurement(measurement, () => record.document);
    return { derivation: `${record.file} is the record that the receipt names`, whole };
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    const altered = `ALTERED: the file is not the record that the receipt names (${error.message})`;
    return { derivation: altered, isAltered: true };
  }
}
