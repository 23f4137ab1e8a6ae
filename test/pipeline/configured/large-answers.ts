import type { ServerResponse } from 'node:http';
import { expect, it } from 'vitest';
import { post } from '#test/support/calls.ts';
import { isDeep } from '#test/support/depth.ts';
import { connectTo } from '#test/support/lanes.ts';
import { NotingUpstream } from '#test/support/noting-upstream.ts';
import type { System } from '#test/support/system.ts';
import { MODELS } from './catalogue.ts';

const MIB = 1_048_576;
const ANSWER_BYTES = 16 * MIB;
/** Half as much again as a worker has in hand of large answers; in deep runs twice that. */
const AT_ONCE = isDeep ? 16 : 12;
const IN_HAND = 128 * MIB;

const MODEL = MODELS.large;
const VECTOR = `"${'A'.repeat(ANSWER_BYTES)}"`;
const ANSWER = Buffer.from(
  `{"object":"list","data":[{"object":"embedding","index":0,"embedding":${VECTOR}}],"model":"${MODEL}","usage":{"prompt_tokens":1,"total_tokens":1}}`,
);

/** Answers when all have asked. */
export class LargeUpstream extends NotingUpstream {
  readonly #waiting: ServerResponse[] = [];

  protected override answerTo(_body: object, response: ServerResponse): void {
    if (this.#waiting.push(response) < AT_ONCE) return;
    for (const one of this.#waiting)
      one.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
  }
}

/** What a worker has in hand of answers. */
export function largeAnswers(system: () => System): void {
  async function gauge(name: string): Promise<number> {
    const { metricsPort } = system().processes('inference')[0]!;
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    return Number(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'm').exec(text)?.[1]);
  }

  it(
    'many large answers at once all arrive, while their worker has no more of them in hand than it may [limits.answers]',
    { timeout: 120_000 },
    async () => {
      const ask = async (): Promise<number> => {
        const answer = await post(system(), '/embeddings', {
          model: MODEL,
          input: 'a',
          encoding_format: 'base64',
        });
        expect(answer.status).toBe(200);
        const text = await answer.text();
        expect(text.startsWith(ANSWER.subarray(0, 64).toString())).toBe(true);
        expect(text.slice(ANSWER.length - 1, ANSWER.length + 10)).toBe(',"receipt":');
        return text.length;
      };
      await Promise.all(Array.from({ length: AT_ONCE }, ask));
      const most = await gauge('docket_answer_bytes_most');
      expect(most).toBeGreaterThan(ANSWER_BYTES);
      // The answer that came first may go on, and each other has been read by a piece more than it should.
      expect(most).toBeLessThan(IN_HAND + ANSWER_BYTES + AT_ONCE * MIB);
      expect(await gauge('docket_answer_bytes')).toBe(0);
      const client = connectTo(system().redis.url);
      expect(await client.keys('reply:*')).toEqual([]);
      client.disconnect();
    },
  );
}
