import { isPrintable } from '#shared/kernel/plain-text.ts';
import { dateTime, isTimeText } from '#shared/kernel/time.ts';
import type { CheckpointSigner, PublishedHead } from './checkpoints.ts';
import { type Hash, HASH_BYTES, sameHash } from './hashing.ts';
import {
  decodeBase64,
  encodeBase64,
  formatNote,
  MalformedLedgerText,
  noteKeyHash,
  parseDecimal,
  parseNote,
  type SignedNote,
} from './notes.ts';

/** Size of a tree and its root; of an audit log, how many entries and the hash of the last one. */
export interface TreeHead {
  size: number;
  root: Hash;
}

/**
 * What an operator has declared of a log whose database was put back to an older state: that entries were published and are
 * gone. It closes one tree of the log and opens its successor, which begins with the entries that were kept.
 */
export interface LossStatement {
  /** Name of the log: `treeOrigin` of it and a generation is the name of a tree. */
  log: string;
  /** The tree that is opened. Numbers may be left out: a statement may be lost itself. */
  generation: number;
  /** The tree that the database knew as the newest one. */
  previous: number;
  /** The last head that was published, and of which tree it is. The root is null where only a witness knows of it. */
  published: { size: number; root: Hash | null; generation: number };
  /** The last signed head that the database has. The successor begins with these entries. */
  kept: TreeHead;
  /** `2026-11-20T09:38:04.123Z` */
  at: string;
  /** Who declared it, as the audit log names them: `operator:ada`. */
  actor: string;
  reason: string;
}

/** More trees than any log has: one is opened by a person, after a disaster. */
export const GENERATION_MAX = 999_999;
/** Names of persons and machines; as long as audit entries take them. */
const ACTOR_LENGTH_MAX = 300;
/** As long as reasons are in the audit log. */
const REASON_LENGTH_MAX = 500;

const NUMBER = '([1-9][0-9]{0,5})';
const SIZE = '(0|[1-9][0-9]{0,15})';
const ROOT = '[A-Za-z0-9+/]{43}=';
const TEXT = new RegExp(
  `^([^\\n]+)/loss\\nopens ${NUMBER} after ${NUMBER}\\npublished ${SIZE} (-|${ROOT}) in ${NUMBER}\\nkept ${SIZE} (${ROOT})\\n` +
    `declared ([0-9TZ:.-]+) by ([^\\n]+)\\n([^\\n]+)\\n$`,
  'u',
);

/** The text that is signed. Throws `MalformedLedgerText` when a part would not read back. */
export function formatLoss({ log, kept, published, ...statement }: LossStatement): string {
  const { generation, previous, at, actor, reason } = statement;
  const lines = [
    `${log}/loss`,
    `opens ${generation} after ${previous}`,
    `published ${headText(published)} in ${published.generation}`,
    `kept ${headText(kept)}`,
    `declared ${at} by ${actor}`,
    reason,
  ];
  const text = `${lines.join('\n')}\n`;
  parseLossText(text);
  return text;
}

/** Reads the text of a statement from anyone, strictly. Throws `MalformedLedgerText`. */
export function parseLossText(text: string): LossStatement {
  const parts = TEXT.exec(text);
  if (parts === null) throw malformed('It has not the lines of a declared loss.');
  const [log, opens, after, size, root, of, keptSize, keptRoot, at, actor, reason] = parts.slice(1);
  const statement = {
    log: log!,
    generation: Number(opens),
    previous: Number(after),
    published: {
      size: sizeIn(size!),
      root: root === '-' ? null : rootIn(root!),
      generation: Number(of),
    },
    kept: { size: sizeIn(keptSize!), root: rootIn(keptRoot!) },
    at: at!,
    actor: actor!,
    reason: reason!,
  };
  check(statement);
  return statement;
}

function check({ generation, previous, published, kept, ...statement }: LossStatement): void {
  const { at, actor, reason } = statement;
  const rules: [boolean, string][] = [
    [previous < generation && published.generation < generation, 'it opens a later tree'],
    [
      published.generation !== previous || kept.size < published.size,
      'fewer entries are kept than were published',
    ],
    [isTimeText(at), 'its time is one'],
    [
      isPrintable(actor, ACTOR_LENGTH_MAX) && isPrintable(reason, REASON_LENGTH_MAX),
      'who and why stand on one line each',
    ],
  ];
  const broken = rules.find(([holds]) => !holds);
  if (broken !== undefined) throw malformed(`It breaks this rule: ${broken[1]}.`);
}

function headText({ size, root }: { size: number; root: Hash | null }): string {
  return `${size} ${root === null ? '-' : encodeBase64(root)}`;
}

