import { createPrivateKey, sign } from 'node:crypto';
import type { CheckpointSigner } from '../../ports/ledger.ts';
import { activeKey, loadSigningKeys, signingKeysVersion } from './key-files.ts';

/**
 * Signs tree heads with the `checkpoints` key in `dir`. Files are looked at again for each signer that
 * is asked for, so a rotation takes effect without a restart.
 * @throws SigningKeyProblem
 */
export function createCheckpointSigners(dir: string): () => CheckpointSigner {
  let version = '';
  let signer: CheckpointSigner;
  return () => {
    const current = signingKeysVersion(dir);
    if (current !== version) {
      signer = loadSigner(dir);
      version = current;
    }
    return signer;
  };
}

function loadSigner(dir: string): CheckpointSigner {
  const { privateKeyPem, publicKey } = activeKey(loadSigningKeys(dir), 'checkpoints');
  const privateKey = createPrivateKey(privateKeyPem);
  return { publicKey, sign: (bytes) => sign(null, bytes, privateKey) };
}
