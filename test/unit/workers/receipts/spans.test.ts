import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { Span } from '#shared/process/traces/traces.ts';
import { receiptsEvents } from '#workers/receipts/events.ts';
import type { Issued } from '#workers/receipts/issue.ts';
import { inferenceRecord } from '#test/support/issuing.ts';
import { CALLER, noting } from '#test/support/noted-spans.ts';

const ROW = {
  receiptId: 'rcpt_1',
  kind: 'inference',
  tier: 'audit',
  model: 'm',
  region: 'eu-west',
  energy: 0.5,
  gwp: 0.25,
  inputTokens: 9,
  outputTokens: 2,
  dataQuality: 'T3',
} as Issued['row'];

/** Events of a receipts worker that traces, and what it is handed of a request. */
function tracing() {
  const { traces, spans } = noting();
  const events = receiptsEvents(pino({ level: 'silent' }), new Registry(), traces);
  const begin = (traceparent?: string): Span | undefined =>
    events.receiptBegun({
      record: inferenceRecord(),
      inbox: 'api-1',
      attempt: 1,
      receipt: 'best_effort',
      ...(traceparent === undefined ? {} : { traceparent }),
    });
  return { events, spans, begin };
}

it('a batch is committed in one span, within the first receipt that is recorded and linked to the others', () => {
  const { events, spans, begin } = tracing();
  const batch = [begin(), begin(CALLER), begin(CALLER)].map((span) => ({ span }));
  const commit = events.commitBegun(batch);
  events.batchCommitted(3, 1, commit);
  const noted = spans.find(({ name }) => name === 'commit receipts')!;
  expect(noted).toMatchObject({
    isEnded: true,
    parent: batch[1]!.span,
    links: [batch[2]!.span],
    attributes: { 'docket.batch_size': 3 },
  });
  expect(batch[0]!.span).toBeUndefined();
});

it('a batch without a request that is traced leaves nothing', () => {
  const { events, spans, begin } = tracing();
  expect(events.commitBegun([{ span: begin() }])).toBeUndefined();
  expect(spans).toEqual([]);
});

it('the span of a receipt says what the receipt states: its id and tier, energy in joules, gas in grams', () => {
  const { events, spans, begin } = tracing();
  events.receiptIssued({ row: ROW }, begin(CALLER));
  expect(spans[0]).toMatchObject({ parent: CALLER, errorType: undefined, isEnded: true });
  expect(spans[0]!.attributes).toMatchObject({
    'docket.receipt_id': 'rcpt_1',
    'docket.receipt_kind': 'inference',
    'docket.tier': 'audit',
    'docket.energy_j': 1_800_000,
    'docket.gwp_g': 250,
    'docket.data_quality': 'T3',
  });
});

it('a receipt that is degraded, impossible, stale or left has the span of that, and no figure that it does not state', () => {
  const { events, spans, begin } = tracing();
  const degraded = { ...ROW, kind: 'degraded', energy: null, gwp: null } as Issued['row'];
  const degradation = { code: 'model_size_unknown', stage: 'model' } as const;
  events.receiptIssued({ row: degraded, degradation }, begin(CALLER));
  const delivery = { shard: 0, lane: 'l', entryId: '1-0', consumer: 'c', number: 1, texts: [] };
  events.receiptImpossible(delivery, 'req_1', new Error('no'), begin(CALLER));
  events.outcomeStale(delivery, 'req_1', 'taken', begin(CALLER));
  events.leftUncommitted(begin(CALLER));
  expect(spans.map(({ errorType }) => errorType)).toEqual([
    'model_size_unknown',
    'receipt_impossible',
    'stale',
    'not_committed',
  ]);
  expect(spans[0]!.attributes!['docket.energy_j']).toBeUndefined();
});
