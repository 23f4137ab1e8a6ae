import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Act, afterEvent, begun, type ExchangeEvent } from '#api/inference/exchange/states.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { Reply } from '#shared/lanes/messages.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';
import { entry } from '#test/unit/api/inference/doubles.ts';

const id = 'req_1';
const DELIVERIES = [1, 2, 3];

/** What three deliveries of one request may say: each its frames in order and an end, which are lost, repeated and mixed. */
const reply: fc.Arbitrary<{ reply: Reply; payload: string }> = fc
  .record({
    attempt: fc.constantFrom(...DELIVERIES),
    seq: fc.integer({ min: 1, max: 4 }),
    kind: fc.constantFrom('frames', 'answer', 'last', 'receipt', 'error', 'moved'),
  })
  .map(({ attempt, seq, kind }) => {
    const head = { id, attempt, seq };
    const of = (what: string): string => `${what} of ${attempt}`;
    switch (kind) {
      case 'frames':
        return { reply: { ...head, kind }, payload: `${attempt}.${seq}` };
      case 'receipt':
        return { reply: { id, attempt, kind }, payload: of('receipt') };
      case 'error':
        return {
          reply: { ...head, kind, error: { code: 'worker_lost', message: '' } },
          payload: '',
        };
      case 'moved':
        return { reply: { id, attempt, kind, region: 'eu', entryId: '8-0' }, payload: '' };
      case 'answer':
      case 'last':
        break;
    }
    return { reply: { ...head, kind }, payload: of('answer') };
  });

const event: fc.Arbitrary<ExchangeEvent> = fc.oneof(
  { weight: 12, arbitrary: reply.map((one) => ({ kind: 'reply' as const, ...one })) },
  fc.boolean().map((isEnded) => ({ kind: 'late' as const, isEnded })),
  fc.constantFrom<ExchangeEvent>(
    { kind: 'silent' },
    { kind: 'left' },
    { kind: 'closed' },
    { kind: 'failed', fault: new Fault('dispatch_unavailable') },
  ),
);

/** All that is done about these events; a receipt is late only where it is waited for. */
function actsOf(events: readonly ExchangeEvent[]): Act[] {
  let state = begun(entry({ id }));
  const done: Act[] = [];
  let isAwaited = false;
  for (const one of events) {
    if (one.kind === 'late' && !isAwaited) continue;
    const before = structuredClone({ ...state, entry: undefined });
    const [next, acts] = afterEvent(state, one);
    expect(structuredClone({ ...state, entry: undefined })).toEqual(before);
    isAwaited =
      acts.some((act) => act.do === 'wait for the receipt') || (isAwaited && one.kind !== 'late');
    if (state.is === 'ended') expect(acts).toEqual([]);
    state = next;
    done.push(...acts);
  }
  return done;
}

const isEnd = (act: Act): boolean => act.do === 'answer' || act.do === 'refuse';

it('all that may come of a request, in any order, ends it once at the most, and nothing is sent after that', () => {
  forAll([fc.array(event, { maxLength: 30 })], { numRuns: runs(20_000) }, (events) => {
    const acts = actsOf(events).filter((act) => isEnd(act) || act.do === 'send');
    expect(acts.filter(isEnd).length).toBeLessThanOrEqual(1);
    if (acts.some(isEnd)) expect(isEnd(acts.at(-1)!)).toBe(true);
  });
});

it('a receipt goes out with the answer of its own delivery, and a stream is of one delivery, in order', () => {
  forAll([fc.array(event, { maxLength: 30 })], { numRuns: runs(20_000) }, (events) => {
    const sent: string[] = [];
    for (const act of actsOf(events)) {
      if (act.do === 'send') sent.push(act.frames);
      if (act.do !== 'answer' || act.receipt === null) continue;
      expect(act.receipt.replace('receipt', 'answer')).toBe(act.payload);
    }
    expect(sent).toEqual(sent.toSorted());
    expect(new Set(sent.map((frames) => frames[0])).size).toBeLessThanOrEqual(1);
  });
});

