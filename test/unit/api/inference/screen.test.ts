import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ReaderHere } from '#api/inference/body-reader.ts';
import { screened } from '#api/inference/screen.ts';
import type { InferenceDeps } from '#api/inference/handle.ts';
import { routed } from '#api/inference/route.ts';
import { FairQueue } from '#api/plugins/fair-queue.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { ReceiptEntry } from '#shared/lanes/messages.ts';
import type { Moderation } from '#shared/screening/http/moderation.ts';
import type { Screen, Verdict } from '#shared/screening/screen.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import {
  arrived,
  CREDENTIAL,
  NOW,
  openEdge,
  RECEIPT_ID,
  recorded,
  refused,
  REQUEST_ID,
} from './doubles.ts';

const VERDICT: Verdict = {
  rule: 'rule-7',
  code: 'dual_use_screen_block',
};
const CHAT = { messages: [{ role: 'user', content: 'a forbidden question' }] };

const screenThatSays = (verdict: Verdict | null): Screen =>
  ({ check: () => verdict, policyVersion: '2026-05-01' }) as unknown as Screen;
const moderatorThatSays = (moderation: Moderation) => ({
  judge: vi.fn<(texts: readonly string[]) => Promise<Moderation>>(() =>
    Promise.resolve(moderation),
  ),
});

interface Brought {
  route?: Route;
  body?: Record<string, unknown>;
}

/** Admission, as far as refusals go there. */
const recording = (record: InferenceDeps['admissions']['record']): InferenceDeps['admissions'] => ({
  admit: () => Promise.reject(new Error('not to be admitted')),
  recall: () => Promise.resolve(null),
  record,
  takeArrival: () => Promise.resolve(arrived()),
});

function requestOf(body: Record<string, unknown>, route: Brought['route'] = 'chat.completions') {
  const rawBody = Buffer.from(JSON.stringify({ model: 'both', ...body }));
  return { id: REQUEST_ID, route, rawBody, headers: {}, credential: CREDENTIAL, now: NOW };
}

/** A request before screening, and what came of it. */
function bring(
  over: Partial<InferenceDeps>,
  { route = 'chat.completions', body = CHAT }: Brought = {},
) {
  const handed: [number, ReceiptEntry][] = [];
  const { deps, happened } = openEdge({
    admissions: recording(async ({ entry }, outcome) => {
      handed.push([entry.shard, outcome]);
      return recorded();
    }),
    ...over,
  });
  const reader = new ReaderHere(deps);
  const unrouted = reader.read(requestOf(body, route));
  const asked = routed(deps, unrouted, CREDENTIAL);
  const { model } = asked.resolution;
  const verdict = (async () => screened(deps, asked, await reader.readPrompt(model), CREDENTIAL))();
  return { verdict, handed, happened, asked };
}

beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

it('a file that its server may decode otherwise than screening does goes nowhere [operations.screening]', () => {
  const { deps } = openEdge({ admissions: recording(async () => recorded()) });
  const reader = new ReaderHere(deps);
  const file = { type: 'file', file: { file_data: 'data:text/plain;base64,aG93-IHRv' } };
  reader.read(requestOf({ messages: [{ role: 'user', content: [file] }] }));
  expect(() => reader.readPrompt({ id: 'both', contextWindow: 1_000 })).toThrow(
    expect.objectContaining({ code: 'invalid_messages', status: 400 }) as Error,
  );
});

describe('a request that the policy forbids', () => {
  it('a request that the policy forbids is told whom to write to, and neither the rule nor its text', async () => {
    const { verdict } = bring({ screen: screenThatSays(VERDICT) });
    const fault = await verdict.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(fault).toMatchObject({
      code: 'dual_use_screen_block',
      headers: { 'x-receipt-id': RECEIPT_ID },
      message: expect.stringMatching(new RegExp(`support@example\\.com.*${REQUEST_ID}`)) as unknown,
    });
    expect(String(fault)).not.toMatch(/rule-7|forbidden/);
  });

  it('a request that the policy forbids gets a refused receipt with policy, rule and salted digest, and not a word of its text', async () => {
    const { verdict, handed, asked } = bring({ screen: screenThatSays(VERDICT) });
    await expect(verdict).rejects.toThrow();
    expect(handed).toEqual([
      [
        0,
        expect.objectContaining({
          inbox: 'api-1',
          receipt: 'best_effort',
          record: expect.objectContaining({
            requestId: REQUEST_ID,
            outcome: 'refused',
            policy: { version: '2026-05-01', rule: 'rule-7' },
            requestDigest: asked.entry.requestDigest,
            attempts: 0,
          }) as unknown,
        }),
      ],
    ]);
    expect(JSON.stringify(handed)).not.toContain('forbidden');
  });

  it.each([
    ['rate', 'requests_per_second_exceeded'],
    ['backlog', 'dispatch_unavailable'],
  ] as const)(
    'a request that the policy forbids is told of its limit, and not of the policy, beyond the %s',
    async (verdict, code) => {
      const { verdict: told } = bring({
        screen: screenThatSays(VERDICT),
        admissions: recording(() => Promise.resolve(refused(verdict))),
      });
      await expect(told).rejects.toMatchObject({ code, retryAfterMs: 1_500 });
    },
  );

  it('a request that the policy forbids is refused also when that cannot be recorded, and then names no receipt', async () => {
    const { verdict, happened } = bring({
      screen: screenThatSays(VERDICT),
      admissions: recording(() => Promise.reject(new Error('Redis is away'))),
    });
    await expect(verdict).rejects.toMatchObject({ code: 'dual_use_screen_block', headers: {} });
    expect(happened).toEqual(['storeFailed']);
  });
});

