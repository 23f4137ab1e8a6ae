import { afterEach, describe, expect, it, vi } from 'vitest';
import { newId } from '#shared/kernel/system/new-id.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { budgetKey } from '#shared/lanes/keys.ts';
import type { ReceiptEntry } from '#shared/lanes/messages.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import { Slots } from '#shared/lanes/slots.ts';
import { encodeMessage } from '#shared/lanes/wire-format.ts';
import { type ReceiptRow, UnstorableReceipt } from '#shared/receipts/columns.ts';
import { SigningKeyProblem } from '#shared/receipts/signing/problem.ts';
import { type ReceiptsDeps, ReceiptsWorker } from '#workers/receipts/worker.ts';
import {
  catalogue,
  inferenceRecord,
  issuer,
  makeReceiptSigner,
  methodology,
  UNSIZED,
} from '#test/support/issuing.ts';
import { inShort, RecordedOutbox } from '#test/support/outbox.ts';
import { until } from '#test/support/until.ts';

const LANE = '{s0}:lane:receipts';
const CLAIM = '{s0}:idem:org_a:digest';
const { signer } = makeReceiptSigner();
const COUNTED = {
  inputTokens: 91,
  cachedInputTokens: 0,
  outputTokens: 13,
  source: 'counted',
  tokenizer: 'o200k_base',
} as const;

afterEach(() => void vi.useRealTimers());

/** A receipts worker with a store of the test's own, and what it did in order. */
function workerWith(over: Partial<ReceiptsDeps> = {}) {
  const outbox = new RecordedOutbox();
  const stored = new Map<string, ReceiptRow>();
  /** Commits and endings of claims, each with what was queued by then. */
  const log: [what: string, ...details: unknown[]][] = [];
  const note = (...what: [string, ...unknown[]]): void => {
    log.push([...what, inShort(outbox.queued)]);
  };
  const events: string[] = [];
  const say = (event: string) => (): void => void events.push(event);
  const slots = new Slots(1);
  const store = {
    commit: (rows: readonly ReceiptRow[]): Promise<boolean> => {
      note('commit', rows.length);
      const fresh = rows.filter(({ receiptId }) => !stored.has(receiptId));
      for (const row of fresh) stored.set(row.receiptId, row);
      return Promise.resolve(fresh.length === rows.length);
    },
    read: (ids: readonly string[]): Promise<Map<string, string>> =>
      Promise.resolve(new Map(ids.map((id) => [id, stored.get(id)!.text]))),
  };
  const worker = new ReceiptsWorker(
    {
      issuer,
      signer: () => signer,
      estimate: methodology.estimate,
      catalogue: () => catalogue,
      now: Date.now,
      store,
      outbox,
      batchMax: 32,
      tellLedger: () => {},
      placeAnswer: () => Promise.resolve('redis'),
      settleClaim: (_by, name, receipt, kept) => {
        note('settle', name, receipt, kept);
        return Promise.resolve('held');
      },
      events: {
        receiptBegun: () => undefined,
        commitBegun: () => undefined,
        leftUncommitted: () => {},
        receiptIssued: say('receiptIssued'),
        outcomeStale: say('outcomeStale'),
        batchCommitted: say('batchCommitted'),
        commitFailed: say('commitFailed'),
        receiptImpossible: say('receiptImpossible'),
        outcomeUnknown: say('outcomeUnknown'),
        storeFailed: say('storeFailed'),
        signingKeysUnreadable: say('signingKeysUnreadable'),
      },
      ...over,
    },
    slots,
  );
  /** Delivers a batch. Resolves when the worker is done with it. */
  const take = (...batch: Delivery[]): Promise<void> => {
    slots.take();
    worker.take(batch);
    return slots.whenIdle();
  };
  return { worker, take, slots, outbox, store, stored, log, events };
}

function handed(over: Partial<ReceiptEntry> = {}): ReceiptEntry {
  return {
    record: inferenceRecord(),
    inbox: 'api-test',
    attempt: 1,
    receipt: 'best_effort',
    ...over,
  };
}

