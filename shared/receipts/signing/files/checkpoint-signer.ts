import { createPrivateKey, sign } from 'node:crypto';
import type { KeyPurpose, KnownKey } from '#shared/ledger/key-events.ts';
import type { CheckpointSigner } from '#shared/ledger/checkpoints.ts';
import type { SigningAgent } from '../sockets/signing-agent.ts';
import { heldKey } from './held-key.ts';
import { activeKey, type SigningKey } from './key-files.ts';
import { keyId } from '../publication.ts';

/**
 * Signs tree heads: with the `checkpoints` key those of organisations, with the `anchor` key those of
 * the anchor log.
 * @throws SigningKeyProblem `public_only`
 */
export function createCheckpointSigner(
  keys: readonly SigningKey[],
  purpose: Extract<KeyPurpose, 'checkpoints' | 'anchor'>,
  agent?: SigningAgent,
): CheckpointSigner {
  const key = activeKey(keys, purpose);
  if (key.privateKeyPem === undefined) return heldKey(key, agent);
  const privateKey = createPrivateKey(key.privateKeyPem);
  return { publicKey: key.publicKey, sign: (bytes) => sign(null, bytes, privateKey) };
}

/** The keys as the anchor log is told of them. */
export function knownKeys(keys: readonly SigningKey[], did: string): KnownKey[] {
  return keys.map(({ purpose, state, publicKey, thumbprint, since }) => ({
    key: keyId(did, { thumbprint }),
    purpose,
    publicKey,
    state,
    since: since === undefined ? null : Date.parse(since),
  }));
}