function sizeIn(text: string): number {
  const size = parseDecimal(text);
  if (size === null) throw malformed('A size in it is too large.');
  return size;
}

function rootIn(text: string): Hash {
  const root = decodeBase64(text);
  if (root?.length !== HASH_BYTES) throw malformed('A root in it is not the base64 of 32 bytes.');
  return root;
}

function malformed(message: string): MalformedLedgerText {
  return new MalformedLedgerText('loss', message);
}

/** A statement as it is handed out, signed by the key of the log's heads. */
export function signedLoss(statement: LossStatement, signer: CheckpointSigner): string {
  const text = formatLoss(statement);
  const name = `${statement.log}/loss`;
  const signature = signer.sign(new TextEncoder().encode(text));
  const keyHash = noteKeyHash(name, signer.publicKey);
  return formatNote({ text, signatures: [{ name, keyHash, signature }] });
}

/** Reads a signed statement from anyone. Throws `MalformedLedgerText`; verifies no signature. */
export function parseLoss(source: string | Uint8Array): {
  note: SignedNote;
  statement: LossStatement;
} {
  const note = parseNote(source);
  return { note, statement: parseLossText(note.text) };
}

/**
 * Checks that statements follow each other from the first tree of a log to the one of this number, none left out.
 * Throws `MalformedLedgerText`.
 */
export function checkSuccession(
  statements: readonly LossStatement[],
  log: string,
  generation: number,
): void {
  let [last, keptSize] = [1, 0];
  for (const statement of statements) {
    if (statement.log !== log) throw malformed(`It is of the log ${statement.log}, not of ${log}.`);
    if (statement.previous !== last || statement.kept.size < keptSize) {
      throw malformed(`It does not follow on the statement before it.`);
    }
    [last, keptSize] = [statement.generation, statement.kept.size];
  }
  if (last !== generation) throw malformed(`No statement opens the tree ${generation} of ${log}.`);
}

/** Which tree of a log a head of so many entries is of, by all that was declared of it, oldest first. */
export function generationAt(
  statements: readonly Pick<LossStatement, 'generation' | 'kept'>[],
  size: number,
): number {
  return statements.findLast(({ kept }) => kept.size < size)?.generation ?? 1;
}

/** `of 1,234 entries published, those after the first 1,200 are lost: declared on 20 Nov 2026, 09:38 UTC by operator:ada (the disk failed)`. */
export function lossWords(statement: LossStatement): string {
  const { published, kept, previous, at, actor, reason } = statement;
  const lost =
    published.generation === previous
      ? `of ${entries(published.size)} published, ${published.size - kept.size === 1 ? 'the last is' : `those after the first ${number(kept.size)} are`} lost`
      : `${entries(published.size)} published as tree ${published.generation} of the log, which the database does not have: it goes on after the first ${number(kept.size)} that it has`;
  return `${lost}: declared on ${dateTime(Date.parse(at))} by ${actor} (${reason})`;
}

const number = (value: number): string => value.toLocaleString('en-US');
const entries = (value: number): string => `${number(value)} ${value === 1 ? 'entry' : 'entries'}`;

/** What was published of a log outside of its database, seen with the newest loss that is declared in there. */
export interface Outside {
  /** What the newest tree must continue; null where nothing of that was published. */
  head: PublishedHead | null;
  /** Why the database is not the one that this was published from; null when it may be. */
  contradiction: string | null;
}

/**
 * Holds what is remembered of a log against what was declared of it. A declared loss settles the tree that it closes up to
 * the head that it names, and nothing that was published later.
 * @param declared the newest statement in the database; null for one that cannot be read
 */
export function outsideOf(
  remembered: PublishedHead | undefined,
  declared: LossStatement | null | undefined,
): Outside {
  if (declared === null) {
    return { head: null, contradiction: 'the loss that was declared of it cannot be read' };
  }
  if (remembered === undefined) return { head: null, contradiction: null };
  const { size, root, generation = 1 } = remembered;
  const newest = declared?.generation ?? 1;
  if (generation === newest) return { head: remembered, contradiction: null };
  const closed = declared?.published;
  const unknown = `${entries(size)} of its tree ${generation} were published`;
  if (generation > newest || closed === undefined || generation > closed.generation) {
    return { head: null, contradiction: `${unknown}, of which this database knows nothing` };
  }
  const settled =
    generation < closed.generation ||
    size < closed.size ||
    (size === closed.size && (closed.root === null || sameHash(root, closed.root)));
  if (settled) return { head: null, contradiction: null };
  return { head: null, contradiction: `${unknown}, and ${number(closed.size)} are declared` };
}