const delivered = (entryId: string, ...entries: (ReceiptEntry | string)[]): Delivery => ({
  shard: 0,
  lane: LANE,
  entryId,
  consumer: 'worker-1',
  number: 1,
  texts: entries.map((entry) => (typeof entry === 'string' ? entry : encodeMessage(entry))),
});

it('outcomes wait while the key that signs cannot be used, and each has its receipt when it can [survives.signing-agent]', async () => {
  vi.useFakeTimers();
  let isAway = true;
  const away = new SigningKeyProblem('agent_away', 'The signing agent is away.');
  let asked = 0;
  const sign: typeof signer.sign = (document) => {
    asked += 1;
    // The second of three, so that one before it was signed.
    if (isAway && asked % 2 === 0) throw away;
    return signer.sign(document);
  };
  const { take, stored, outbox, events } = workerWith({ signer: () => ({ ...signer, sign }) });
  const taken = take(delivered('1-0', handed(), handed()), delivered('2-0', handed()));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(events).toContain('signingKeysUnreadable');
  expect([stored.size, outbox.queued]).toEqual([0, []]);
  isAway = false;
  await vi.advanceTimersByTimeAsync(1_000);
  await taken;
  expect(stored.size).toBe(3);
  expect(events.filter((event) => event === 'receiptIssued')).toHaveLength(3);
  expect(events).not.toContain('receiptImpossible');
});

it('a worker that stops while nothing can be signed leaves the outcomes on their lane', async () => {
  vi.useFakeTimers();
  const sign = (): never => {
    throw new SigningKeyProblem('agent_away', 'The signing agent is away.');
  };
  const { worker, take, stored, outbox } = workerWith({ signer: () => ({ ...signer, sign }) });
  const taken = take(delivered('1-0', handed()));
  worker.stop();
  await vi.advanceTimersByTimeAsync(1_000);
  await taken;
  expect([stored.size, outbox.queued]).toEqual([0, []]);
});

