import { describe, expect, it } from 'vitest';
import {
  answerKey,
  begunKey,
  bodyKey,
  budgetKey,
  idempotencyKey,
  leasesKey,
} from '#shared/lanes/keys.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { unpackAnswer } from '#shared/lanes/stored-answer.ts';
import { decodeReceiptEntry } from '#shared/lanes/wire-format.ts';
import { Settlement, type SettlementDeps, type Spent } from '#workers/inference/settlement.ts';
import { inShort, LEFT, RecordedOutbox } from '#test/support/outbox.ts';
import { COUNTED, delivery } from './doubles.ts';
import { testSeals } from '#test/support/seals.ts';

const CLAIM = idempotencyKey(0, 'org_a', 'digest');
const FREED = `free ${CLAIM}`;
const DEL_BEGUN = `DEL ${begunKey(0, 'req_1')}`;
/** Of a stream with an Idempotency-Key. */
const LEFT_LEASE = `ZREM ${leasesKey(0, 'org_a')}`;
const TO_RECEIPTS = 'XADD {s0}:lane:receipts';
const SPENT: Spent = { usage: COUNTED, calls: 1, responseDigest: 'digest', upstreamModel: 'up/m' };
const FAULT = { code: 'upstream_error', message: 'It failed.' } as const;

function settle(entry: Partial<InferenceEntry>, over: Partial<SettlementDeps> = {}) {
  const outbox = new RecordedOutbox();
  const one = delivery({ id: 'req_1', ...entry }, { number: 2 });
  const deps: SettlementDeps = {
    outbox,
    seals: testSeals(),
    client: {
      get: () => Promise.resolve(null),
      set: () => Promise.resolve('OK'),
    } as unknown as SettlementDeps['client'],
    events: {
      runFinished: () => {},
      runFailed: () => {},
      runMoved: () => {},
      outcomeStale: () => {},
    },
    elsewhere: { take: () => Promise.resolve(null) },
    now: () => 1_800_000_000_500,
    ...over,
  };
  const handed = () => {
    const added = outbox.queued.find(({ command }) => command?.[0] === 'XADD');
    return added && decodeReceiptEntry(String(added.command!.at(-1)));
  };
  return { settlement: new Settlement(deps, one, one.entry), outbox, handed };
}

describe('an answer', () => {
  it('an answer without an Idempotency-Key is sent and handed over, and not kept', async () => {
    const { settlement, outbox, handed } = settle({});
    await settlement.answered('{"a":1}', true, SPENT);
    expect(outbox.writes.map(inShort)).toEqual([['answer', TO_RECEIPTS, ...LEFT]]);
    expect(handed()).not.toHaveProperty('claim');
    expect(handed()).toMatchObject({ attempt: 2, record: { endedAt: 1_800_000_000_500 } });
    expect(outbox.freed).toEqual([]);
  });

  it('an answer that its server did not finish is sent, receipted as truncated, and not kept: a retry runs again', async () => {
    const { settlement, outbox, handed } = settle({ claim: CLAIM });
    await settlement.answered('{"a":1}', false, SPENT);
    expect(outbox.writes.map(inShort)).toEqual([['answer', FREED, TO_RECEIPTS, ...LEFT]]);
    expect(handed()).toMatchObject({ record: { outcome: 'truncated' } });
  });

  it('an answer with an Idempotency-Key is kept for its delivery, for a day, in the write that sends it', async () => {
    const { settlement, outbox, handed } = settle({ claim: CLAIM });
    await settlement.answered('{"a":1}', true, SPENT);
    const key = answerKey({ claim: CLAIM, requestId: 'req_1', delivery: 2 });
    expect(outbox.writes.map(inShort)).toEqual([
      ['answer', `SET ${key}`, `EXPIRE ${CLAIM}`, TO_RECEIPTS, ...LEFT],
    ]);
    const [, , packed, ...life] = outbox.queued[1]!.command!;
    const name = { claim: CLAIM, requestId: 'req_1', delivery: 2 };
    expect(await unpackAnswer(testSeals(), name, packed as Buffer)).toEqual({
      frames: '',
      last: '{"a":1}',
    });
    expect(life).toEqual(['EX', 86_400]);
    expect(outbox.queued[2]!.command).toEqual(['EXPIRE', CLAIM, 86_400]);
    expect(handed()).toMatchObject({ claim: CLAIM, storedBytes: (packed as Buffer).length });
    expect(outbox.freed).toEqual([]);
  });

  it('an answer that was streamed is kept with its frames', async () => {
    const { settlement, outbox } = settle({ claim: CLAIM, stream: true });
    await settlement.streamed('data: 1\n\n', '{"last":1}', SPENT);
    expect(inShort(outbox.writes[0]!)).toEqual([
      'last',
      expect.stringMatching(/^SET .*:answer:/) as string,
      `EXPIRE ${CLAIM}`,
      TO_RECEIPTS,
      DEL_BEGUN,
      LEFT_LEASE,
      ...LEFT,
    ]);
    const packed = outbox.queued[1]!.command![2] as Buffer;
    const name = { claim: CLAIM, requestId: 'req_1', delivery: 2 };
    expect(await unpackAnswer(testSeals(), name, packed)).toEqual({
      frames: 'data: 1\n\n',
      last: '{"last":1}',
    });
  });

  it('an answer that is too large to be kept frees its key, and those who wait are told so', async () => {
    const { settlement, outbox, handed } = settle({ claim: CLAIM, stream: true });
    await settlement.streamed(null, '{"last":1}', SPENT);
    const name = { claim: CLAIM, requestId: 'req_1', delivery: 2 };
    const fault = { code: 'upstream_error', message: expect.stringContaining('too large') };
    expect(outbox.freed).toEqual([[name, fault]]);
    expect(outbox.writes.map(inShort)).toEqual([
      ['last', FREED, TO_RECEIPTS, DEL_BEGUN, LEFT_LEASE, ...LEFT],
    ]);
    expect(inShort(outbox.queued)).not.toContain(`EXPIRE ${CLAIM}`);
    expect(handed()).not.toHaveProperty('claim');
    expect(handed()!.record.outcome).toBe('complete');
  });
});

