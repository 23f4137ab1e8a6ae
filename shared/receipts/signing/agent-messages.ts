/**
 * Messages of the SSH agent protocol (draft-ietf-sshm-ssh-agent), as far as an Ed25519 key needs them: which keys there are, and a
 * signature. The agent signs the bytes themselves, with nothing around them.
 */
const KEY_TYPE = 'ssh-ed25519';
const REQUEST_IDENTITIES = 11;
const IDENTITIES_ANSWER = 12;
const SIGN_REQUEST = 13;
const SIGN_RESPONSE = 14;
/** What ssh-agent reads of a message at most. */
const AGENT_MESSAGE_BYTES_MAX = 256 * 1024;
const LENGTH_BYTES = 4;

/** Asks for the keys that the agent holds. */
export function identitiesRequest(): Uint8Array {
  return message(REQUEST_IDENTITIES);
}

/** Asks for the signature of `data` by the key whose public half this is (32 bytes). */
export function signRequest(publicKey: Uint8Array, data: Uint8Array): Uint8Array {
  const flags = Buffer.alloc(LENGTH_BYTES);
  return message(SIGN_REQUEST, string(keyBlob(publicKey)), string(data), flags);
}

/** The signature (64 bytes) in an agent's answer; undefined where it refuses: it has not this key, or may not use it. */
export function signatureIn(answer: Uint8Array): Uint8Array | undefined {
  if (answer[0] !== SIGN_RESPONSE) return undefined;
  const [blob] = readString(answer, 1) ?? [];
  const [type, at] = (blob && readString(blob, 0)) ?? [];
  const [signature] = (at !== undefined && readString(blob!, at)) || [];
  return type && Buffer.from(type).toString('latin1') === KEY_TYPE && signature?.length === 64
    ? signature
    : undefined;
}

/** Whether the agent says that it holds a key. */
export function holdsKey(answer: Uint8Array, publicKey: Uint8Array): boolean {
  if (answer[0] !== IDENTITIES_ANSWER) return false;
  const wanted = keyBlob(publicKey);
  // Behind the number of keys: of each its blob and its comment.
  for (let at = 1 + LENGTH_BYTES; at < answer.length;) {
    const blob = readString(answer, at);
    const comment = blob && readString(answer, blob[1]);
    if (comment === undefined) return false;
    if (Buffer.compare(blob![0], wanted) === 0) return true;
    at = comment[1];
  }
  return false;
}

/** The public key (32 bytes) in a line as `ssh-keygen` writes it, `ssh-ed25519 AAAA… comment`; undefined if it is none. */
export function publicKeyInLine(line: string): Uint8Array | undefined {
  const [type, base64] = line.trim().split(/\s+/);
  if (type !== KEY_TYPE || base64 === undefined) return undefined;
  const blob = Buffer.from(base64, 'base64');
  const [, at] = readString(blob, 0) ?? [];
  const [publicKey] = (at !== undefined && readString(blob, at)) || [];
  return publicKey?.length === 32 && Buffer.compare(keyBlob(publicKey), blob) === 0
    ? publicKey
    : undefined;
}

/** The whole answer at the beginning of what has come, without its length; undefined until it is there. @throws RangeError */
export function wholeAnswer(bytes: Buffer): Uint8Array | undefined {
  if (bytes.length < LENGTH_BYTES) return undefined;
  const length = bytes.readUInt32BE(0);
  if (length > AGENT_MESSAGE_BYTES_MAX) throw new RangeError('the agent’s answer is too long');
  const end = LENGTH_BYTES + length;
  return bytes.length < end ? undefined : bytes.subarray(LENGTH_BYTES, end);
}

function keyBlob(publicKey: Uint8Array): Uint8Array {
  return Buffer.concat([string(Buffer.from(KEY_TYPE)), string(publicKey)]);
}

function message(type: number, ...parts: Uint8Array[]): Uint8Array {
  return string(Buffer.concat([Buffer.of(type), ...parts]));
}

function string(bytes: Uint8Array): Uint8Array {
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** A string with its length before it, and where the next one begins. */
function readString(bytes: Uint8Array, at: number): [Uint8Array, number] | undefined {
  if (at + LENGTH_BYTES > bytes.length) return undefined;
  const length = new DataView(bytes.buffer, bytes.byteOffset + at, LENGTH_BYTES).getUint32(0);
  const end = at + LENGTH_BYTES + length;
  return end > bytes.length ? undefined : [bytes.subarray(at + LENGTH_BYTES, end), end];
}
