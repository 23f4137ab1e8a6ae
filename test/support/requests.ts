import { newId } from '#shared/kernel/system/new-id.ts';
import type { RequestRow } from '#shared/requests/row.ts';

/** What became of a request that was answered, unless it is told otherwise. */
export function requestRow(
  row: Pick<RequestRow, 'orgId'> & Partial<RequestRow> & { at?: number },
): RequestRow {
  const { at, ...rest } = row;
  return {
    id: newId('req', at),
    keyId: 'key_01M7VZ8Q3JX1S5Y0B2RG6T4WNE',
    route: 'POST /v1/chat/completions',
    status: 200,
    code: null,
    model: 'llama-3.1-8b',
    requestedModel: null,
    region: 'eu-west',
    streamed: false,
    network: '203.0.113.7',
    tags: null,
    hasReceipt: true,
    replayOf: null,
    inputTokens: 21,
    outputTokens: 28,
    queuedMs: 6,
    firstMs: null,
    totalMs: 412,
    upstreamCalls: 1,
    requests: 1,
    lastMs: null,
    ...rest,
  };
}

/** What became of one that was refused for its rate. */
export const refusedRow: typeof requestRow = (row) =>
  requestRow({
    status: 429,
    code: 'requests_per_second_exceeded',
    region: null,
    hasReceipt: false,
    inputTokens: null,
    outputTokens: null,
    queuedMs: null,
    totalMs: 2,
    upstreamCalls: null,
    ...row,
  });