describe('a batch of outcomes', () => {
  it('a part of a budget of energy is settled by what the committed receipt states, and wholly by one without an estimate, or of an answer that ended early [budgets.hard]', async () => {
    const reserves = [{ budget: 'bgt_a', since: 0, measure: 'energy', amount: 1e12 } as const];
    const known = handed({ reserves });
    const degraded = handed({ reserves, record: inferenceRecord({ model: UNSIZED }) });
    const record = inferenceRecord({ outcome: 'partial', usage: COUNTED });
    const left = handed({ reserves, record });
    const { take, outbox, stored } = workerWith();
    await take(delivered('1-0', known), delivered('2-0', degraded), delivered('3-0', left));
    const { energy } = stored.get(receiptIdOf(known.record.requestId))!;
    const settled = outbox.queued.flatMap(({ command }) =>
      command?.[0] === 'settle' ? [command.slice(1)] : [],
    );
    expect(settled).toEqual([
      [
        budgetKey(0, 'org_a', reserves[0]!),
        `${known.record.requestId} 1000000000000`,
        Math.ceil(energy! * 1e10),
      ],
      [budgetKey(0, 'org_a', reserves[0]!), `${degraded.record.requestId} 1000000000000`, 1e12],
      [budgetKey(0, 'org_a', reserves[0]!), `${record.requestId} 1000000000000`, 1e12],
    ]);
  });

  it('a batch is committed in one statement, and only then are the receipts sent', async () => {
    const { take, outbox, stored, log } = workerWith();
    const [one, two] = [handed(), handed({ attempt: 2 })];
    await take(delivered('1-0', one), delivered('2-0', two));
    expect(log).toEqual([['commit', 2, []]]);
    expect(outbox.writes.map(inShort)).toEqual([['receipt', 'done', 'receipt', 'done']]);
    const textOf = ({ record }: ReceiptEntry) => stored.get(receiptIdOf(record.requestId))!.text;
    expect(outbox.replies).toEqual(
      [one, two].map((entry) => ({
        inbox: 'api-test',
        id: entry.record.requestId,
        attempt: entry.attempt,
        kind: 'receipt',
        payload: textOf(entry),
      })),
    );
    expect(outbox.queued.flatMap(({ done }) => done ?? [])).toEqual(['1-0', '2-0']);
  });

  it('an entry of several records is committed, answered and acknowledged as one', async () => {
    const { take, outbox, log } = workerWith();
    const [one, two, three] = [handed(), handed({ inbox: 'api-2' }), handed()];
    await take(delivered('1-0', one, two), delivered('2-0', three));
    expect(log).toEqual([['commit', 3, []]]);
    expect(outbox.writes.map(inShort)).toEqual([['receipt', 'receipt', 'done', 'receipt', 'done']]);
    const small = workerWith({ batchMax: 2 });
    await small.take(delivered('1-0', one, two, three));
    expect(small.log).toEqual([
      ['commit', 2, []],
      ['commit', 1, []],
    ]);
    expect(outbox.replies.map(({ inbox, id }) => [inbox, id])).toEqual(
      [one, two, three].map(({ inbox, record }) => [inbox, record.requestId]),
    );
  });

  it.each([{ secrecy: 'high' }, { outcome: 'sold' }])(
    'an outcome with %o, which this build does not know, stays on the lane, and the others of its batch do not wait [survives.newer-messages]',
    async (newer) => {
      const { take, outbox, stored, events } = workerWith();
      const [older, told] = [handed(), handed()];
      const said = encodeMessage({ ...told, record: { ...told.record, ...(newer as object) } });
      await take(delivered('1-0', older), delivered('2-0', said, handed()));
      expect([...stored.keys()]).toEqual([receiptIdOf(older.record.requestId)]);
      expect(outbox.writes.map(inShort)).toEqual([['receipt', 'done']]);
      expect(
        events.filter((event) => event !== 'receiptIssued' && event !== 'batchCommitted'),
      ).toEqual(['outcomeUnknown']);
    },
  );

  it('a record that cannot be read or stored does not take the others of its entry with it, also when the entry comes again', async () => {
    const { take, outbox, store, events } = workerWith();
    const [good, bad, late] = [handed(), handed(), handed()];
    const commit = store.commit;
    store.commit = (rows) => {
      const isBad = rows.some(({ receiptId }) => receiptId === receiptIdOf(bad.record.requestId));
      return isBad ? Promise.reject(new UnstorableReceipt('no')) : commit(rows);
    };
    const entry = delivered('1-0', good, 'no record', bad, late);
    await take(entry);
    const first = outbox.writes.map(inShort);
    expect(first).toEqual([
      [
        'receipt',
        `XADD ${LANE}:set-aside`,
        'receipt_failed',
        `XADD ${LANE}:set-aside`,
        'receipt',
        'done',
      ],
    ]);
    expect(outbox.queued.flatMap(({ command }) => command?.at(-1) ?? [])).toEqual([
      'no record',
      encodeMessage(bad),
    ]);
    expect(events.filter((event) => event === 'receiptImpossible')).toHaveLength(2);
    await take(entry);
    const [before, again] = [outbox.replies.slice(0, 3), outbox.replies.slice(3)];
    expect(again).toEqual(before);
  });

  it('a batch that comes again is answered with the receipts that were stored, byte for byte', async () => {
    const { take, outbox } = workerWith();
    const one = handed();
    await take(delivered('1-0', one));
    const { payload: first } = outbox.replies[0]!;
    // Signed at another time, it would be another receipt.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 5_000 });
    const two = handed();
    await take(delivered('1-0', one), delivered('2-0', two));
    expect(outbox.replies.map(({ id, payload }) => [id, payload === first])).toEqual([
      [one.record.requestId, true],
      [one.record.requestId, true],
      [two.record.requestId, false],
    ]);
    expect(outbox.queued.filter(({ done }) => done !== undefined)).toHaveLength(3);
  });

  it('a batch waits on its lane while PostgreSQL is away, and is committed when it is back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const { take, store, slots, outbox, events } = workerWith();
    const commit = vi.spyOn(store, 'commit');
    commit.mockRejectedValue(new Error('connection refused'));
    const over = take(delivered('1-0', handed()));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(commit.mock.calls.length).toBeGreaterThan(100);
    expect([outbox.queued, slots.free]).toEqual([[], 0]);
    commit.mockRestore();
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
    expect(inShort(outbox.queued)).toEqual(['receipt', 'done']);
    expect(new Set(events)).toEqual(new Set(['commitFailed', 'batchCommitted', 'receiptIssued']));
  });

  it('a batch stays on its lane when the process stops before PostgreSQL is back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout'] });
    const { worker, take, store, outbox } = workerWith();
    vi.spyOn(store, 'commit').mockRejectedValue(new Error('connection refused'));
    const over = take(delivered('1-0', handed()));
    await vi.advanceTimersByTimeAsync(1_000);
    worker.stop();
    await vi.advanceTimersByTimeAsync(1_000);
    await over;
    expect(outbox.queued).toEqual([]);
  });

  it('a batch of which the store will never take one row is committed without that row', async () => {
    const { take, store, stored, outbox, events } = workerWith();
    const [good, bad, better] = [handed(), handed({ claim: CLAIM }), handed()];
    const refused = receiptIdOf(bad.record.requestId);
    const { commit } = store;
    vi.spyOn(store, 'commit').mockImplementation((rows) =>
      rows.some(({ receiptId }) => receiptId === refused)
        ? Promise.reject(new UnstorableReceipt(new Error('no partition')))
        : commit(rows),
    );
    await take(delivered('1-0', good), delivered('2-0', bad), delivered('3-0', better));
    await until(() => outbox.queued.some(({ done }) => done === '2-0'));
    expect([...stored.keys()]).toEqual(
      [good, better].map(({ record }) => receiptIdOf(record.requestId)),
    );
    const repliesOf = ({ record }: ReceiptEntry) =>
      outbox.replies.filter(({ id }) => id === record.requestId).map(({ kind }) => kind);
    expect([good, bad, better].map(repliesOf)).toEqual([
      ['receipt'],
      ['receipt_failed'],
      ['receipt'],
    ]);
    expect(events.filter((event) => event === 'receiptImpossible')).toHaveLength(1);
  });
});

