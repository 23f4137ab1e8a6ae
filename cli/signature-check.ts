import { loadToolConfig } from '#shared/config/config.ts';
import type { KeyPurpose } from '#shared/ledger/key-events.ts';
import type { SignatureCheck } from '#shared/ledger/notes.ts';
import { loadSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { SigningKeyProblem } from '#shared/receipts/signing/problem.ts';
import { verifyEd25519 } from '#shared/receipts/signing/key-objects.ts';

/** The deployment's own keys of one purpose, retired ones included; null where this machine has none. */
export function signatureCheck(purpose: KeyPurpose): SignatureCheck | null {
  try {
    const keys = loadSigningKeys(loadToolConfig().signingKeysDir);
    return {
      publicKeys: keys.filter((key) => key.purpose === purpose).map((key) => key.publicKey),
      verify: verifyEd25519,
    };
  } catch (error) {
    if (error instanceof SigningKeyProblem) return null;
    throw error;
  }
}
