import { randomBytes } from 'node:crypto';
import { post, publicName } from './http.ts';

const NONCE_BYTES = 16;

export type TimestampAuthority = ReturnType<typeof createTimestampAuthority>;

/** An RFC 3161 authority over HTTP (3.4). Every answer is checked before it counts. */
export function createTimestampAuthority(url: string) {
  return {
    /** Its address, without credentials. */
    name: publicName(url),
    /**
     * Has the authority sign a text. `time` in epoch milliseconds by its clock, `response` the DER of its TimeStampResp.
     * @throws Error for people when it cannot be reached or its answer does not fit
     */
    async stamp(text: string): Promise<{ time: number; response: Uint8Array }> {
      // Most ledgers have no authority, and start without what reads its answers.
      const { encodeTimestampRequest, readTimestamp } = await import('./timestamp-tokens.ts');
      const data = new TextEncoder().encode(text);
      const nonce = randomBytes(NONCE_BYTES);
      // The first bit of a positive integer is not set, and its first byte is not zero.
      nonce[0] = (nonce[0]! & 0x7f) | 0x40;
      const request = encodeTimestampRequest(data, nonce);
      const answer = await post(url, 'application/timestamp-query', request);
      if (answer.status !== 200) throw new Error(`the authority answered ${answer.status}`);
      const time = await readTimestamp(answer.body, data, nonce);
      return { time, response: answer.body };
    },
  };
}
