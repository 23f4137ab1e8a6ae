import { ed25519Verifier, encodeBytes } from '#primitives';
import {
  type ChainFault,
  type ChainHead,
  checkHead,
  checkLink,
  EMPTY_CHAIN,
} from '#shared/accounts/audit/chain.ts';
import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import { checkAnchorProof, parseAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { type Checkpoint, parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { MalformedLedgerText, type SignedNote, signerOf } from '#shared/ledger/notes.ts';
import type { TrustedKeys } from '#shared/receipts/verify.ts';
import { CannotJudge } from '#cli/verify/cannot-judge.ts';
import type { Verdict } from '#cli/verify/judge-pack.ts';

/** An audit log as its organisation fetched it. */
export interface FetchedLog {
  /** Pages of `GET /v1/audit-log`, one document or one a line. */
  entries: string;
  /** `GET /v1/audit-log/checkpoint`. */
  checkpoint: string;
  /** `GET /v1/audit-log/anchor`. */
  anchor?: string;
  /** Keys of the issuer; without them nobody has said whose signatures are asked for. */
  keys?: TrustedKeys;
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

class Unsound extends Error {}

/** Judges an audit log offline. @throws CannotJudge when a file is not what it should be */
export function judgeFetchedLog(fetched: FetchedLog): FetchedLogVerdict {
  const { note, checkpoint } = readable('the checkpoint', () =>
    parseCheckpoint(fetched.checkpoint),
  );
  const { origin, size } = checkpoint;
  const orgId = /\/audit\/([^/]+)$/.exec(origin)?.[1];
  if (orgId === undefined)
    throw new CannotJudge(`The checkpoint is not one of an audit log: ${origin}.`);
  const entries = entriesIn(fetched.entries, orgId);
  const seen = { log: origin, size, beyond: Math.max(0, entries.length - size), anchored: null };
  try {
    const hashes = followed(entries);
    compare(hashes, checkpoint, 'signed head');
    checkSignature(note, fetched.keys, 'signed head');
    const anchored =
      fetched.anchor === undefined
        ? null
        : checkAnchor(fetched.anchor, { origin, hashes }, fetched.keys);
    return fetched.keys === undefined
      ? {
          ...seen,
          anchored,
          verdict: 'intact',
          message: 'It agrees with a signed head; whose key signed that nobody has said (--trust).',
        }
      : {
          ...seen,
          anchored,
          verdict: 'good',
          message: 'Every entry is there, unchanged and in its place, as the issuer signed it.',
        };
  } catch (error) {
    if (!(error instanceof Unsound)) throw error;
    return { ...seen, verdict: 'bad', message: error.message };
  }
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
  truncated: 'this and what follows is missing',
  head_mismatch: 'the entry before it is not the one that was signed',
  signed_head_mismatch: 'it is not the one that was signed',
};

function checkSignature(note: SignedNote, keys: TrustedKeys | undefined, what: string): void {
  if (keys === undefined) return;
  const good = [...keys.values()].filter(({ revoked }) => !revoked);
  const publicKeys = good.map(({ publicKey }) => publicKey);
  const verify = (key: Uint8Array, data: Uint8Array, signature: Uint8Array): boolean =>
    ed25519Verifier(key)(data, signature);
  if (signerOf(note, { publicKeys, verify }) === null) {
    throw new Unsound(`The ${what} is not signed by a key of the issuer.`);
  }
}

/** @returns how many entries are anchored */
function checkAnchor(
  text: string,
  { origin, hashes }: { origin: string; hashes: readonly string[] },
  keys: TrustedKeys | undefined,
): number {
  const proof = readable('the anchor', () => parseAnchorProof(text));
  try {
    const { head, headNote, anchorNote } = checkAnchorProof(proof);
    if (head.origin !== origin) throw new Unsound('The anchor is of another log.');
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

/** In the order of their numbers, whatever order pages came in. */
function entriesIn(text: string, orgId: string): AuditEntry[] {
  const entries = pagesIn(text).flatMap((page) => {
    const list = (page as { data?: unknown } | null)?.data;
    if (!Array.isArray(list))
      throw new CannotJudge('A page of entries is not what GET /v1/audit-log gives.');
    return list.map((each) => entryOf(each, orgId));
  });
  return entries.toSorted((one, other) => one.sequence - other.sequence);
}

function pagesIn(text: string): unknown[] {
  try {
    return [JSON.parse(text) as unknown];
  } catch {
    // Several, one a line.
  }
  try {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    return lines.map((line) => JSON.parse(line) as unknown);
  } catch (error) {
    throw new CannotJudge('The entries are not JSON: one page, or one a line.', error);
  }
}

const TEXTS = ['id', 'at', 'action', 'previous_hash', 'hash'] as const;

function entryOf(value: unknown, orgId: string): AuditEntry {
  const fields = (value ?? {}) as Record<string, unknown>;
  const actor = (fields['actor'] ?? {}) as Record<string, unknown>;
  const isText = (each: unknown): boolean => typeof each === 'string';
  const isTextOrNull = (each: unknown): boolean => each === null || isText(each);
  const fits =
    TEXTS.every((name) => isText(fields[name])) &&
    Number.isSafeInteger(fields['sequence']) &&
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
    at: Date.parse(at as string),
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
