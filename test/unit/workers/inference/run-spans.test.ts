import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Span } from '#shared/process/traces/traces.ts';
import { CALLER, noting } from '#test/support/noted-spans.ts';
import { inferenceEvents } from '#workers/inference/events.ts';
import {
  answers,
  chunk,
  completion,
  delivery,
  fails,
  ScriptedProvider,
  streams,
  UNAVAILABLE,
  workerWith,
} from './doubles.ts';

/** Runs one entry with an upstream that behaves like this. */
async function traced(provider: ScriptedProvider, entry: Partial<InferenceEntry> = {}) {
  const { traces, spans } = noting();
  const events = inferenceEvents(pino({ level: 'silent' }), new Registry(), traces);
  const { run, handed, outbox } = workerWith(provider, { events, isTraced: true });
  const one = delivery({ traceparent: CALLER, ...entry }, { entryId: '1700000000000-0' });
  await run(one);
  const of = (name: string) => spans.filter((span) => span.name === name);
  return { spans, of, handed, outbox, entry: one.entry, requests: provider.requests };
}

describe('the spans of a run', () => {
  it('a request that is answered after a failure has its time in the lane, its run, and a span for each call, whose context is what the upstream is told', async () => {
    const usage = { prompt_tokens: 9, completion_tokens: 2 };
    const provider = new ScriptedProvider(fails(UNAVAILABLE), answers(completion(usage)));
    const { spans, of, handed, entry, requests } = await traced(provider);
    expect(spans.every(({ isEnded }) => isEnded)).toBe(true);
    const [lane, run] = [of('inference lane')[0]!, of('chat m')[0]!];
    expect(lane).toMatchObject({ kind: 'consumer', parent: CALLER, startedAt: 1_700_000_000_000 });
    expect(run).toMatchObject({ parent: CALLER, errorType: undefined });
    expect(run.attributes).toMatchObject({
      'docket.request_id': entry.id,
      'docket.org_id': entry.orgId,
      'docket.key_id': entry.keyId,
      'docket.region': 'eu-west',
      'docket.outcome': 'complete',
      'docket.calls': 2,
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai-compatible',
      'gen_ai.request.model': 'm',
      'gen_ai.response.model': 'up/m',
      'gen_ai.usage.input_tokens': 9,
      'gen_ai.usage.output_tokens': 2,
      'server.address': expect.any(String) as string,
    });
    const calls = spans.filter(({ name }) => name.startsWith('upstream'));
    expect(calls.map(({ kind, errorType }) => [kind, errorType])).toEqual([
      ['client', 'unavailable'],
      ['client', undefined],
    ]);
    expect(calls.map(({ parent }) => (parent as Span).traceparent)).toEqual([
      run.traceparent,
      run.traceparent,
    ]);
    expect(calls.map(({ attributes }) => attributes!['http.request.resend_count'])).toEqual([
      undefined,
      1,
    ]);
    expect(requests.map(({ traceparent }) => traceparent)).toEqual(
      calls.map(({ traceparent }) => traceparent),
    );
    expect(handed()[0]!.traceparent).toBe(run.traceparent);
  });

  it('a stream has a call that ends with it, and one that breaks off says so on its call and on its run', async () => {
    const whole = await traced(new ScriptedProvider(streams(chunk('a'), chunk('b', 'stop'))), {
      stream: true,
    });
    expect(whole.of('chat m')[0]).toMatchObject({ isEnded: true, errorType: undefined });
    expect(whole.of('upstream first')[0]).toMatchObject({ isEnded: true, errorType: undefined });
    const cut = new ScriptedProvider((sink) => {
      sink.onPayload(chunk('a'));
      sink.onFailure({ kind: 'connection', detail: 'reset' });
    });
    const broken = await traced(cut, { stream: true });
    expect(broken.of('chat m')[0]).toMatchObject({ isEnded: true, errorType: 'truncated' });
    expect(broken.of('upstream first')[0]).toMatchObject({
      isEnded: true,
      errorType: 'connection',
    });
  });

  it('a request that no upstream answers has a run with the code that its caller gets', async () => {
    const { of } = await traced(
      new ScriptedProvider(fails({ kind: 'rejected', detail: 'no', status: 400 })),
    );
    expect(of('chat m')[0]!.errorType).toMatch(/^[a-z_]+$/);
    expect(of('upstream first')[0]).toMatchObject({ errorType: 'rejected' });
    expect(of('upstream first')[0]!.attributes).toMatchObject({ 'http.response.status_code': 400 });
  });

  it('a request that goes to another region takes its trace there, within the run that failed it', async () => {
    const { traces, spans } = noting();
    const events = inferenceEvents(pino({ level: 'silent' }), new Registry(), traces);
    const handedOn: InferenceEntry[] = [];
    const { run } = workerWith(new ScriptedProvider(fails(UNAVAILABLE)), {
      events,
      elsewhere: {
        take: ({ entry }) => {
          handedOn.push(entry);
          return Promise.resolve({ region: 'us-east', entryId: '2-0' });
        },
      },
    });
    await run(delivery({ traceparent: CALLER, elsewhere: ['us-east'] }));
    const failed = spans.find(({ name }) => name === 'chat m')!;
    expect(failed).toMatchObject({ isEnded: true, errorType: 'moved' });
    expect(failed.attributes!['docket.moved_to']).toBe('us-east');
    expect(handedOn.map(({ traceparent }) => traceparent)).toEqual([failed.traceparent]);
  });

  it('nothing that a caller or an upstream has written is in a span [metrics.traces]', async () => {
    const canary = 'CANARY of the caller';
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: canary }] });
    const { traces, spans } = noting();
    const events = inferenceEvents(pino({ level: 'silent' }), new Registry(), traces);
    const provider = new ScriptedProvider(
      fails({ kind: 'unavailable', detail: canary, message: canary, code: canary, status: 500 }),
      answers(completion().replace('up/m', canary).replace('Hello.', canary)),
    );
    const { run } = workerWith(provider, { events, isTraced: true });
    await run(delivery({ traceparent: CALLER }, { body }));
    const { spans: failed } = await traced(
      new ScriptedProvider(
        fails({ kind: 'rejected', detail: canary, message: canary, param: canary }),
      ),
    );
    expect(spans.length + failed.length).toBeGreaterThan(6);
    expect(JSON.stringify([spans, failed])).not.toContain('CANARY');
  });

  it('without traces the upstream is told what the caller said, and the receipts lane nothing of it', async () => {
    const provider = new ScriptedProvider(answers(completion()));
    const events = inferenceEvents(pino({ level: 'silent' }), new Registry());
    const { run, handed } = workerWith(provider, { events });
    await run(delivery({ traceparent: CALLER }));
    expect(provider.requests[0]!.traceparent).toBe(CALLER);
    expect(handed()).toHaveLength(1);
    expect(handed()[0]).not.toHaveProperty('traceparent');
  });
});
