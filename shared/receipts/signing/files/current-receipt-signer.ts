import type { ReceiptSigner } from '../signer.ts';
import { currentKeys } from './current-keys.ts';
import { activeKey } from './key-files.ts';
import { createReceiptSigner } from '../signer.ts';

/**
 * The signer of receipts whose key in `dir` is active, made anew when keys are rotated.
 * @param did the issuer, `did:web:…`
 * @throws SigningKeyProblem as `currentKeys` does
 */
export function currentReceiptSigner(
  dir: string,
  did: string,
  onError: (error: unknown) => void,
): () => ReceiptSigner {
  return currentKeys(
    dir,
    (keys) =>
      createReceiptSigner({ privateKeyPem: activeKey(keys, 'receipts').privateKeyPem, did }),
    onError,
  );
}
