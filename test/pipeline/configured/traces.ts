import { expect, it } from 'vitest';
import { type Collector, pathsOf, type SentSpan } from '#test/support/collector.ts';
import { chatBody, payloadsIn, post, upstreamCalls } from '#test/support/calls.ts';
import type { Receipt } from '#test/support/receipts.ts';
import type { System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

const CALLER = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' };
const MODEL = 'llama-3.1-8b';
const RUN = 'POST /v1/chat/completions > chat llama-3.1-8b';
/** What the second stage of screening flags. */
const BLOCKED = 'Tell me about the breakwater.';
/** Of one request that is answered: api, lane, run, call, receipt, commit. */
const SPANS = 6;

/** The trace that each request leaves at a collector, through every process. */
export function traces(system: () => System, collector: Collector): void {
  const idOf = (response: Response): string => response.headers.get('x-request-id')!;
  const of = (spans: readonly SentSpan[], name: string): SentSpan =>
    spans.find((span) => span.name === name)!;
  const asked = { region: 'eu-west' };
  /** What the tree of a request that was called once has. */
  const tree = (endpoint: string): string[] =>
    [
      'POST /v1/chat/completions',
      'POST /v1/chat/completions > inference lane',
      RUN,
      `${RUN} > issue receipt`,
      `${RUN} > issue receipt > commit receipts`,
      `${RUN} > upstream ${endpoint}`,
    ].toSorted();

  it('a request leaves one tree of spans within the trace of its caller, with what its receipt says and nothing that was written [metrics.traces]', async () => {
    const canary = 'a-canary-in-the-prompt';
    const messages = [{ role: 'user', content: canary }];
    const response = await post(system(), '/chat/completions', chatBody({ ...asked, messages }), {
      headers: { traceparent: `00-${CALLER.trace}-${CALLER.span}-01`, tracestate: 'v=1' },
    });
    const { receipt, choices } = (await response.json()) as {
      receipt: Receipt;
      choices: { message: { content: string } }[];
    };
    const spans = await collector.spansOf(idOf(response), SPANS);
    const call = spans.find(({ name }) => name.startsWith('upstream '))!;
    expect(pathsOf(spans, CALLER.span)).toEqual(tree(call.name.slice('upstream '.length)));
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([CALLER.trace]));
    expect(new Set(spans.map(({ service }) => service))).toEqual(
      new Set(['docket-api', 'docket-inference', 'docket-receipts']),
    );
    expect(of(spans, 'POST /v1/chat/completions').attributes).toMatchObject({
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'docket.request_id': idOf(response),
      'docket.org_id': system().orgId,
      'docket.key_id': expect.stringMatching(/^key_/) as string,
      'docket.model': MODEL,
      'docket.stream': false,
    });
    expect(of(spans, `chat ${MODEL}`).attributes).toMatchObject({
      'gen_ai.usage.input_tokens': receipt.credentialSubject.inputTokens,
      'gen_ai.usage.output_tokens': receipt.credentialSubject.outputTokens,
    });
    const { attributes } = of(spans, 'issue receipt');
    const energy = receipt.measurement!.result.find((one) => one.quantityKind === 'energy')!;
    expect(receipt.id).toContain(String(attributes['docket.receipt_id']));
    expect(Number(attributes['docket.energy_j'])).toBeCloseTo(Number(energy.value) * 3_600_000, 9);
    // The upstream is told the span of its call.
    const [called] = await upstreamCalls(system());
    expect(called!.headers['traceparent']).toBe(`00-${CALLER.trace}-${call.spanId}-01`);
    const sent = collector.bodies.join('');
    expect(sent).not.toContain(canary);
    expect(sent).not.toContain(choices[0]!.message.content.slice(0, 20));
    expect(sent).not.toContain(system().key);
  });

  it('a stream leaves the same tree, whose spans last as long as it does [metrics.traces]', async () => {
    const body = chatBody({ ...asked, stream: true, sandbox_fault: 'pace=40' });
    const response = await post(system(), '/chat/completions', body);
    expect(payloadsIn(await response.text()).at(-1)).toBe('[DONE]');
    const spans = await collector.spansOf(idOf(response), SPANS);
    const call = spans.find(({ name }) => name.startsWith('upstream '))!;
    expect(pathsOf(spans)).toEqual(tree(call.name.slice('upstream '.length)));
    const [root, run] = [of(spans, 'POST /v1/chat/completions'), of(spans, `chat ${MODEL}`)];
    expect(root.endedAtNs).toBeGreaterThanOrEqual(call.endedAtNs);
    expect(run.endedAtNs).toBeGreaterThanOrEqual(call.endedAtNs);
  });

  it('an upstream that fails once has two spans, of which one is an error [metrics.traces]', async () => {
    const fault = 'id=traced-retry; fail-first=1; status=500';
    const response = await post(
      system(),
      '/chat/completions',
      chatBody({ ...asked, sandbox_fault: fault }),
    );
    expect(response.status).toBe(200);
    const spans = await collector.spansOf(idOf(response), SPANS + 1);
    expect(pathsOf(spans)).toHaveLength(SPANS + 1);
    const calls = spans.filter(({ name }) => name.startsWith('upstream '));
    expect(calls.map(({ isError, attributes }) => [isError, attributes['error.type']])).toEqual([
      [true, 'unavailable'],
      [false, undefined],
    ]);
    expect(calls[0]!.attributes['http.response.status_code']).toBe(500);
    expect(calls[1]!.attributes['http.request.resend_count']).toBe(1);
    const told = await upstreamCalls(system(), 'traced-retry');
    const spanIds = told.map(({ headers }) => headers['traceparent']!.split('-')[2]!);
    expect(spanIds.toSorted()).toEqual(calls.map(({ spanId }) => spanId).toSorted());
  });

  it('a request that is refused, and one that is answered from what was kept, leave one span [metrics.traces]', async () => {
    const refused = [
      await post(system(), '/chat/completions', chatBody(asked), { key: 'no-key' }),
      await post(system(), '/chat/completions', '{'),
    ];
    const headers = { 'idempotency-key': 'traced-once' };
    const first = await post(system(), '/chat/completions', chatBody(asked), { headers });
    const { receipt } = (await first.json()) as { receipt: Receipt };
    const again = await post(system(), '/chat/completions', chatBody(asked), { headers });
    expect(((await again.json()) as { receipt: Receipt }).receipt.id).toBe(receipt.id);
    await collector.spansOf(idOf(first), SPANS);
    for (const response of [...refused, again]) {
      const spans = await collector.spansOf(idOf(response), 1);
      expect(pathsOf(spans)).toHaveLength(1);
      expect(spans[0]!.kind).toBe(2);
    }
    const codes = refused.map(async (response) => {
      const [span] = await collector.spansOf(idOf(response), 1);
      return [span!.isError, typeof span!.attributes['error.type']];
    });
    expect(await Promise.all(codes)).toEqual([
      [false, 'string'],
      [false, 'string'],
    ]);
  });

  it('a request that screening has blocked has the receipt of that in its trace [metrics.traces]', async () => {
    const messages = [{ role: 'user', content: BLOCKED }];
    const response = await post(system(), '/chat/completions', chatBody({ ...asked, messages }));
    expect(response.status).toBe(403);
    const spans = await collector.spansOf(idOf(response), 3);
    const route = 'POST /v1/chat/completions';
    expect(pathsOf(spans)).toEqual([
      route,
      `${route} > issue receipt`,
      `${route} > issue receipt > commit receipts`,
    ]);
    expect(of(spans, 'issue receipt').attributes['docket.receipt_kind']).toBe('refused');
    expect(collector.bodies.join('')).not.toContain(BLOCKED);
  });

  it('a collector that hangs delays and fails no request [metrics.traces]', async () => {
    collector.behaviour = 'hang';
    try {
      for (let i = 0; i < 3; i += 1) {
        const response = await post(system(), '/chat/completions', chatBody(asked));
        expect(response.status).toBe(200);
        await response.arrayBuffer();
      }
      await until(() => collector.hanging >= 3, 'every process waits for the collector');
      const response = await post(system(), '/chat/completions', chatBody(asked));
      expect(response.status).toBe(200);
      expect(((await response.json()) as { receipt: Receipt }).receipt.proof).toBeDefined();
    } finally {
      collector.behaviour = 'take';
    }
  });
}
