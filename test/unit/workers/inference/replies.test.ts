import { expect, it } from 'vitest';
import { Replies } from '#workers/inference/replies.ts';
import { RecordedOutbox } from '#test/support/outbox.ts';
import { testSeals } from '#test/support/seals.ts';
import { delivery } from './doubles.ts';

/** Replies whose question to Redis, whether the api process lives, is answered when the test says so. */
function repliesWith() {
  const outbox = new RecordedOutbox();
  const alive = Promise.withResolvers<number>();
  const client = { exists: () => alive.promise, set: () => Promise.resolve('OK' as const) };
  const one = delivery({ stream: true });
  const replies = new Replies({ outbox, client, seals: testSeals() }, one.entry, one);
  const say = (text: string): void =>
    replies.frames(
      text,
      () => ({ payloads: 1, tokens: 1, digest: 'd', calls: 1, queuedMs: 0 }),
      1_000,
    );
  /** What the api process takes of what it is told: what comes next, and questions behind all that was sent before them. */
  const taken = (): string[] => {
    let seq = 0;
    return outbox.replies.flatMap((reply) => {
      if (!('seq' in reply)) return [];
      if ('acknowledge' in reply) return reply.seq === seq ? ['ask'] : [];
      if (reply.seq !== seq + 1) return [];
      seq = reply.seq;
      return [reply.payload];
    });
  };
  return { outbox, alive, one, replies, say, taken };
}

it('a question that waited while frames were sent costs the client none of them', async () => {
  const { alive, replies, say, taken } = repliesWith();
  const asked = replies.ask(9);
  say('first ');
  say('second ');
  alive.resolve(1);
  expect(await asked).toBe(true);
  expect(taken().join('')).toBe('first second ');
});

it('a question that waited while the stream ended does not cost the client its end', async () => {
  const { outbox, alive, one, replies, say, taken } = repliesWith();
  say('first');
  await outbox.flushed();
  const asked = replies.ask(5);
  replies.last(outbox.asHolder(one), 'last');
  alive.resolve(1);
  await asked;
  expect(taken()).toEqual(['first', 'ask', 'last']);
});

it('a question that is sent in the turn of a note comes behind the frames that go with the note', async () => {
  const { alive, replies, say, taken } = repliesWith();
  alive.resolve(1);
  say('first');
  await replies.ask(5);
  expect(taken()).toEqual(['first', 'ask']);
});
