/** Where WebCrypto checks signatures, which answers later, nothing that rests on a signature which does not hold is believed. */
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { signatureHolds, withSignatures } from '#shared/kernel/primitives/signature-checks.ts';

afterEach(() => vi.restoreAllMocks());

/** Has WebCrypto refuse signatures of this first byte; returns what waits until it has refused one. */
function refuseSignaturesOf(byte: number): () => Promise<unknown> {
  const refused = Promise.withResolvers<void>();
  vi.spyOn(crypto.subtle, 'importKey').mockResolvedValue({} as CryptoKey);
  vi.spyOn(crypto.subtle, 'verify').mockImplementation(async (_algorithm, _key, signature) => {
    const holds = (signature as Uint8Array)[0] !== byte;
    if (!holds) refused.resolve();
    return holds;
  });
  return () => refused.promise.then(() => turn());
}

const holds = (byte: number): boolean =>
  signatureHolds(new Uint8Array(32), new Uint8Array(1), new Uint8Array(64).fill(byte));

it('a signature that is refused while the judging waits for something else is known in the end', async () => {
  const refusal = refuseSignaturesOf(1);
  const judge = async (): Promise<boolean> => {
    const isGood = holds(1);
    // A record that is fetched, say.
    if (isGood) await refusal();
    return isGood;
  };
  expect(await withSignatures(judge)).toBe(false);
});

it('of two that are judged at once, neither takes the other’s refusal away', async () => {
  refuseSignaturesOf(2);
  const judged = [3, 2, 4].map((byte) => withSignatures(async () => holds(byte)));
  expect(await Promise.all(judged)).toEqual([true, false, true]);
});
