import { ed25519Verifier } from '#primitives';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { isTimeText } from '#shared/kernel/time.ts';
import {
  decodeBase64,
  encodeBase64,
  formatNote,
  MalformedLedgerText,
  noteKeyHash,
  parseNote,
  signerOf,
} from '#shared/ledger/notes.ts';
import { PackProblem } from '#shared/packs/problem.ts';

/**
 * What a person states of a pack, in a file beside it: a C2SP signed note by a key of their own. It is never in the pack,
 * whose seal it names by digest.
 */
export interface PackStatement {
  /** Address of the pack, as its seal has it. */
  pack: string;
  /** Multihash of the seal's exact bytes. */
  seal: string;
  /** Who states it, on one line. */
  who: string;
  /** `2026-11-20T09:38:04.123Z` */
  at: string;
  /** Ed25519, 32 bytes. */
  key: Uint8Array;
  /** Lines of what is stated. */
  states: readonly string[];
}

/** The first line, and the name under which it is signed. */
const NAME = 'docket-pack-statement/1';
const KEY_BYTES = 32;
/** A name with offices and a firm. */
export const WHO_LENGTH_MAX = 300;
/** What one person says of one pack fits a page. */
const LINES_MAX = 200;
const LINE_LENGTH_MAX = 1_000;
/** The most of such lines, with the head and a signature. */
export const STATEMENT_BYTES_MAX = 131_072;

const TEXT = new RegExp(
  `^${NAME}\\npack (\\S+)\\nseal (uEi[A-Za-z0-9_-]{44})\\nby ([^\\n]+)\\nat ([0-9TZ:.-]+)\\nkey ([A-Za-z0-9+/]{43}=)\\n\\n([^]+)\\n$`,
);

/** Signs with a person's key. @throws MalformedLedgerText when a part would not read back */
export function signStatement(
  { pack, seal, who, at, key, states }: PackStatement,
  sign: (text: Uint8Array) => Uint8Array,
): string {
  const head = [NAME, `pack ${pack}`, `seal ${seal}`, `by ${who}`, `at ${at}`];
  const text = `${[...head, `key ${encodeBase64(key)}`, '', ...states].join('\n')}\n`;
  statementIn(text);
  const signature = sign(new TextEncoder().encode(text));
  const line = { name: NAME, keyHash: noteKeyHash(NAME, key), signature };
  return formatNote({ text, signatures: [line] });
}

/** Reads the text of a statement from anyone, strictly. @throws MalformedLedgerText */
function statementIn(text: string): PackStatement {
  const [, pack, seal, who, at, key, said] = TEXT.exec(text) ?? [];
  const states = said?.split('\n') ?? [];
  const bytes = key === undefined ? null : decodeBase64(key);
  const rules: [boolean, string][] = [
    [said !== undefined && bytes?.length === KEY_BYTES, 'it has not the lines of a statement'],
    [isPrintable(who ?? '', WHO_LENGTH_MAX), 'who states it is one line'],
    [isTimeText(at ?? ''), 'its time is one'],
    [
      states.length <= LINES_MAX &&
        states.every((line) => line === '' || isPrintable(line, LINE_LENGTH_MAX)),
      `it states up to ${LINES_MAX} lines of up to ${LINE_LENGTH_MAX} characters, without tabs`,
    ],
  ];
  const broken = rules.find(([holds]) => !holds);
  if (broken !== undefined) {
    throw new MalformedLedgerText('statement', `It breaks this rule: ${broken[1]}.`);
  }
  return { pack: pack!, seal: seal!, who: who!, at: at!, key: bytes!, states };
}

/** A statement that was given, and by whose key it is to be. */
export interface GivenStatement {
  content: Uint8Array | string;
  /** What it is called in the words. */
  source: string;
  /** 32 bytes, and where they came from; without it the key in the statement itself is taken. */
  key?: { raw: Uint8Array; source: string };
}

/** A statement that is of this pack, and signed by its key. */
export interface JudgedStatement extends PackStatement {
  /** Where the key came from; undefined when it is the statement's own. */
  trusted: string | undefined;
}

/** @throws PackProblem `statement_invalid` when it is of another pack, of another key, or was changed */
export function judgeStatement(
  { content, source, key }: GivenStatement,
  pack: Pick<PackStatement, 'pack' | 'seal'>,
): JudgedStatement {
  const invalid = (message: string): PackProblem =>
    new PackProblem('statement_invalid', source, message);
  try {
    const note = parseNote(content);
    const statement = statementIn(note.text);
    if (statement.seal !== pack.seal || statement.pack !== pack.pack) {
      throw invalid(`It is of another pack, ${statement.pack} with the seal ${statement.seal}.`);
    }
    if (key !== undefined && encodeBase64(key.raw) !== encodeBase64(statement.key)) {
      throw invalid(`It is by another key than that of ${key.source}.`);
    }
    const verify = (raw: Uint8Array, text: Uint8Array, signature: Uint8Array): boolean =>
      ed25519Verifier(raw)(text, signature);
    if (signerOf(note, { publicKeys: [statement.key], verify }) === null) {
      throw invalid('Its signature is not by its key.');
    }
    return { ...statement, trusted: key?.source };
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    throw invalid(`It is no statement on a pack: ${error.message}`);
  }
}
