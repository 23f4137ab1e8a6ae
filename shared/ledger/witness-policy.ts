import { decodeBytes } from '#primitives';
import { checkCosignature, type CosignatureCheck } from './cosignatures.ts';
import { sameHash } from './hashing.ts';
import {
  COSIGNATURE_TYPE,
  MalformedLedgerText,
  NOTE_TYPE,
  type NoteSignature,
  type SignatureCheck,
  type SignedNote,
  signerOf,
} from './notes.ts';
import { parseVerifierKey, type VerifierKey } from './verifier-keys.ts';

/**
 * Whose signatures a checkpoint must have (C2SP tlog-policy): known logs, known witnesses, and which of these have to
 * have cosigned. Names are octets, one to a character, as the format compares them.
 */
export interface WitnessPolicy {
  /** None: whichever log it is that is looked at. */
  logs: readonly PolicyLog[];
  witnesses: readonly PolicyWitness[];
  groups: readonly PolicyGroup[];
  /** A witness, a group, or `none`. */
  quorum: string;
}

interface PolicyLog {
  key: VerifierKey;
  url?: string;
}

interface PolicyWitness extends PolicyLog {
  name: string;
}

interface PolicyGroup {
  name: string;
  threshold: number;
  members: readonly string[];
}

/** Thirty-two witnesses with post-quantum keys are 60 kB; the rest is for comments. */
export const POLICY_BYTES_MAX = 262_144;
/** Twice what C2SP asks implementations to take. */
const LINES_OF_A_KIND_MAX = 64;
const NO_QUORUM = 'none';
const TAB = 0x09;
const SPACE = 0x20;
const DELETE = 0x7f;

/** Reads a policy from anyone, strictly. Throws `MalformedLedgerText`, whose message begins with the line. */
export function parseWitnessPolicy(source: Uint8Array | string): WitnessPolicy {
  const bytes = typeof source === 'string' ? new TextEncoder().encode(source) : source;
  if (bytes.length > POLICY_BYTES_MAX) {
    throw malformed(`It is larger than ${POLICY_BYTES_MAX} bytes.`);
  }
  const reading = new PolicyReading();
  let start = 0;
  let line = 1;
  for (; start < bytes.length; line += 1) {
    const end = bytes.indexOf(0x0a, start);
    try {
      if (end < 0) throw malformed('It has no newline at its end.');
      reading.take(itemsOf(bytes.subarray(start, end)));
    } catch (error) {
      if (!(error instanceof MalformedLedgerText)) throw error;
      throw malformed(`line ${line}: ${error.message}`);
    }
    start = end + 1;
  }
  return reading.policy(line);
}

/** Items of a line, an octet to a character; none of an empty line or a comment. */
function itemsOf(line: Uint8Array): string[] {
  for (const byte of line) {
    if (byte === TAB || (byte >= SPACE && byte !== DELETE)) continue;
    throw malformed(`It holds a control character (0x${byte.toString(16).padStart(2, '0')}).`);
  }
  const items = octets(line)
    .split(/[ \t]+/)
    .filter((item) => item !== '');
  return items[0]?.startsWith('#') === true ? [] : items;
}

function octets(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** What the octets of a name or key say in UTF-8. Throws `MalformedLedgerText` where they say nothing in it. */
function utf8Of(text: string): string {
  const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw malformed('The name of a key is not UTF-8.');
  }
}

/** A policy as far as its lines have been read. */
class PolicyReading {
  readonly #logs: PolicyLog[] = [];
  readonly #witnesses: PolicyWitness[] = [];
  readonly #groups: PolicyGroup[] = [];
  /** Names of witnesses and groups, and whether one is a member of a group already. */
  readonly #named = new Map<string, boolean>();
  #quorum: string | undefined;

  take([keyword, ...items]: readonly string[]): void {
    if (keyword === undefined) return;
    if (keyword === 'log') this.#takeLog(items);
    else if (keyword === 'witness') this.#takeWitness(items);
    else if (keyword === 'group') this.#takeGroup(items);
    else if (keyword === 'quorum') this.#takeQuorum(items);
    else throw malformed('It begins with none of log, witness, group and quorum.');
  }

  policy(line: number): WitnessPolicy {
    if (this.#quorum === undefined) throw malformed(`line ${line}: The quorum is missing.`);
    return {
      logs: this.#logs,
      witnesses: this.#witnesses,
      groups: this.#groups,
      quorum: this.#quorum,
    };
  }

  #takeLog([key, url, ...more]: readonly string[]): void {
    if (key === undefined || more.length > 0) throw malformed('It is not log <key> [<url>].');
    const parsed = parseVerifierKey(utf8Of(key));
    if (parsed.type === COSIGNATURE_TYPE) throw malformed('The key is one of a witness.');
    push(this.#logs, { key: parsed, ...(url === undefined ? {} : { url }) }, 'logs');
  }

  #takeWitness([name, key, url, ...more]: readonly string[]): void {
    if (name === undefined || key === undefined || more.length > 0) {
      throw malformed('It is not witness <name> <key> [<url>].');
    }
    this.#define(name);
    const parsed = parseVerifierKey(utf8Of(key));
    if (parsed.type === NOTE_TYPE) throw malformed('The key is one of a log.');
    push(
      this.#witnesses,
      { name, key: parsed, ...(url === undefined ? {} : { url }) },
      'witnesses',
    );
  }