describe('a stream that broke off', () => {
  it('a stream that broke off ends with an error frame, frees its key in the write that hands it over, and is not kept', async () => {
    const { settlement, outbox, handed } = settle({ claim: CLAIM, stream: true });
    await settlement.broke(FAULT, SPENT);
    expect(outbox.writes.map(inShort)).toEqual([
      ['error', FREED, TO_RECEIPTS, DEL_BEGUN, LEFT_LEASE, ...LEFT],
    ]);
    expect(handed()).not.toHaveProperty('claim');
    expect(handed()!.record.outcome).toBe('truncated');
  });
});

describe('a request whose client has left', () => {
  it('a request whose client has left is handed over as partial, without a reply', async () => {
    const { settlement, outbox, handed } = settle({});
    await settlement.left(SPENT);
    expect(outbox.writes.map(inShort)).toEqual([[TO_RECEIPTS, ...LEFT]]);
    expect(handed()!.record).toMatchObject({ outcome: 'partial', usage: COUNTED });
  });
});

describe('a request that failed', () => {
  it('a request that failed gets an error and no receipt, frees its key, and leaves nothing behind', async () => {
    const bodyRef = bodyKey(0, 'req_1');
    const { settlement, outbox, handed } = settle({ claim: CLAIM, stream: true, bodyRef });
    await settlement.failed(FAULT);
    expect(outbox.freed).toEqual([[{ claim: CLAIM, requestId: 'req_1', delivery: 2 }, FAULT]]);
    expect(outbox.writes.map(inShort)).toEqual([
      ['error', FREED, DEL_BEGUN, LEFT_LEASE, `DEL ${bodyRef}`, ...LEFT],
    ]);
    expect(handed()).toBeUndefined();
  });
});

describe('budgets [budgets.hard]', () => {
  const part = { budget: 'bgt_a', since: 0 } as const;
  const tokens = { ...part, measure: 'tokens', amount: 900 } as const;
  const reserves = [{ ...part, measure: 'requests', amount: 1 } as const, tokens];
  const counter = budgetKey(0, 'org_a', part);
  const settled = (outbox: RecordedOutbox) =>
    outbox.queued.flatMap(({ command }) => (command?.[0] === 'settle' ? [command.slice(1)] : []));

  it('what a request used of each budget is counted in the write that ends it: what its receipt says, and nothing of one that failed', async () => {
    const ran = settle({ reserves });
    await ran.settlement.answered('{"a":1}', true, SPENT);
    expect(ran.outbox.writes).toHaveLength(1);
    expect(settled(ran.outbox)).toEqual([
      [counter, 'req_1 1', 1],
      [counter, 'req_1 900', COUNTED.inputTokens + COUNTED.outputTokens],
    ]);
    const failed = settle({ reserves });
    await failed.settlement.failed(FAULT);
    expect(settled(failed.outbox).map(([, , used]) => used)).toEqual([0, 0]);
  });

  it('money is counted as the cost that its record has; what is estimated goes on with it, and is given back where nothing came of it', async () => {
    const money = { ...part, measure: 'money', amount: 7_000 } as const;
    const energy = { ...part, measure: 'energy', amount: 80 } as const;
    const ran = settle({ reserves: [money, energy] });
    await ran.settlement.answered('{"a":1}', true, { ...SPENT, cost: 'EUR 0.000004200001' });
    expect(settled(ran.outbox)).toEqual([[counter, 'req_1 7000', 4_201]]);
    const handed = ran.outbox.queued.flatMap(({ command = [] }) =>
      command[0] === 'XADD' ? [decodeReceiptEntry(String(command[4]))] : [],
    );
    expect(handed).toMatchObject([{ reserves: [energy], record: { cost: 'EUR 0.000004200001' } }]);
    const failed = settle({ reserves: [money, energy] });
    await failed.settlement.failed(FAULT, { calls: 1, failure: 'upstream_error' });
    expect(settled(failed.outbox).map(([, , used]) => used)).toEqual([0, 0]);
  });

  it('where the tokens are not known, all that the request held is counted', async () => {
    const { settlement, outbox } = settle({ reserves: [tokens] });
    await settlement.left({ ...SPENT, usage: { source: 'unknown', reason: 'caller_left' } });
    expect(settled(outbox)).toEqual([[counter, 'req_1 900', 900]]);
  });

  it('so it is where an answer ended early of which we have counted what was handed on: a model may have thought unseen before it', async () => {
    const money = { ...part, measure: 'money', amount: 7_000 } as const;
    const spent = { ...SPENT, cost: 'EUR 0.000000100' };
    const left = settle({ reserves: [tokens, money] });
    await left.settlement.left(spent);
    const broke = settle({ reserves: [tokens, money] });
    await broke.settlement.broke(FAULT, spent);
    for (const { outbox } of [left, broke])
      expect(settled(outbox).map(([, , used]) => used)).toEqual([900, 7_000]);
    const told = settle({ reserves: [tokens] });
    await told.settlement.left({ ...SPENT, usage: { ...COUNTED, source: 'upstream' } });
    expect(settled(told.outbox).map(([, , used]) => used)).toEqual([10]);
  });
});
