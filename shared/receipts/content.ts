import { decodeBytes, sha256Text } from '#primitives';
import { multihashOf } from '#shared/kernel/multihash.ts';
import type { ReceiptDocument } from './document.ts';
import { type Spelled, spellingsOf } from './spellings.ts';

const encoder = new TextEncoder();

/**
 * How a content is written whose digest a receipt states; undefined when it is another in every spelling that is tried.
 * @param pieces a request or an answer, or the payloads of a stream in their order
 */
export function spellingThatFits(
  pieces: readonly string[],
  digest: string,
  { salt = 'u' }: Pick<ReceiptDocument['credentialSubject'], 'salt'>,
): Spelled | undefined {
  const salted = decodeBytes(salt.slice(1), 'base64url');
  const fits = (spelled: Spelled): boolean => {
    const content = encoder.encode(spelled.pieces.join(''));
    const together = new Uint8Array(salted.length + content.length);
    together.set(salted);
    together.set(content, salted.length);
    return multihashOf(sha256Text(together, 'base64url')) === digest;
  };
  for (const spelled of spellingsOf(pieces)) if (fits(spelled)) return spelled;
  return undefined;
}
