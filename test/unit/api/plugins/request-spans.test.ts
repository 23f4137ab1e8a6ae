import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import type { AccessLine } from '#api/plugins/answered.ts';
import { endSpan, RequestSpans } from '#api/plugins/request-spans.ts';
import { CALLER, noting } from '#test/support/noted-spans.ts';

const LINE = { requestId: 'req_1', method: 'POST', route: '/v1/chat/completions', ms: 4 };

/** The span of a request that was answered so. */
function spanOf(line: Partial<AccessLine> & Pick<AccessLine, 'status'>) {
  const { traces, spans } = noting();
  const headers = { traceparent: CALLER, tracestate: 'v=1', authorization: 'Bearer canary' };
  const begun = new RequestSpans(traces, () => 'org_a');
  endSpan(begun.begin({ method: 'POST', headers } as unknown as IncomingMessage), {
    ...LINE,
    ...line,
  });
  return spans[0]!;
}

it('the span of a request is a server’s, within its caller’s, named by its route, and has what the access log says', () => {
  const of = { orgId: 'org_a', keyId: 'key_a', model: 'm', region: 'eu-west', stream: true };
  const span = spanOf({ status: 200, ...of, inputTokens: 3 });
  expect(span).toMatchObject({
    name: 'POST /v1/chat/completions',
    kind: 'server',
    parent: CALLER,
    tracestate: 'v=1',
    errorType: undefined,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'docket.request_id': 'req_1',
      'docket.org_id': 'org_a',
      'docket.key_id': 'key_a',
      'docket.model': 'm',
      'docket.region': 'eu-west',
      'docket.stream': true,
    },
  });
  expect(JSON.stringify(span)).not.toContain('canary');
});

it.each([
  [
    'a refusal',
    { status: 429, code: 'requests_per_second_exceeded' },
    'requests_per_second_exceeded',
    true,
  ],
  ['a fault of ours', { status: 500, code: 'internal_error' }, 'internal_error', false],
  [
    'an error in a stream that had begun',
    { status: 200, code: 'upstream_error' },
    'upstream_error',
    false,
  ],
  ['a client that left', { status: 499 }, 'client_left', true],
  [
    'a parameter that a caller made up',
    { status: 400, code: 'invalid_canary' },
    'invalid_other',
    true,
  ],
] as const)(
  '%s has its error, which is of no caller’s making',
  (_what, line, errorType, isCallers) => {
    const span = spanOf(line);
    expect(span).toMatchObject({ errorType, isCallers });
    expect(JSON.stringify(span)).not.toContain('canary');
  },
);

it('one caller takes no more than its share of what is recorded, and others find theirs [metrics.traces]', () => {
  const { traces, spans } = noting();
  const begun = new RequestSpans(
    traces,
    ({ headers }) => headers.host!,
    () => 0,
  );
  const ask = (host: string) =>
    begun.begin({
      method: 'GET',
      headers: { traceparent: CALLER, host },
    } as unknown as IncomingMessage);
  for (let i = 0; i < 1_000; i += 1) ask('flood');
  ask('other');
  expect(spans.filter(({ isUnrecorded }) => isUnrecorded === false)).toHaveLength(257);
  expect(spans.at(-1)!.isUnrecorded).toBe(false);
});
