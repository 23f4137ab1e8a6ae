import {
  type CoseReceipt,
  coseReceiptHolds,
  parseCoseReceipt,
} from '#shared/ledger/cose-receipts.ts';
import { MalformedLedgerText } from '#shared/ledger/notes.ts';
import { count } from '#shared/methodology/readable.ts';
import { logOfTree } from '#shared/ledger/origins.ts';
import { CannotJudge } from './cannot-judge.ts';
import type { JudgedReceipt, Trust } from './judge-receipt.ts';
import { type Judgement, judgementOf } from './judgement.ts';
import { headline } from './said.ts';

/** What a COSE receipt is held against. */
export interface CoseTerms {
  /** The receipt that it is said to be of, judged by the same keys. */
  receipt: Pick<JudgedReceipt, 'found' | 'verdict'>;
  trust: Trust;
  /** What the COSE receipt is called. */
  file: string;
  /** What the receipt is called. */
  receiptFile: string;
}

/** What is wrong with it. */
class Refused extends Error {
  readonly code: string;
  readonly file: string;
  constructor(code: string, file: string, message: string) {
    super(message);
    this.code = code;
    this.file = file;
  }
}

/**
 * Judges a COSE receipt of inclusion: whether its issuer signed a root to which this receipt leads.
 * @throws CannotJudge when there are no keys, or no receipt yet
 */
export function coseJudgement(bytes: Uint8Array, terms: CoseTerms): Judgement {
  const { source, isChosen } = terms.trust;
  try {
    const cose = parsed(bytes, terms.file);
    check(cose, terms);
    const verdict = isChosen ? 'good' : 'intact';
    const message = 'The receipt is what its issuer signed, and the log of the issuer has it.';
    const { kid, log, index, size } = cose;
    return judgementOf(
      {
        verdict,
        headline: headline(verdict, message, terms),
        facts: {
          'signed by': kid,
          trusted: source,
          log,
          entry: `index ${count(index)} of ${count(size)} entries`,
        },
        details: {},
        closing: [
          'This shows that the log had exactly this receipt at this index when its root was signed.',
          'It does not show when that was, nor that others are shown the same log: checkpoints and the anchor do.',
        ],
      },
      { verdict, code: 'good', message, trusted: source, kid, log, index, size },
    );
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    const { code, message, file } = error;
    return judgementOf(
      {
        verdict: 'bad',
        headline: headline('bad', message, { file }),
        facts: { reason: code, trusted: source },
        details: {},
        closing: [],
      },
      { verdict: 'bad', code, message, file, trusted: source },
    );
  }
}

function parsed(bytes: Uint8Array, file: string): CoseReceipt {
  try {
    return parseCoseReceipt(bytes);
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    throw new Refused('cose_malformed', file, `This is no COSE receipt of ours. ${error.message}`);
  }
}

/** @throws Refused */
function check(cose: CoseReceipt, { receipt, trust, file, receiptFile }: CoseTerms): void {
  const { found, verdict } = receipt;
  if (found === 'cannot_judge') {
    const isOfItself = verdict.code === 'pending' || verdict.code === 'unknown_format';
    throw new CannotJudge(
      isOfItself
        ? verdict.message
        : `A COSE receipt needs the keys of its issuer: ${trust.source}.`,
    );
  }
  const { canonical, document } = verdict;
  if (found === 'bad' || canonical === undefined || document === undefined) {
    throw new Refused(verdict.code, receiptFile, verdict.message);
  }
  const { issuer, log, kid } = cose;
  if (issuer !== document.issuer || !kid.startsWith(`${issuer}#`)) {
    throw new Refused(
      'issuer_mismatch',
      file,
      `It is by ${kid}, and the receipt by ${document.issuer}.`,
    );
  }
  const promised = document.inclusionPromise?.log ?? log;
  // The receipt names its log; the head may be of a tree that a declared loss has opened.
  if (logOfTree(log).log !== logOfTree(promised).log) {
    throw new Refused(
      'log_mismatch',
      file,
      `It is of the log ${log}, and the receipt of ${promised}.`,
    );
  }
  const key = trust.keys.get(kid);
  if (key === undefined || key.controller !== issuer) {
    throw new Refused('unknown_key', file, `The key ${kid} is not among the trusted keys.`);
  }
  // Keys that sign receipts sign no roots, so that one that leaks cannot vouch for both.
  if (key.mayAssert) throw new Refused('key_not_authorised', file, `The key ${kid} signs no logs.`);
  if (key.revoked) throw new Refused('key_revoked', file, `The key ${kid} was revoked.`);
  const entry = new TextEncoder().encode(canonical);
  if (!coseReceiptHolds(cose, entry, (data, signature) => key.verify(data, signature))) {
    const message =
      'The receipt does not lead to a root that its issuer signed: receipt, path, place or signature is another.';
    throw new Refused('inclusion_invalid', file, message);
  }
}
