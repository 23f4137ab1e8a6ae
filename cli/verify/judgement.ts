import { textIn } from '#cli/utf8.ts';
import { CannotJudge } from './cannot-judge.ts';
import { contentsIn } from './compared.ts';
import type { LineageMethodologies } from './figures.ts';
import { judgePack, type JudgePackOptions, type PackTools, type Verdict } from './judge-pack.ts';
import {
  checkIsAnswer,
  type DerivationName,
  heldAgainstAll,
  judgeReceipt,
  type MissingDerivation,
  namedDerivation,
  NO_KEYS,
  type TrustFile,
  trustIn,
} from './judge-receipt.ts';
import { packReport, packSaid, sourceOfKeys } from './pack-words.ts';
import { receiptReport, receiptSaid } from './receipt-words.ts';
import { type Said, saidAlone, written } from './said.ts';
import { EXIT_CODES } from './verdicts.ts';

/** A verdict, as `docket verify` gives it. */
export interface Judgement {
  verdict: Verdict;
  /** Of the command. */
  exitCode: number;
  /** For people, as a page shows it. */
  said: Said;
  /** The same as the command prints it. */
  text: string;
  /** What it prints with `--json`, as a value. */
  report: object;
}

/** The text of a derivation record, and what it is called. */
interface DerivationText {
  file: string;
  text: string;
}

/** Gets the record that a receipt names, or says why it could not be had. Whether it is that record is not for it to check. */
export type FindDerivationText = (
  name: DerivationName,
) => Promise<DerivationText | MissingDerivation>;

export interface ReceiptOptions {
  /** Keys to judge by: the issuer's did.json, and where it came from. Without it nothing can be judged. */
  trust?: TrustFile | undefined;
  /** The derivation record that the receipt names, or what finds it. */
  derivation?: DerivationText | FindDerivationText | undefined;
  /** The answer, or the stream as it was saved, to be compared with a receipt that came without it. */
  answer?: Uint8Array | string | undefined;
  /** The body of the request as it was sent, to be compared. */
  request?: Uint8Array | string | undefined;
  /** Told how far the comparison of answer and request has come. */
  onProgress?: ((done: number, total: number) => void) | undefined;
  /** What the receipt's file is called in the words. */
  file?: string | undefined;
  /** Epoch milliseconds; the machine's clock by default. */
  now?: number | undefined;
}

/**
 * Judges a receipt, or an answer that carries one.
 * @param methodologies asked for when everything is there by which its figures can be computed
 */
export async function receiptJudgement(
  source: Uint8Array | string,
  {
    trust,
    derivation,
    answer,
    request,
    onProgress,
    file = 'receipt',
    now = Date.now(),
  }: ReceiptOptions,
  methodologies: () => LineageMethodologies | Promise<LineageMethodologies>,
): Promise<Judgement> {
  try {
    checkIsAnswer(source, file);
    const keys = trust === undefined ? NO_KEYS : trustIn(trust);
    const read = (): string => textIn(source);
    const judged = await heldAgainstAll(
      judgeReceipt(read, () => keys, now),
      { ...contentsIn({ answer, request }), onProgress },
      async (name) => {
        const found = typeof derivation === 'function' ? await derivation(name) : derivation;
        if (found === undefined || 'missing' in found) return found;
        return namedDerivation(found.file, found.text, name.digest);
      },
      methodologies,
    );
    return judgementOf(receiptSaid(judged, file), receiptReport(judged));
  } catch (error) {
    if (!(error instanceof CannotJudge)) throw error;
    return unjudged(error.message, file);
  }
}

export interface PackJudgementOptions extends Omit<JudgePackOptions, 'now' | 'didJson'> {
  /** The issuer's did.json, and where it came from. Without it the keys in the pack are taken, which show nothing of whose it is. */
  trust?: Pick<TrustFile, 'didJson' | 'source'> | undefined;
  /** What the pack's file is called in the words. */
  file?: string | undefined;
  /** Epoch milliseconds; the machine's clock by default. */
  now?: number | undefined;
}

/** Judges a pack. @param script SHA-256 (hex) of this release's verify.py */
export async function packJudgement(
  tools: PackTools,
  { trust, file = 'pack', now = Date.now(), ...how }: PackJudgementOptions,
  script: string,
): Promise<Judgement> {
  // In JavaScript it may be anything: a pack compared with no keys must not look as if it had been compared with some.
  if (trust !== undefined && typeof trust.didJson !== 'string') {
    return unjudged('trust is { didJson, source }, with the text of a did.json.', file);
  }
  const content: unknown = how.witnessPolicy?.content;
  const isPolicy = typeof content === 'string' || content instanceof Uint8Array;
  if (how.witnessPolicy !== undefined && !isPolicy) {
    return unjudged('witnessPolicy is { content, source }, with the bytes or text of one.', file);
  }
  const named = trust === undefined ? {} : { didJson: trust.didJson };
  const found = await judgePack(tools, { ...how, ...named, now });
  const trusted = sourceOfKeys(trust?.source, how.pin);
  return judgementOf(packSaid(found, { trusted, file, script }), packReport(found, trusted));
}

/** The judgement when what judging takes is not there. */
export function unjudged(message: string, file: string): Judgement {
  const verdict = 'cannot_judge';
  return judgementOf(saidAlone(verdict, message), { verdict, code: verdict, message, file });
}

/** A verdict in every form that it is given in. */
export function judgementOf(said: Said, report: object): Judgement {
  const { verdict } = said;
  return { verdict, exitCode: EXIT_CODES[verdict], said, text: written(said), report };
}
