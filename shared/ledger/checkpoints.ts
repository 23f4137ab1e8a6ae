import { HASH_BYTES, type Hash } from './hashing.ts';
import {
  decodeBase64,
  encodeBase64,
  MalformedLedgerText,
  parseDecimal,
  parseNote,
  type SignedNote,
} from './notes.ts';

/** A tree head: which log, how many entries, which root. */
export interface Checkpoint {
  /** `<host>/log/<organisation>`, or what `treeOrigin` makes of it: also the name of the key that signs. */
  origin: string;
  size: number;
  root: Hash;
  /** Further lines, opaque. Ours have none (C2SP advises against them). */
  extensions: readonly string[];
}

/** The text that is signed (C2SP tlog-checkpoint). Throws `MalformedLedgerText` when a part would not read back. */
export function formatCheckpoint(checkpoint: Checkpoint): string {
  const lines = [
    checkpoint.origin,
    String(checkpoint.size),
    encodeBase64(checkpoint.root),
    ...checkpoint.extensions,
  ];
  const text = `${lines.join('\n')}\n`;
  // What cannot be read back must never be signed: an origin with a newline in it would be two lines.
  if (lines.length !== text.split('\n').length - 1) {
    throw new MalformedLedgerText('checkpoint_line', 'A line of a checkpoint holds a newline.');
  }
  parseCheckpointText(text);
  return text;
}

/** Reads the text of a checkpoint from anyone, strictly. Throws `MalformedLedgerText`. */
export function parseCheckpointText(text: string): Checkpoint {
  if (!text.endsWith('\n'))
    throw new MalformedLedgerText('checkpoint_end', 'A checkpoint ends in a newline.');
  const [origin, sizeText, rootText, ...extensions] = text.slice(0, -1).split('\n');
  if (origin === undefined || origin === '') {
    throw new MalformedLedgerText(
      'checkpoint_origin',
      'A checkpoint begins with the name of its log.',
    );
  }
  const size = parseDecimal(sizeText ?? '');
  if (size === null)
    throw new MalformedLedgerText('checkpoint_size', 'The size is not a plain decimal number.');
  const root = decodeBase64(rootText ?? '');
  if (root?.length !== HASH_BYTES) {
    throw new MalformedLedgerText('checkpoint_root', 'The root is not the base64 of 32 bytes.');
  }
  if (extensions.includes('')) {
    throw new MalformedLedgerText('checkpoint_extension', 'A checkpoint has no empty lines.');
  }
  return { origin, size, root, extensions };
}

/** Reads a signed checkpoint from anyone: the note and what its text says. Throws `MalformedLedgerText`; verifies no signature. */
export function parseCheckpoint(source: string | Uint8Array): {
  note: SignedNote;
  checkpoint: Checkpoint;
} {
  const note = parseNote(source);
  return { note, checkpoint: parseCheckpointText(note.text) };
}

/** The key that signs tree heads. The name that goes with it is the log's origin. */
export interface CheckpointSigner {
  /** 32 bytes, Ed25519. */
  readonly publicKey: Uint8Array;
  /** Ed25519 over these bytes: 64 bytes. */
  sign(bytes: Uint8Array): Uint8Array;
}

/** How far a log was published: size and root of a signed checkpoint. */
export interface PublishedHead {
  size: number;
  root: Hash;
  /** Which of the log's trees it is of; the first when absent. */
  generation?: number;
}

/**
 * Remembers what was published outside the database, so that a database restored from an older
 * backup cannot publish a smaller tree: nothing inside it can tell.
 */
export interface CheckpointMemory {
  /** What is remembered of these logs; a log that was never published is missing. */
  recall(orgIds: readonly string[]): Promise<Map<string, PublishedHead>>;
  /** Called before a checkpoint can be seen by anyone. Never goes back to an earlier tree, or to a smaller size of one. */
  remember(heads: ReadonlyMap<string, PublishedHead>): Promise<void>;
}

/** A checkpoint of the anchor log, as the log itself signed it, which others are asked to attest. */
export interface AttestableCheckpoint {
  size: number;
  /** The signed note. */
  note: string;
  /** What the note signs: what is timestamped and cosigned. */
  text: string;
}
