import { renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  activeKey,
  createKey,
  keyPath,
  type KeyPurpose,
  loadSigningKeys,
  SigningKeyProblem,
} from './key-files.ts';
import { writeExclusively } from '#shared/kernel/files/write-exclusively.ts';
import { publicKeyFromRaw } from '#shared/kernel/primitives/node.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';

/** Longer than anyone should keep a did.json: verifiers then know a key before they meet its first signature. */
export const PUBLISHED_BEFORE_USE_MS = 10 * MINUTE_MS;

export interface Rotation {
  /** published: the next key is in did.json now · activated: it signs from now on. */
  step: 'published' | 'activated';
  /** The key that was published, or now signs. */
  thumbprint: string;
  /** The key that signed until now. */
  retired?: string;
}

/**
 * One step of a rotation: publishes a next key, or puts the published one to use and retires the other. Only the
 * retired key's public half stays. Safe to repeat, and after a crash at any point.
 * @throws SigningKeyProblem `published_too_recently` until the next key was published for `publishedBeforeUseMs`.
 */
export function rotateSigningKey(
  dir: string,
  purpose: KeyPurpose,
  nowMs: number,
  publishedBeforeUseMs: number = PUBLISHED_BEFORE_USE_MS,
): Rotation {
  const next = loadSigningKeys(dir).find((key) => key.purpose === purpose && key.state === 'next');
  if (next === undefined) {
    createKey(dir, purpose, 'next');
    const made = loadSigningKeys(dir).find(
      (key) => key.purpose === purpose && key.state === 'next',
    );
    if (made === undefined) throw rotatedMeanwhile();
    return { step: 'published', thumbprint: made.thumbprint };
  }
  const path = keyPath(dir, purpose, 'next');
  const publishedAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? nowMs;
  if (nowMs - publishedAt < publishedBeforeUseMs) {
    const at = new Date(publishedAt + publishedBeforeUseMs).toISOString();
    throw new SigningKeyProblem(
      'published_too_recently',
      `The next key for ${purpose} may be used from ${at}, when verifiers have had time to see it.`,
    );
  }
  const old = activeKey(loadSigningKeys(dir), purpose);
  keepPublicHalf(join(dir, purpose, 'retired', `${old.thumbprint}.pem`), old.publicKey, nowMs);
  try {
    renameSync(path, keyPath(dir, purpose, 'active'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw rotatedMeanwhile();
    throw error;
  }
  return { step: 'activated', thumbprint: next.thumbprint, retired: old.thumbprint };
}

/**
 * Stops vouching for a retired key: did.json then says so. One that still signs must be rotated out first.
 * @throws SigningKeyProblem `unknown_key` when it is not among the retired ones.
 */
export function revokeSigningKey(
  dir: string,
  purpose: KeyPurpose,
  thumbprint: string,
  nowMs: number,
): void {
  const key = loadSigningKeys(dir).find(
    (candidate) => candidate.purpose === purpose && candidate.thumbprint === thumbprint,
  );
  if (key?.state === 'revoked') return;
  if (key?.state !== 'retired') {
    throw new SigningKeyProblem(
      'unknown_key',
      `${thumbprint} is not a retired key for ${purpose}. A key in use must be rotated out before it is revoked.`,
    );
  }
  keepPublicHalf(join(dir, purpose, 'revoked', `${thumbprint}.pem`), key.publicKey, nowMs);
}

/** A line above the PEM says since when; readers of PEM skip it. The first to write it is right about the time. */
function keepPublicHalf(path: string, publicKey: Uint8Array, nowMs: number): void {
  const pem = publicKeyFromRaw(publicKey).export({ type: 'spki', format: 'pem' });
  writeExclusively(path, `since ${new Date(nowMs).toISOString()}\n${pem}`);
}

function rotatedMeanwhile(): SigningKeyProblem {
  return new SigningKeyProblem(
    'rotated_meanwhile',
    'Somebody else rotated this key at the same moment. Look at the result before going on.',
  );
}