it('the end of a stream that overtakes frames waits for them, and frames that come twice are sent once', () => {
  const told = fc
    .record({ frames: fc.integer({ min: 1, max: 6 }), isWhole: fc.boolean() })
    .chain(({ frames, isWhole }) => {
      const head = { id, attempt: 1 };
      const ahead = fc.integer({ min: 0, max: frames });
      const repeated = fc.array(fc.integer({ min: 1, max: frames }), { maxLength: 4 });
      const end: Reply = isWhole
        ? { ...head, seq: frames + 1, kind: 'last' }
        : { ...head, seq: frames + 1, kind: 'error', error: { code: 'worker_lost', message: '' } };
      return fc.record({ frames: fc.constant(frames), end: fc.constant(end), ahead, repeated });
    });
  forAll([told], { numRuns: runs(1_000) }, ({ frames, end, ahead, repeated }) => {
    const frame = (seq: number): ExchangeEvent => ({
      kind: 'reply',
      reply: { id, attempt: 1, seq, kind: 'frames' },
      payload: `frame ${seq}`,
    });
    const events = Array.from({ length: frames }, (_, i) => [
      frame(i + 1),
      ...repeated.filter((seq) => seq <= i + 1).map(frame),
    ]);
    events.splice(ahead, 0, [{ kind: 'reply', reply: end, payload: 'last of 1' }]);
    const receipt: ExchangeEvent = {
      kind: 'reply',
      reply: { id, attempt: 1, kind: 'receipt' },
      payload: 'receipt of 1',
    };
    const acts = actsOf([...events.flat(), receipt]);
    const sent = acts.flatMap((act) => (act.do === 'send' ? [act.frames] : []));
    expect(sent).toEqual(Array.from({ length: frames }, (_, i) => `frame ${i + 1}`));
    expect(acts.at(-1)?.do).toBe(end.kind === 'last' ? 'answer' : 'refuse');
  });
});

it('an end that waits for frames is not lost to the word that its outcome may not be written', () => {
  const head = { id, attempt: 1 };
  const says = (said: Reply, payload = ''): ExchangeEvent => ({
    kind: 'reply',
    reply: said,
    payload,
  });
  const error = { code: 'worker_lost', message: '' } as const;
  const acts = actsOf([
    says({ ...head, seq: 2, kind: 'last' }, 'last of 1'),
    says({ ...head, seq: 3, kind: 'error', error }),
    says({ ...head, seq: 1, kind: 'frames' }, 'frame 1'),
    says({ ...head, kind: 'receipt' }, 'receipt of 1'),
  ]);
  expect(acts.map((act) => act.do)).toEqual(['send', 'wait for the receipt', 'answer']);
});

it('a stream of which frames are missing ends there, and its upstream is stopped', () => {
  const frame = (seq: number): ExchangeEvent => ({
    kind: 'reply',
    reply: { id, attempt: 1, seq, kind: 'frames' },
    payload: `frame ${seq}`,
  });
  const acts = actsOf([frame(1), frame(3), frame(2)]);
  expect(acts.map((act) => act.do)).toEqual(['send', 'cancel', 'refuse']);
});

it('what a client has taken is said for the newest question alone', () => {
  const ask = (seq: number): ExchangeEvent => ({
    kind: 'reply',
    reply: { id, attempt: 1, seq, kind: 'frames', acknowledge: { to: 'w', chars: seq } },
    payload: '',
  });
  const frame = (seq: number): ExchangeEvent => ({
    kind: 'reply',
    reply: { id, attempt: 1, seq, kind: 'frames' },
    payload: `frame ${seq}`,
  });
  const acts = actsOf([frame(1), ask(1), frame(2), ask(1), frame(3)]);
  const sent = acts.flatMap((act) => (act.do === 'send' ? [act.frames] : []));
  expect(sent).toEqual(['frame 1', '', 'frame 2', 'frame 3']);
});
