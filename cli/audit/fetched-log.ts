import { encodeBytes } from '#primitives';
import {
  type ChainFault,
  type ChainHead,
  checkHead,
  checkLink,
  EMPTY_CHAIN,
} from '#shared/accounts/audit/chain.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import { plain } from '#shared/kernel/plain-text.ts';
import { checkAnchorProof, parseAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { type Checkpoint, parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { MalformedLedgerText, type SignedNote } from '#shared/ledger/notes.ts';
import { logOfTree } from '#shared/ledger/origins.ts';
import { BOUNDS, checkSize, jsonSize } from '#shared/receipts/bounds.ts';
import { CannotJudge, withinBounds } from '#cli/verify/cannot-judge.ts';
import { headSigner } from '#cli/verify/head-signer.ts';
import type { Verdict } from '#cli/verify/judge-pack.ts';
import type { Trust } from '#cli/verify/judge-receipt.ts';
import { pageLines } from './page-lines.ts';

/** An audit log as its organisation fetched it. */
export interface FetchedLog {
  /** Pages of `GET /v1/audit-log`, one document or one a line. */
  entries: string;
  /** `GET /v1/audit-log/checkpoint`. */
  checkpoint: string;
  /** `GET /v1/audit-log/anchor`. */
  anchor?: string;
  /** Keys of the issuer; without them no signature is checked. */
  trust?: Pick<Trust, 'keys' | 'isChosen'> | undefined;
}

export interface FetchedLogVerdict {
  verdict: Exclude<Verdict, 'cannot_judge'>;
  /** One sentence for a person. */
  message: string;
  log: string;
  /** Entries that the signed head covers. */
  size: number;
  /** Entries that came after it: they follow from it, and no signature covers them yet. */
  beyond: number;
  /** Entries that the anchor covers; null without one. */
  anchored: number | null;
}

type Keys = Trust['keys'] | undefined;

class Unsound extends Error {}

/** Judges an audit log offline. @throws CannotJudge when a file is not what it should be */
export function judgeFetchedLog(fetched: FetchedLog): FetchedLogVerdict {
  const { note, checkpoint } = readable('the checkpoint', () =>
    parseCheckpoint(fetched.checkpoint),
  );
  const { origin, size } = checkpoint;
  const orgId = /\/audit\/([^/]+)$/.exec(logOfTree(origin).log)?.[1];
  if (orgId === undefined)
    throw new CannotJudge(`The checkpoint is not one of an audit log: ${origin}.`);
  const entries = entriesIn(fetched.entries, orgId);
  const beyond = Math.max(0, entries.length - size);
  const seen = { log: origin, size, beyond, anchored: null };
  try {
    const hashes = followed(entries);
    compare(hashes, checkpoint, 'signed head');
    const keys = fetched.trust?.keys;
    checkSignature(note, keys, 'signed head');
    const anchored =
      fetched.anchor === undefined ? null : checkAnchor(fetched.anchor, { origin, hashes }, keys);
    const verdict = fetched.trust?.isChosen === true ? 'good' : 'intact';
    return { ...seen, anchored, verdict, message: wordsOf(size, beyond, keys !== undefined) };
  } catch (error) {
    if (!(error instanceof Unsound)) throw error;
    return { ...seen, verdict: 'bad', message: error.message };
  }
}

/** What was looked at: entries after the head are held in place by nothing that was signed. */
function wordsOf(size: number, beyond: number, hasKeys: boolean): string {
  const all = size === 1 ? 'The first entry is' : `The first ${size} entries are`;
  const sound = `${all} there, unchanged and in ${size === 1 ? 'its place' : 'their places'}`;
  const signed = hasKeys
    ? `${sound}, as the issuer signed.`
    : `${sound}, as the head says; who signed that was not checked, because no keys were named (--trust).`;
  if (beyond === 0) return signed;
  const further = beyond === 1 ? 'One more follows' : `${beyond} more follow`;
  return `${signed} ${further} from them without a signature over ${beyond === 1 ? 'it' : 'them'}.`;
}

/**
 * What can be said of entries without a head: only whether each follows from the one before. Their hashes are over the
 * name of the log too, which stands in the head.
 * @throws CannotJudge when they follow
 */
export function judgeEntriesAlone(text: string): never {
  const entries = entriesIn(text, '');
  const [first, last] = [entries[0], entries.at(-1)];
  if (first === undefined || last === undefined) {
    throw new CannotJudge(
      'The audit log has no entries, and nothing says how many it should have.',
    );
  }
  const fault = entries.findIndex(
    ({ previousHash, sequence }, i) =>
      i > 0 && (previousHash !== entries[i - 1]!.hash || sequence !== entries[i - 1]!.sequence + 1),
  );
  const follow =
    fault === -1
      ? `Its entries ${first.sequence} to ${last.sequence} name each other’s hashes in order`
      : `Its entry ${entries[fault]!.sequence} does not follow from entry ${entries[fault - 1]!.sequence}`;
  throw new CannotJudge(
    `${follow}; whether any was altered is shown by its signed head alone: choose its checkpoint with it, or use docket audit verify-file.`,
  );
}

/** The hash of each entry. @throws Unsound when one does not follow from the one before */
function followed(entries: readonly AuditEntry[]): string[] {
  let head: ChainHead = EMPTY_CHAIN;
  for (const entry of entries) {
    refuse(checkLink(head, entry));
    head = { size: entry.sequence + 1, hash: entry.hash };
  }
  return entries.map(({ hash }) => hash);
}

function compare(hashes: readonly string[], { size, root }: Checkpoint, what: string): void {
  if (size === 0) throw new Unsound(`The ${what} is one of no entries.`);
  const rebuilt = {
    size: Math.min(size, hashes.length),
    hash: hashes[Math.min(size, hashes.length) - 1] ?? EMPTY_CHAIN.hash,
  };
  refuse(checkHead(rebuilt, { size, hash: encodeBytes(root, 'hex') }), what);
}

function refuse(fault: ChainFault | null, what = 'chain'): void {
  if (fault !== null)
    throw new Unsound(`Entry ${fault.sequence}: ${PROBLEMS[fault.problem]} (${what}).`);
}

const PROBLEMS: Readonly<Record<ChainFault['problem'], string>> = {
  gap: 'an entry is missing or stands twice before it',
  broken_link: 'it does not follow from the entry before',
  altered: 'it was altered',
  truncated:
    'this and what follows is missing, as it is where entries were fetched before the head',
  head_mismatch: 'the entry before it is not the one that was signed',
  signed_head_mismatch: 'it is not the one that was signed',
};

function checkSignature(note: SignedNote, keys: Keys, what: string): void {
  if (keys === undefined) return;
  if (headSigner(note, keys) === undefined) {
    throw new Unsound(`The ${what} is not signed by a key of the issuer.`);
  }
}

/** @returns how many entries are anchored */
function checkAnchor(
  text: string,
  { origin, hashes }: { origin: string; hashes: readonly string[] },
  keys: Keys,
): number {
  const proof = readable('the anchor', () => parseAnchorProof(text));
  try {
    const { head, headNote, anchorNote } = checkAnchorProof(proof);
    // A head that was anchored before a loss was declared is of an earlier tree, and its entries are here.
    if (logOfTree(head.origin).log !== logOfTree(origin).log)
      throw new Unsound('The anchor is of another log.');
    compare(hashes, head, 'anchored head');
    checkSignature(headNote, keys, 'anchored head');
    checkSignature(anchorNote, keys, 'checkpoint of the anchor');
    return head.size;
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    throw new Unsound(`The anchor does not hold: ${error.message}`);
  }
}

function readable<T>(what: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    throw new CannotJudge(`${what} cannot be read: ${error.message}`, error);
  }
}

/** In the order of their numbers, also where pages came in another. */
function entriesIn(text: string, orgId: string): AuditEntry[] {
  const pages = pagesIn(text);
  if (pages.every((page) => (page as { has_more?: unknown } | null)?.has_more === true)) {
    throw new CannotJudge('Pages of the entries are missing: each says that more come after it.');
  }
  const entries = pages.flatMap((page) => {
    const list = (page as { data?: unknown } | null)?.data;
    if (!Array.isArray(list))
      throw new CannotJudge('A page of entries is not what GET /v1/audit-log gives.');
    return list.map((each) => entryOf(each, orgId));
  });
  return entries.toSorted((one, other) => one.sequence - other.sequence);
}

/** A log that is judged with its head may be twice as long as what is judged by itself. */
const LOG_BOUNDS = { ...BOUNDS, members: 2 * BOUNDS.members };

function pagesIn(text: string): unknown[] {
  try {
    return [pageIn(text)];
  } catch (error) {
    if (error instanceof CannotJudge) throw error;
    // Several, one a line.
  }
  try {
    return Array.from(pageLines(text), pageIn);
  } catch (error) {
    if (error instanceof CannotJudge) throw error;
    throw new CannotJudge('The entries are not JSON: one page, or one a line.', error);
  }
}

/**
 * @throws CannotJudge when it holds too much, or a name stands twice in an object, of which hashes see the last and readers
 * perhaps the first
 */
function pageIn(text: string): unknown {
  const size = jsonSize(text);
  withinBounds(() => checkSize(size, LOG_BOUNDS));
  const page: unknown = JSON.parse(text);
  if (size.members !== membersIn(page))
    throw new CannotJudge('The entries are not what GET /v1/audit-log gives: a name stands twice.');
  return page;
}

function membersIn(value: unknown): number {
  let members = 0;
  const left = [value];
  while (left.length > 0) {
    const each = left.pop();
    if (typeof each !== 'object' || each === null) continue;
    const values = Object.values(each);
    if (!Array.isArray(each)) members += values.length;
    for (const one of values) left.push(one);
  }
  return members;
}

const TEXTS = ['id', 'at', 'action', 'previous_hash', 'hash'] as const;
/** All that an entry has. Its hash is over every one of them, and so would vouch for no other. */
const MEMBERS: ReadonlySet<string> = new Set([
  ...TEXTS,
  'object',
  'sequence',
  'actor',
  'address',
  'subject',
  'reason',
  'details',
]);

/** What is told of a name that no entry has. */
const NAME_CHARS_MAX = 200;

function entryOf(value: unknown, orgId: string): AuditEntry {
  const fields = (value ?? {}) as Record<string, unknown>;
  const actor = (fields['actor'] ?? {}) as Record<string, unknown>;
  const other =
    Object.keys(fields).find((name) => !MEMBERS.has(name)) ??
    Object.keys(actor).find((name) => name !== 'kind' && name !== 'id');
  if (other !== undefined)
    throw new CannotJudge(
      `An entry says more than its hash is over: ${plain(other.slice(0, NAME_CHARS_MAX))}.`,
    );
  const isText = (each: unknown): boolean => typeof each === 'string';
  const isTextOrNull = (each: unknown): boolean => each === null || isText(each);
  const fits =
    TEXTS.every((name) => isText(fields[name])) &&
    Number.isSafeInteger(fields['sequence']) &&
    fields['object'] === 'audit_log_entry' &&
    isText(actor['kind']) &&
    isText(actor['id']) &&
    ['address', 'subject', 'reason'].every((name) => isTextOrNull(fields[name])) &&
    typeof fields['details'] === 'object' &&
    fields['details'] !== null;
  if (!fits) throw new CannotJudge('An entry is not what GET /v1/audit-log gives.');
  const { sequence, id, at, action, address, subject, reason, details, hash } = fields;
  return {
    id,
    orgId,
    sequence,
    at: momentOf(at as string),
    action,
    actorKind: actor['kind'],
    actorId: actor['id'],
    address,
    subject,
    reason,
    details: JSON.stringify(details),
    previousHash: fields['previous_hash'],
    hash,
  } as AuditEntry;
}

/** The hash is over the moment, which could be written in other words, and with more beside it: that is another entry. */
function momentOf(text: string): number {
  const at = new Date(text);
  return !Number.isNaN(at.getTime()) && at.toISOString() === text ? at.getTime() : NaN;
}
