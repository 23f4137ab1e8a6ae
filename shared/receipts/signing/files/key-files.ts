import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { isOpenToOthers } from '#shared/kernel/files/open-to-others.ts';
import { writeExclusively } from '#shared/kernel/files/write-exclusively.ts';
import { KEY_PURPOSES, type KeyPurpose } from '#shared/ledger/key-events.ts';
import { jwkThumbprint } from '../identifiers.ts';
import { rawPublicKey } from '../key-objects.ts';
import { SigningKeyProblem } from '../problem.ts';

export { KEY_PURPOSES, type KeyPurpose };

/**
 * next: published, not used yet · active: signs · retired: signed once, still good for what it signed ·
 * revoked: no longer vouched for.
 */
export type KeyState = 'active' | 'next' | 'retired' | 'revoked';

export interface SigningKey {
  purpose: KeyPurpose;
  state: KeyState;
  /** RFC 7638; the key's id is `<did>#<thumbprint>`. */
  thumbprint: string;
  /** 32 bytes. */
  publicKey: Uint8Array;
  /** PKCS #8. Absent for retired and revoked keys, and for a process that only publishes. */
  privateKeyPem?: string;
  /** When it was retired or revoked, `2026-11-20T09:38:04.123Z`. */
  since?: string;
}

/** A PEM of an Ed25519 key has about 120 bytes; this leaves room for lines of comment above it. */
const KEY_FILE_BYTES_MAX = 4_096;

/**
 * The signing keys in `dir`, which must be there: `<purpose>/active.pem` for each purpose, `next.pem` while a rotation
 * is under way, and the public halves of earlier keys in `<purpose>/retired/` and `<purpose>/revoked/`.
 * @throws SigningKeyProblem
 */
export function loadSigningKeys(dir: string): SigningKey[] {
  const missing = KEY_PURPOSES.filter((purpose) => !isFile(keyPath(dir, purpose, 'active')));
  if (missing.length > 0) {
    const first = keyPath(dir, missing[0]!, 'active');
    throw new SigningKeyProblem(
      'missing',
      `No signing key for ${missing.join(', ')} in ${dir}. Make each with: mkdir -p ${join(dir, missing[0]!)} && (umask 077; openssl genpkey -algorithm ed25519 -out ${first})`,
    );
  }
  return KEY_PURPOSES.flatMap((purpose) => keysOf(dir, purpose));
}

/**
 * The same, making the keys that are missing. Several processes may start at once: each offers a key, one of them
 * takes the name, and all read that one.
 */
export function ensureSigningKeys(dir: string): SigningKey[] {
  for (const purpose of KEY_PURPOSES) createKey(dir, purpose, 'active');
  return loadSigningKeys(dir);
}

/** The key that signs, or its public half alone. */
export function activeKey(keys: readonly SigningKey[], purpose: KeyPurpose): SigningKey {
  // Each purpose has one: `loadSigningKeys` does not return without it.
  return keys.find((key) => key.purpose === purpose && key.state === 'active')!;
}

/** Changes when a key is added, rotated or revoked: what a long-running process compares to notice. */
export function signingKeysVersion(dir: string): string {
  const paths = KEY_PURPOSES.flatMap((purpose) => [
    keyPath(dir, purpose, 'active'),
    keyPath(dir, purpose, 'next'),
    join(dir, purpose, 'retired'),
    join(dir, purpose, 'revoked'),
  ]);
  const stamps = paths.map((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat === undefined ? '-' : `${stat.ino}.${stat.mtimeMs}`;
  });
  return stamps.join(' ');
}

/** Where the key of a purpose lies that signs, or will. */
export function keyPath(dir: string, purpose: KeyPurpose, state: 'active' | 'next'): string {
  return join(dir, purpose, `${state}.pem`);
}

/** Makes a key unless there is one. Returns whether this call made it. */
export function createKey(dir: string, purpose: KeyPurpose, state: 'active' | 'next'): boolean {
  const path = keyPath(dir, purpose, state);
  if (isFile(path)) return false;
  const { privateKey } = generateKeyPairSync('ed25519');
  return writeExclusively(path, privateKey.export({ type: 'pkcs8', format: 'pem' }));
}

function keysOf(dir: string, purpose: KeyPurpose): SigningKey[] {
  // The next key before the active one: while a rotation renames it, it is then seen as next, as active or as both.
  const next = readNext(dir, purpose);
  const keys = [readKey(keyPath(dir, purpose, 'active'), purpose, 'active'), ...next];
  for (const state of ['revoked', 'retired'] as const) {
    const folder = join(dir, purpose, state);
    for (const path of pemFiles(folder)) keys.push(readKey(path, purpose, state));
  }
  // A crash between two steps of a rotation leaves a key in two places; what it still does counts, and a revocation does.
  const seen = new Set<string>();
  return keys.filter(({ thumbprint }) => !seen.has(thumbprint) && seen.add(thumbprint));
}

function readNext(dir: string, purpose: KeyPurpose): SigningKey[] {
  try {
    return [readKey(keyPath(dir, purpose, 'next'), purpose, 'next')];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function readKey(path: string, purpose: KeyPurpose, state: KeyState): SigningKey {
  const stat = statSync(path);
  if (stat.size > KEY_FILE_BYTES_MAX) throw notAKey(path);
  const pem = readFileSync(path, 'utf8');
  const isPrivate = pem.includes('PRIVATE KEY');
  if (isPrivate && isOpenToOthers(stat)) {
    throw new SigningKeyProblem(
      'readable_by_others',
      `${path} can be read by others. Run: chmod 600 ${path} (and rotate it if others were on this machine)`,
    );
  }
  const since = /^since ([0-9TZ:.-]{24})$/m.exec(pem)?.[1];
  const publicKey = publicKeyOf(pem, path);
  return {
    purpose,
    state,
    thumbprint: jwkThumbprint(publicKey),
    publicKey,
    ...(isPrivate ? { privateKeyPem: pem } : {}),
    ...(since === undefined ? {} : { since }),
  };
}

function publicKeyOf(pem: string, path: string): Uint8Array {
  try {
    const key = createPublicKey(pem);
    if (key.asymmetricKeyType === 'ed25519') return rawPublicKey(key);
  } catch (cause) {
    throw notAKey(path, cause);
  }
  throw notAKey(path);
}

function notAKey(path: string, cause?: unknown): SigningKeyProblem {
  return new SigningKeyProblem('not_a_key', `${path} does not hold an Ed25519 key in PEM.`, cause);
}

function pemFiles(folder: string): string[] {
  if (statSync(folder, { throwIfNoEntry: false }) === undefined) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.pem'));
  return names.toSorted().map((name) => join(folder, name));
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