describe('what stands beside the prompt', () => {
  /** Forbids one word, wherever it stands. */
  const screen = {
    check: (texts: Iterable<string>) => ([...texts].includes('forbidden') ? VERDICT : null),
  } as unknown as Screen;
  const tool = (parameters: object) => ({
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
  });

  it.each<[string, object]>([
    ['the schema of a tool', tool({ properties: { a: { description: 'forbidden' } } })],
    ['the name of a member of that schema', tool({ properties: { forbidden: {} } })],
    ['the name of a message', { messages: [{ ...CHAT.messages[0], name: 'forbidden' }] }],
    [
      'the schema of the answer',
      {
        response_format: { type: 'json_schema', json_schema: { schema: { enum: ['forbidden'] } } },
      },
    ],
    ['a field that passes through', { documents: [{ text: 'forbidden' }] }],
  ])('is read by the same rules: %s', async (_what, more) => {
    await expect(bring({ screen }, { body: { ...CHAT, ...more } }).verdict).rejects.toMatchObject({
      code: 'dual_use_screen_block',
    });
    await expect(bring({ screen }).verdict).resolves.toMatchObject({ isPaid: false });
  });

  it('is refused when it is too much to read, and says which field it is', async () => {
    const documents = Array.from({ length: 65_537 }, () => 'a');
    await expect(bring({ screen }, { body: { ...CHAT, documents } }).verdict).rejects.toMatchObject(
      { code: 'invalid_documents', param: 'documents' },
    );
  });
});

describe('the second stage of screening', () => {
  it('the second stage is asked only about what the rules let through', async () => {
    const moderator = moderatorThatSays({ outcome: 'passed' });
    await expect(
      bring({ screen: screenThatSays(VERDICT), moderator }).verdict,
    ).rejects.toMatchObject({ code: 'dual_use_screen_block' });
    expect(moderator.judge).not.toHaveBeenCalled();
    await bring({ moderator }).verdict;
    expect(moderator.judge).toHaveBeenCalledWith(['a forbidden question']);
  });

  it('what the second stage flags is refused, with a receipt', async () => {
    const moderator = moderatorThatSays({
      outcome: 'flagged',
      verdict: { ...VERDICT, code: 'acceptable_use_violation' },
    });
    const { verdict, handed } = bring({ moderator });
    await expect(verdict).rejects.toMatchObject({ code: 'acceptable_use_violation' });
    expect(handed).toHaveLength(1);
  });

  it('requests pass, which is noted, or fail while the second stage cannot be asked, as was declared', async () => {
    const open = bring({ moderator: moderatorThatSays({ outcome: 'skipped' }) });
    await open.verdict;
    expect(open.happened).toEqual(['unjudged']);
    const closed = bring({ moderator: moderatorThatSays({ outcome: 'unavailable' }) });
    await expect(closed.verdict).rejects.toMatchObject({
      code: 'internal_error',
      retryAfterMs: 1_000,
    });
    expect(closed.handed).toEqual([]);
  });
});

