import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { isTimeText } from '#shared/kernel/time.ts';
import { HEADS_SLOTS } from './heads-tree.ts';
import { HASH_BYTES, type Hash } from './hashing.ts';
import { type KeyEvent, parseKeyEvent } from './key-events.ts';
import { decodeBase64, decodeText, encodeBase64, MalformedLedgerText } from './notes.ts';

/** One epoch: the root of the tree over every organisation's newest checkpoint. */
export interface HeadsEntry {
  type: 'heads';
  /** `2026-11-20T09:38:04.123Z`; never goes down along the log. */
  at: string;
  root: Hash;
}

/** What the anchor log consists of. */
export type AnchorEntry = HeadsEntry | KeyEvent;

/** The exact text of an entry: canonical JSON (RFC 8785), ASCII, no newline. */
export function formatAnchorEntry(entry: AnchorEntry): string {
  if (entry.type === 'key') return canonicalJson({ ...entry });
  return canonicalJson({ ...entry, root: encodeBase64(entry.root), slots: HEADS_SLOTS });
}

/** Reads an entry from anyone: only the text that `formatAnchorEntry` writes. Throws `MalformedLedgerText`. */
export function parseAnchorEntry(source: string | Uint8Array): AnchorEntry {
  const text = decodeText(source);
  const fields = objectOf(text);
  const entry = fields['type'] === 'key' ? parseKeyEvent(fields) : parseHeads(fields);
  if (formatAnchorEntry(entry) !== text) throw malformed('The entry is not in canonical form.');
  return entry;
}

function parseHeads(fields: Readonly<Record<string, unknown>>): HeadsEntry {
  const { at, root, slots, type } = fields;
  const hash = typeof root === 'string' ? decodeBase64(root) : null;
  if (type !== 'heads' || slots !== HEADS_SLOTS || hash?.length !== HASH_BYTES) {
    throw malformed('The entry is neither heads nor a key event.');
  }
  if (typeof at !== 'string' || !isTimeText(at)) throw malformed('The entry has no time.');
  return { type, at, root: hash };
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw malformed('The entry is not a JSON object.');
}

function malformed(message: string): MalformedLedgerText {
  return new MalformedLedgerText('anchor_entry', message);
}
