import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import type { Route } from '#shared/kernel/inference.ts';
import {
  BODY_WORK,
  COUNTED_CHARS,
  LARGE_CHARS,
  type WholeRequest,
} from '#workers/inference/body-work.ts';
import { LargeBodies } from '#workers/inference/large-bodies.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { countUsed } from '#workers/inference/usage.ts';
import {
  answers,
  completion,
  delivery,
  ScriptedProvider,
  workerWith,
} from '#test/unit/workers/inference/doubles.ts';

/** Threads take a while to start: all tests share one. */
const bodies = new LargeBodies();
const opened: LargeBodies[] = [];
afterAll(() => Promise.all([bodies, ...opened].map((one) => one.close())));
afterEach(() => void vi.restoreAllMocks());

const START_MS = 60_000;
const TEXT = 'a word\n'.repeat(LARGE_CHARS / 4);
const tool = (name: string) => ({ type: 'function', name, parameters: { type: 'object' } });
const BODIES: Readonly<Partial<Record<Route, object>>> = {
  'chat.completions': { model: 'm', messages: [{ role: 'developer', content: TEXT }] },
  responses: {
    model: 'm',
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: TEXT },
      { type: 'additional_tools', tools: [tool('of the input')] },
    ],
    tools: [tool('look')],
  },
  messages: {
    model: 'm',
    messages: [{ role: 'user', content: TEXT }],
    stop: ['.'],
    docket_tool_names: [['look_up', 'look up']],
  },
};
const REQUESTS = Object.entries(BODIES).map(([route, body]): [string, WholeRequest] => [
  route,
  { route: route as Route, stream: false, body: JSON.stringify(body) },
]);

describe('what is made of a large body', () => {
  it.each(REQUESTS)(
    'is the same from a thread, and nothing of it is parsed here: %s',
    async (_route, request) => {
      const endpoint = { developerRole: false };
      const expected = BODY_WORK.prepared(request, { endpoint, model: 'up/m' });
      const asked = BODY_WORK.asked(request, endpoint);
      const least = BODY_WORK.promptAtLeast(asked);
      const depends = BODY_WORK.dependsOnEndpoint(asked);
      const count = bodies.counting(
        () => 'o200k_base',
        (one, ...rest) => countUsed(createTokenCounter(), one, ...rest),
      );
      const counted = await countUsed(createTokenCounter(), asked, 'o200k_base', ['Hi']);
      const parsed = vi.spyOn(JSON, 'parse');
      expect(await bodies.prepared(request, { endpoint, model: 'up/m' })).toEqual(expected);
      expect(await bodies.asked(request, endpoint)).toEqual(asked);
      expect(await bodies.promptAtLeast(asked)).toBe(least);
      expect(await bodies.dependsOnEndpoint(asked)).toBe(depends);
      expect(await count('m', asked, ['Hi'])).toEqual(counted);
      expect(parsed).not.toHaveBeenCalled();
    },
    START_MS,
  );

  it.each(REQUESTS)(
    'holds up no other run, also where its upstream states what cannot be: %s',
    async (_route, { route, body }) => {
      const provider = new ScriptedProvider(
        answers(completion({ prompt_tokens: 8, completion_tokens: 4 })),
      );
      const { run, outbox } = workerWith(provider, { bodies });
      const one = delivery({ route }, { body });
      const parsed = vi.spyOn(JSON, 'parse');
      await run(one);
      const longest = Math.max(...parsed.mock.calls.map(([text]) => text.length));
      expect(longest).toBeLessThan(LARGE_CHARS);
      expect(provider.requests[0]!.body.length).toBeGreaterThan(LARGE_CHARS);
      expect(outbox.replies).toMatchObject([{ kind: 'answer' }]);
    },
    START_MS,
  );

  it('is counted there from a sixteenth of that size on, since looking words up takes longer than all else', async () => {
    const countHere = vi.fn<Parameters<LargeBodies['counting']>[1]>();
    const count = bodies.counting(() => 'o200k_base', countHere);
    const content = 'a word\n'.repeat(COUNTED_CHARS / 7);
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] });
    const asked = { route: 'chat.completions', body } as const;
    expect(await count('m', asked, ['Hi'])).toMatchObject({ source: 'counted', outputTokens: 1 });
    expect(countHere).not.toHaveBeenCalled();
    await count('m', { ...asked, body: '{}' }, ['Hi']);
    expect(countHere).toHaveBeenCalledOnce();
  });

  it(
    'is made by another thread where one fails, whose end comes after that',
    async () => {
      const own = new LargeBodies();
      opened.push(own);
      const posted = vi.spyOn(Worker.prototype, 'postMessage');
      const [, request] = REQUESTS[0]!;
      const target = { endpoint: {}, model: 'up/m' };
      const made = own.prepared(request, target);
      const first = posted.mock.contexts[0] as Worker;
      first.emit('error', new Error('out of memory'));
      await Promise.resolve();
      await first.terminate();
      expect(await made).toEqual(BODY_WORK.prepared(request, target));
      expect(new Set(posted.mock.contexts).size).toBe(2);
    },
    START_MS,
  );

  it('is not made where the worker ends', async () => {
    const own = new LargeBodies();
    opened.push(own);
    const [, request] = REQUESTS[0]!;
    const made = own.prepared(request, { endpoint: {}, model: 'up/m' });
    const lost = made.catch((error: unknown) => error);
    await own.close();
    expect(await lost).toMatchObject({ message: 'the thread for large bodies has ended' });
  });
});