describe('an entry that no receipt can be made of', () => {
  it('an entry that cannot be read is set aside, and does not hold up the others', async () => {
    const { take, outbox, events } = workerWith();
    await take(delivered('1-0', 'not JSON'), delivered('2-0', handed()));
    expect(inShort(outbox.queued)).toEqual([`XADD ${LANE}:set-aside`, 'done', 'receipt', 'done']);
    expect(outbox.queued[0]!.command!.slice(2)).toEqual([
      'MAXLEN',
      '~',
      10_000,
      '*',
      'e',
      'not JSON',
    ]);
    expect(outbox.queued[1]).toEqual({ done: '1-0' });
    expect(events[0]).toBe('receiptImpossible');
  });

  it('an entry whose record cannot stand on a receipt frees its claim, tells its caller, and is set aside', async () => {
    const { take, outbox, log, stored } = workerWith();
    const bad = handed({ record: inferenceRecord({ responseDigest: 'short' }), claim: CLAIM });
    await take(delivered('1-0', bad));
    await until(() => outbox.queued.some(({ done }) => done === '1-0'));
    const name = { claim: CLAIM, requestId: bad.record.requestId, delivery: 1 };
    expect(log).toEqual([]);
    expect(outbox.freed).toMatchObject([[name, { code: 'receipt_generation_failed' }]]);
    expect(outbox.writes.map(inShort)).toEqual([
      [`free ${CLAIM}`, 'receipt_failed', `XADD ${LANE}:set-aside`, 'done'],
    ]);
    expect(stored.size).toBe(0);
  });
});