  #takeGroup([name, count, ...members]: readonly string[]): void {
    if (name === undefined || count === undefined || members.length === 0) {
      throw malformed('It is not group <name> <all, any or a number> <name>….');
    }
    for (const member of members) {
      const isMember = this.#named.get(member);
      if (isMember === undefined) throw malformed('A member is not defined above it.');
      if (isMember) throw malformed('A member is one of a group already.');
      this.#named.set(member, true);
    }
    this.#define(name);
    const threshold = thresholdOf(count, members.length);
    if (this.#groups.length >= LINES_OF_A_KIND_MAX) throw tooMany('groups');
    this.#groups.push({ name, threshold, members });
  }

  #takeQuorum([name, ...more]: readonly string[]): void {
    if (name === undefined || more.length > 0) throw malformed('It is not quorum <name>.');
    if (this.#quorum !== undefined) throw malformed('It is a second quorum.');
    if (name !== NO_QUORUM && !this.#named.has(name)) {
      throw malformed('The quorum is not defined above it.');
    }
    this.#quorum = name;
  }

  #define(name: string): void {
    if (name === NO_QUORUM || this.#named.has(name)) throw malformed('The name is taken.');
    this.#named.set(name, false);
  }
}

function push<T extends PolicyLog>(to: T[], line: T, what: string): void {
  if (to.length >= LINES_OF_A_KIND_MAX) throw tooMany(what);
  // One key under two names would count twice.
  if (to.some(({ key }) => sameHash(key.publicKey, line.key.publicKey))) {
    throw malformed('The key stands in a line above it.');
  }
  to.push(line);
}

function tooMany(what: string): MalformedLedgerText {
  return malformed(`There are more than ${LINES_OF_A_KIND_MAX} ${what}.`);
}

function thresholdOf(text: string, members: number): number {
  if (text === 'all') return members;
  if (text === 'any') return 1;
  const count = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= members) return count;
  throw malformed('The number is not one from 1 to that of its members.');
}

/** What the policy's witnesses have said of a checkpoint. Witnesses by their names in the policy, as people read them. */
export interface WitnessWords {
  /** Whether one of the policy's logs has signed it; true where it names none. */
  ofKnownLog: boolean;
  isQuorum: boolean;
  /** Whether it would be if those that could not be verified here had cosigned. */
  mayBeQuorum: boolean;
  /** `time` in seconds since 1970, by the witness's clock. */
  cosigned: readonly { witness: string; time: number }[];
  missing: readonly string[];
  /** Those with a line by a kind of key that is not verified here, which counts as none. */
  unverifiable: readonly string[];
  /** Signature lines of others, of whom the policy says nothing. */
  others: number;
}

/**
 * Holds a signed checkpoint against a policy. Throws `MalformedLedgerText` when a line says that it is by a key of the policy
 * and is not: a signature of a known key that does not verify condemns the note (C2SP signed-note).
 */
export function judgeByPolicy(
  { logs, witnesses, groups, quorum }: WitnessPolicy,
  note: SignedNote,
  verify: CosignatureCheck,
): WitnessWords {
  const origin = note.text.slice(0, note.text.indexOf('\n'));
  const isBy =
    ({ name, id }: VerifierKey) =>
    (line: NoteSignature): boolean =>
      line.name === name && sameHash(line.keyHash, decodeBytes(id, 'hex'));
  const cosigned: { name: string; time: number }[] = [];
  const unverified: string[] = [];
  const missing: string[] = [];
  for (const { name, key } of witnesses) {
    const times = note.signatures
      .filter(isBy(key))
      .map((line) => cosignatureTime(line, note.text, { name, key }, verify));
    const known = times.filter((time) => time !== null);
    if (known.length > 0) cosigned.push({ name, time: Math.max(...known) });
    else (times.length > 0 ? unverified : missing).push(name);
  }
  const isMet = (present: Set<string>): boolean => {
    // A group comes after its members.
    for (const { name, threshold, members } of groups) {
      if (members.filter((member) => present.has(member)).length >= threshold) present.add(name);
    }
    return quorum === NO_QUORUM || present.has(quorum);
  };
  const names = cosigned.map(({ name }) => name);
  const logKeys = logs
    .filter(({ key }) => key.type === NOTE_TYPE && key.name === origin)
    .map(({ key }) => key.publicKey);
  const known = [...logs, ...witnesses].map(({ key }) => isBy(key));
  const others = note.signatures.filter((line) => {
    return line.name !== origin && !known.some((isKnown) => isKnown(line));
  });
  const isSigned: SignatureCheck['verify'] = (publicKey, text, signature) =>
    verify({ type: NOTE_TYPE, publicKey }, text, signature) === true;
  return {
    ofKnownLog:
      logs.length === 0 || signerOf(note, { publicKeys: logKeys, verify: isSigned }) !== null,
    isQuorum: isMet(new Set(names)),
    mayBeQuorum: isMet(new Set([...names, ...unverified])),
    cosigned: cosigned.map(({ name, time }) => ({ witness: shown(name), time })),
    missing: missing.map(shown),
    unverifiable: unverified.map(shown),
    others: others.length,
  };
}

function cosignatureTime(
  line: NoteSignature,
  text: string,
  { name, key }: Pick<PolicyWitness, 'name' | 'key'>,
  verify: CosignatureCheck,
): number | null {
  try {
    return checkCosignature(line, text, key, verify);
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    const message = `A line says that it is by the witness ${shown(name)}, whose key the policy has, and is not.`;
    throw new MalformedLedgerText('cosignature_wrong', message);
  }
}

/** A name as people read it. */
function shown(name: string): string {
  return new TextDecoder().decode(Uint8Array.from(name, (each) => each.charCodeAt(0)));
}

function malformed(message: string): MalformedLedgerText {
  return new MalformedLedgerText('witness_policy', message);
}