describe('what is asked before the second stage', () => {
  const passing = () => moderatorThatSays({ outcome: 'passed' });

  it.each([
    ['rate', 'requests_per_second_exceeded'],
    ['day', 'daily_budget_exceeded'],
    ['streams', 'concurrent_streams_exceeded'],
    ['saturated', 'region_saturated'],
    ['backlog', 'dispatch_unavailable'],
  ] as const)(
    'a request beyond the limit %s is refused before a classifier is asked to judge it [limits.before-moderation]',
    async (limit, code) => {
      const moderator = passing();
      const takeArrival = () => Promise.resolve(refused(limit));
      const record = () => Promise.reject(new Error('not to be recorded'));
      const { verdict } = bring({ moderator, admissions: { ...recording(record), takeArrival } });
      await expect(verdict).rejects.toMatchObject({ code, retryAfterMs: 1_500 });
      expect(moderator.judge).not.toHaveBeenCalled();
    },
  );

  it('an arrival that was taken before judging is not taken again, neither for what passes nor for what is refused', async () => {
    const passed = bring({ moderator: passing() });
    expect(await passed.verdict).toMatchObject({ isPaid: true });
    expect(passed.asked.isPaid).toBe(false);
    const record = vi.fn<InferenceDeps['admissions']['record']>(() => Promise.resolve(recorded()));
    const moderator = moderatorThatSays({ outcome: 'flagged', verdict: VERDICT });
    await expect(bring({ moderator, admissions: recording(record) }).verdict).rejects.toThrow();
    expect(record.mock.calls[0]![0]).toMatchObject({ isPaid: true });
  });

  it('without a second stage nothing is asked of Redis before admission', async () => {
    const takeArrival = () => Promise.reject(new Error('not to be asked'));
    const record = () => Promise.resolve(recorded());
    const one = bring({ admissions: { ...recording(record), takeArrival } });
    expect(await one.verdict).toBe(one.asked);
  });

  it('an organisation has a bounded number of requests judged at once, and the next when one of them has been', async () => {
    const answers: ((moderation: Moderation) => void)[] = [];
    const moderator = { judge: () => new Promise<Moderation>((resolve) => answers.push(resolve)) };
    const judging = new FairQueue(3, 2);
    const all = Array.from({ length: 3 }, () => bring({ moderator, judging }).verdict);
    await vi.waitFor(() => expect(answers).toHaveLength(2));
    await turn();
    expect(answers).toHaveLength(2);
    answers[0]!({ outcome: 'passed' });
    await vi.waitFor(() => expect(answers).toHaveLength(3));
    for (const answer of answers) answer({ outcome: 'passed' });
    await Promise.all(all);
  });
});

describe('a body', () => {
  const long = { messages: [{ role: 'user', content: 'x'.repeat(33 * 1024) }] };

  it('a body above 32 KiB is screened in turns, so that other requests have theirs', async () => {
    let turns = 0;
    const inTurns = {
      *checkInTurns() {
        for (; turns < 3; turns += 1) yield;
        return VERDICT;
      },
    } as unknown as Screen;
    await expect(bring({ screen: inTurns }, { body: long }).verdict).rejects.toMatchObject({
      code: 'dual_use_screen_block',
    });
    expect(turns).toBe(3);
  });

  it('a body with more bytes than the context window has tokens is counted, and refused when it does not fit', async () => {
    const promptFits = vi.fn<() => boolean>(() => false);
    const tokens = { decoder: () => undefined, promptFits } as unknown as InferenceDeps['tokens'];
    await bring({ tokens }).verdict;
    expect(promptFits).not.toHaveBeenCalled();
    const body = { messages: [{ role: 'user', content: 'x'.repeat(4_096) }] };
    await expect(bring({ tokens }, { body }).verdict).rejects.toMatchObject({
      code: 'prompt_too_long',
      param: 'messages',
    });
  });

  it('token ids that cannot be read as text are refused: they would be a way around every rule', async () => {
    await expect(
      bring({}, { route: 'completions', body: { prompt: [1, 2, 3] } }).verdict,
    ).rejects.toMatchObject({ code: 'invalid_prompt', param: 'prompt' });
  });

  it.each([
    ['more than the model can hold', Array.from({ length: 5_000 }, () => 1), 'prompt_too_long'],
    ['a prompt among others', [[1], Array.from({ length: 5_000 }, () => 1)], 'prompt_too_long'],
  ])(
    'token ids that are %s are refused before one of them is decoded [codes.prompt_too_long]',
    async (_what, prompt, code) => {
      const decode = vi.fn<() => string>(() => '');
      const tokens = { decoder: () => decode } as unknown as InferenceDeps['tokens'];
      await expect(
        bring({ tokens }, { route: 'completions', body: { prompt } }).verdict,
      ).rejects.toMatchObject({ code, param: 'prompt' });
      expect(decode).not.toHaveBeenCalled();
    },
  );

  it('token ids that stand for runs of 128 spaces are refused, and not decoded to their end', async () => {
    const tokens = createTokenCounter();
    const { count, spaces } = { count: 1_000, spaces: 72_056 };
    expect(tokens.decoder('o200k_base')!([spaces]).trim()).toBe('');
    const prompt = Array.from({ length: count }, () => spaces);
    const decoder = () => tokens.decoder('o200k_base');
    await expect(
      bring({ tokens: { ...tokens, decoder } }, { route: 'completions', body: { prompt } }).verdict,
    ).rejects.toMatchObject({ code: 'invalid_prompt', param: 'prompt' });
    expect(tokens.decoder('o200k_base')!(prompt, 1_000).length).toBeLessThan(1_200);
  });
});