describe('a receipt without an estimate', () => {
  const unsized = () => inferenceRecord({ model: UNSIZED });

  it('a receipt without an estimate is degraded and sent like any other', async () => {
    const { take, outbox, stored } = workerWith();
    await take(delivered('1-0', handed({ record: unsized() })));
    expect([...stored.values()].map(({ kind, tier }) => [kind, tier])).toEqual([
      ['degraded', 'degraded'],
    ]);
    expect(inShort(outbox.queued)).toEqual(['receipt', 'done']);
  });

  it('a receipt without an estimate is stored but refused to a caller who requires one, and the claim is free again', async () => {
    const { take, outbox, stored } = workerWith();
    const record = unsized();
    await take(delivered('1-0', handed({ record, receipt: 'required', claim: CLAIM })));
    expect([...stored.values()].map(({ kind }) => kind)).toEqual(['degraded']);
    expect(outbox.replies).toMatchObject([
      { kind: 'receipt_failed', error: { code: 'receipt_generation_failed' }, payload: '' },
    ]);
    const name = { claim: CLAIM, requestId: record.requestId, delivery: 1 };
    expect(outbox.freed).toMatchObject([[name, { code: 'receipt_generation_failed' }]]);
    expect(outbox.writes.map(inShort)).toEqual([[`free ${CLAIM}`, 'receipt_failed', 'done']]);
  });
});

describe('the claim of an idempotent request', () => {
  it('a claim is settled with the receipt after the commit and before its entry is acknowledged', async () => {
    const settled = Promise.withResolvers<void>();
    const placed: unknown[] = [];
    const { take, outbox, stored, log } = workerWith({
      placeAnswer: (...args) => {
        placed.push(args);
        return Promise.resolve('postgres');
      },
      settleClaim: (_by, ...args) => {
        log.push(['settle', ...args]);
        return settled.promise.then(() => 'held' as const);
      },
    });
    const one = handed({ claim: CLAIM, storedBytes: 17, attempt: 2 });
    const over = take(delivered('1-0', one), delivered('2-0', handed()));
    await until(() => log.length === 2);
    const name = { claim: CLAIM, requestId: one.record.requestId, delivery: 2 };
    const { text } = stored.get(receiptIdOf(one.record.requestId))!;
    expect(placed).toEqual([[name, 17, text.length]]);
    expect(log).toEqual([
      ['commit', 2, []],
      ['settle', name, text, 'postgres'],
    ]);
    // The other request of the batch does not wait for it.
    expect(inShort(outbox.queued)).toEqual(['receipt', 'done']);
    expect(outbox.queued[1]).toEqual({ done: '2-0' });
    settled.resolve();
    await over;
    expect(outbox.queued.at(-1)).toEqual({ done: '1-0' });
  });

  it('a claim is not settled with the receipt of another delivery’s answer', async () => {
    const { take, outbox, log } = workerWith();
    const requestId = newId('req');
    const answered = (fill: number) =>
      inferenceRecord({ requestId, responseDigest: Buffer.alloc(32, fill).toString('base64url') });
    await take(delivered('1-0', handed({ record: answered(1), claim: CLAIM })));
    await take(delivered('2-0', handed({ record: answered(2), claim: CLAIM, attempt: 2 })));
    expect(log.map(([what]) => what)).toEqual(['commit', 'settle', 'commit']);
    expect(outbox.queued.at(-1)).toEqual({ done: '2-0' });
  });
});

describe('a request of which two deliveries answered', () => {
  it('an answer is sent with the receipt of its own delivery only; the other delivery is told that the receipt is of another, and which', async () => {
    const { take, outbox } = workerWith();
    const requestId = newId('req');
    const answered = (fill: number) =>
      inferenceRecord({ requestId, responseDigest: Buffer.alloc(32, fill).toString('base64url') });
    await take(delivered('1-0', handed({ record: answered(1) })));
    await take(delivered('2-0', handed({ record: answered(2), attempt: 2 })));
    expect(
      outbox.replies.map(({ kind, payload, ...of }) => ({ kind, ...of, payload: payload !== '' })),
    ).toEqual([
      { kind: 'receipt', id: requestId, attempt: 1, inbox: 'api-test', payload: true },
      { kind: 'receipt_of_another', id: requestId, attempt: 2, inbox: 'api-test', payload: true },
    ]);
    expect(outbox.queued.flatMap(({ done }) => done ?? [])).toEqual(['1-0', '2-0']);
  });

  it('a worker that was taken for dead tells no client of its receipt, and says so once', async () => {
    const { take, outbox, events } = workerWith();
    outbox.holding = () => 'taken';
    await take(delivered('1-0', handed()));
    expect(outbox.queued).toEqual([]);
    expect(events).toEqual(['batchCommitted', 'outcomeStale']);
  });
});
