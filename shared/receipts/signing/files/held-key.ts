import type { Sign } from '../signer.ts';
import type { SigningAgent } from '../sockets/signing-agent.ts';
import { type SigningKey } from './key-files.ts';
import { SigningKeyProblem } from '../problem.ts';

/**
 * A key whose public half alone is in the directory, with the agent that signs by it.
 * @throws SigningKeyProblem `public_only` where there is no agent
 */
export function heldKey(
  { purpose, publicKey }: SigningKey,
  agent: SigningAgent | undefined,
): { publicKey: Uint8Array; sign: Sign } {
  if (agent !== undefined) return { publicKey, sign: (data) => agent.sign(publicKey, data) };
  throw new SigningKeyProblem(
    'public_only',
    `The private key for ${purpose} is needed to sign, and only its public half is here. Set SIGNING_AGENT where an SSH agent holds it.`,
  );
}
