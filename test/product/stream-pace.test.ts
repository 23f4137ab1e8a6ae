import { beforeAll, describe, expect, it } from 'vitest';
import { chatBody, payloadsIn, post } from '#test/support/calls.ts';
import { joinProduct } from '#test/support/product.ts';
import type { Product } from '#test/support/system.ts';

let system: Product;

beforeAll(async () => {
  system = await joinProduct();
});

/** When each read of a response came, in milliseconds, and what it was. */
async function reads(response: Response): Promise<{ at: number; text: string }[]> {
  const seen: { at: number; text: string }[] = [];
  const decoder = new TextDecoder();
  for await (const chunk of response.body!) {
    seen.push({ at: performance.now(), text: decoder.decode(chunk as Uint8Array) });
  }
  return seen;
}

describe('a paced upstream', () => {
  it(
    'a paced stream keeps its pace through the gateway, uncompressed, frame by frame',
    { tags: ['clients.unbuffered'] },
    async () => {
      const gapMs = 50;
      const tokens = 20;
      const response = await post(
        system,
        '/chat/completions',
        chatBody({ stream: true, max_tokens: tokens, sandbox_fault: `pace=${1_000 / gapMs}` }),
        { headers: { 'accept-encoding': 'gzip, br, zstd' } },
      );
      expect(response.headers.get('content-encoding')).toBeNull();
      expect(response.headers.get('cache-control')).toBe('no-cache');
      expect(response.headers.get('x-accel-buffering')).toBe('no');
      const seen = await reads(response);
      const frames = payloadsIn(seen.map(({ text }) => text).join('')).length;
      // Buffered, it would be a handful of reads; a busy machine may put a few neighbours together.
      expect(seen.length).toBeGreaterThan(frames * 0.7);
      const gaps = seen.slice(1).map(({ at }, i) => at - seen[i]!.at);
      const total = seen.at(-1)!.at - seen[0]!.at;
      expect(total).toBeGreaterThan((tokens - 2) * gapMs * 0.8);
      expect(total).toBeLessThan(tokens * gapMs + 1_500);
      const median = gaps.toSorted((a, b) => a - b)[Math.floor(gaps.length / 2)]!;
      expect(median).toBeGreaterThan(gapMs * 0.6);
      expect(median).toBeLessThan(gapMs * 1.6);
    },
  );
});
