import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ExchangeSink } from '#api/inference/exchange/exchange.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { entry, NOW, openEdge, REDIS_AHEAD_MS } from './doubles.ts';

const PATIENCE_MS = 605_000;

const PLACE = { region: 'eu', lane: '{s0}:lane:inference:eu', entryId: '7-0' };

const silent: ExchangeSink = { frames() {}, done() {}, failed() {}, settled() {} };

/** Lets what is ready happen, without letting time pass. */
const turn = () => vi.advanceTimersByTimeAsync(0);

beforeEach(() => void vi.useFakeTimers({ now: NOW }));
afterEach(() => void vi.useRealTimers());

describe('the lease of an open stream', () => {
  it('the lease of a stream is renewed every ten seconds from its admission on, by the clock of Redis, and given back once at its end', async () => {
    const { exchanges, redis } = openEdge();
    exchanges.start();
    const stream = exchanges.expect(entry({ id: 'req_S', stream: true }));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(redis.commands).toEqual([]);
    stream.joined('req_0');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(redis.commands).toEqual([
      ['zadd', '{s0}:leases:org_1', 'XX', NOW + REDIS_AHEAD_MS + 20_000 + 30_000, 'req_S'],
      ['pexpire', '{s0}:leases:org_1', 86_400_000],
    ]);
    stream.close();
    stream.close();
    await vi.advanceTimersByTimeAsync(30_000);
    expect(redis.named('zrem')).toEqual([['zrem', '{s0}:leases:org_1', 'req_S']]);
    expect(redis.named('zadd')).toHaveLength(1);
  });

  it('a stream with an Idempotency-Key says when its client leaves, and when it was admitted too late, whose request may run on', () => {
    const { exchanges, redis } = openEdge();
    const claim = '{s0}:idem:org_1:d';
    const stream = exchanges.expect(entry({ id: 'req_S', stream: true, claim }));
    stream.admitted(entry({ id: 'req_S', stream: true, claim }), PLACE.entryId);
    stream.leave();
    exchanges.withdrawLate(entry({ id: 'req_T', stream: true, claim }), '7-0');
    exchanges.withdrawLate(entry({ id: 'req_U', claim }), '8-0');
    const said = {
      leases: '{s0}:leases:org_1',
      claim,
      answeredMs: 43_200_000,
      leasesMs: 86_400_000,
    };
    expect(redis.commands).toEqual([
      ['leave', { ...said, requestId: 'req_S', runs: 'req_S' }],
      ['leave', { ...said, requestId: 'req_T', runs: 'req_T' }],
    ]);
    const waiting = exchanges.expect(entry({ id: 'req_W', stream: true, claim }));
    waiting.joined('req_S');
    waiting.leave();
    expect(redis.commands.at(-1)).toEqual([
      'leave',
      { ...said, requestId: 'req_W', runs: 'req_S' },
    ]);
  });

  it('a whole answer has no lease to be renewed or given back', async () => {
    const { exchanges, redis } = openEdge();
    exchanges.start();
    const whole = exchanges.expect(entry());
    whole.admitted(entry(), PLACE.entryId);
    await vi.advanceTimersByTimeAsync(10_000);
    whole.close();
    expect(redis.commands.filter(([name]) => name !== 'gone')).toEqual([]);
  });

  it('a stream that was not admitted has no lease to give back', () => {
    const { exchanges, redis } = openEdge();
    exchanges.expect(entry({ stream: true })).close();
    expect(redis.commands).toEqual([]);
  });

  it('a lease that cannot be renewed or given back is reported, and nothing else fails', async () => {
    const { exchanges, redis, happened } = openEdge();
    redis.isAway = true;
    exchanges.start();
    const stream = exchanges.expect(entry({ stream: true }));
    stream.joined('req_0');
    await vi.advanceTimersByTimeAsync(10_000);
    stream.close();
    await turn();
    expect(happened).toEqual(['storeFailed', 'storeFailed', 'storeFailed']);
  });
});

describe('a request that the pipeline is silent about', () => {
  it('a request that the pipeline is silent about is withdrawn and fails five seconds after its deadline', async () => {
    const { exchanges, redis } = openEdge();
    const failures: string[] = [];
    const sink = { ...silent, failed: ({ code }: { code: string }) => failures.push(code) };
    const exchange = exchanges.expect(entry());
    exchange.admitted(entry(), PLACE.entryId);
    exchange.open(sink);
    await vi.advanceTimersByTimeAsync(PATIENCE_MS - 1);
    expect(failures).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(failures).toEqual(['upstream_timeout']);
    expect(redis.named('withdraw')).toHaveLength(1);
  });

  it('a request that never was on a lane is given up without being withdrawn', async () => {
    const { exchanges, redis } = openEdge();
    exchanges.expect(entry());
    await vi.advanceTimersByTimeAsync(PATIENCE_MS);
    expect(redis.commands).toEqual([]);
  });
});

const LOST = ['dispatch_unavailable'];
/** An exchange whose entry is looked for, and how it failed. */
const watched = (more: Partial<InferenceEntry> = {}) => {
  const edge = openEdge();
  edge.exchanges.start();
  const failures: string[] = [];
  const exchange = edge.exchanges.expect(entry(more));
  exchange.admitted(entry(more), PLACE.entryId);
  exchange.open({ ...silent, failed: ({ code }) => failures.push(code) });
  return { ...edge, exchange, failures };
};

describe('a request that Redis has lost', () => {
  it('a request whose entry is gone without a word fails within ten seconds, once, and is reported', async () => {
    const { redis, failures, happened } = watched();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(failures).toEqual([]);
    redis.gone = [PLACE.entryId];
    await vi.advanceTimersByTimeAsync(10_000);
    expect(failures).toEqual(LOST);
    expect(happened).toEqual(['requestLost']);
    expect(redis.named('gone')[0]).toEqual([
      'gone',
      { lane: PLACE.lane, group: 'workers', moreArguments: [PLACE.entryId] },
    ]);
  });

  it('a request whose answer has come waits for its receipt, and is not looked for', async () => {
    const { redis, exchange, failures } = watched();
    redis.gone = [PLACE.entryId];
    exchange.take({ id: 'req_1', attempt: 1, seq: 1, kind: 'answer' }, '{}');
    await vi.advanceTimersByTimeAsync(20_000);
    expect(failures).toEqual([]);
    expect(redis.named('gone')).toEqual([]);
  });

  it('an answer that is on its way when the entry is gone arrives, and a stream that goes on is not looked for', async () => {
    const { redis, exchange, failures } = watched();
    redis.gone = [PLACE.entryId];
    for (let seq = 1; seq < 20; seq += 1) {
      await vi.advanceTimersByTimeAsync(4_500);
      exchange.take({ id: 'req_1', attempt: 1, seq, kind: 'frames' }, 'data: 1\n\n');
    }
    expect(failures).toEqual([]);
  });

  it('while the inbox cannot be read, or Redis not be asked, nothing is taken for lost', async () => {
    const { redis, failures } = watched();
    redis.gone = [PLACE.entryId];
    redis.inboxReadAt = () => 0;
    await vi.advanceTimersByTimeAsync(60_000);
    redis.inboxReadAt = () => performance.now();
    redis.isAway = true;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(failures).toEqual([]);
    redis.isAway = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(failures).toEqual(LOST);
  });
});

describe('a request that another region has', () => {
  const moved = (region: string, attempt = 1) =>
    ({ id: 'req_1', attempt, kind: 'moved', region, entryId: `9-${region}` }) as const;

  it('a request that was handed on without a word, because the worker died, is not taken for lost, and is looked for where it is [operations.region-failover]', async () => {
    const { redis, exchange, failures } = watched({ id: 'req_1', elsewhere: ['us', 'ap'] });
    redis.gone = [PLACE.entryId];
    redis.values.set('{s0}:moved:req_1', 'us 9-us');
    await vi.advanceTimersByTimeAsync(60_000);
    expect([failures, exchange.region]).toEqual([[], 'us']);
    expect(exchange.place).toEqual({
      region: 'us',
      lane: '{s0}:lane:inference:us',
      entryId: '9-us',
    });
    // That region has failed it, too, and then Redis has lost it.
    redis.gone = ['9-us', '9-ap'];
    redis.values.set('{s0}:moved:req_1', 'ap 9-ap');
    await vi.advanceTimersByTimeAsync(4_000);
    expect([failures, exchange.region]).toEqual([[], 'ap']);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(failures).toEqual(LOST);
  });

  it('where a request is says the latest of those who handed it on, however late the word of an earlier one comes [operations.region-failover]', () => {
    const { exchange } = watched({ id: 'req_1', elsewhere: ['us', 'ap'] });
    exchange.take(moved('us', 2), '');
    exchange.take(moved('ap', 2), '');
    // The worker of the first region was stopped before it could say so.
    exchange.take(moved('us', 1), '');
    expect(exchange.place!.region).toBe('ap');
  });
});

describe('a cancellation', () => {
  it('a cancellation that Redis does not take is reported, and nothing waits for it', async () => {
    const { exchanges, redis, happened } = openEdge();
    redis.isAway = true;
    const exchange = exchanges.expect(entry());
    exchange.admitted(entry(), PLACE.entryId);
    exchange.leave();
    await exchanges.drained();
    await turn();
    expect(happened).toEqual(['clientGone', 'storeFailed']);
  });
});

describe('a process that drains', () => {
  it('draining waits until the last open exchange has ended', async () => {
    const { exchanges } = openEdge();
    const open = ['req_1', 'req_2'].map((id) => exchanges.expect(entry({ id })));
    let drained = false;
    void exchanges.drained().then(() => (drained = true));
    open[0]!.close();
    await turn();
    expect(drained).toBe(false);
    open[1]!.close();
    await turn();
    expect(drained).toBe(true);
  });

  it('draining waits for an exchange that begins in the moment the last has ended', async () => {
    const { exchanges } = openEdge();
    const first = exchanges.expect(entry({ id: 'req_1' }));
    let drained = false;
    void exchanges.drained().then(() => (drained = true));
    first.close();
    const second = exchanges.expect(entry({ id: 'req_2' }));
    await turn();
    expect(drained).toBe(false);
    second.close();
    await turn();
    expect(drained).toBe(true);
  });

  it('stopping fails what is open, renews no more leases and leaves nothing open', async () => {
    const { exchanges, redis } = openEdge();
    exchanges.start();
    const failures: string[] = [];
    const sink = { ...silent, failed: ({ code }: { code: string }) => failures.push(code) };
    for (const id of ['req_1', 'req_2']) {
      const exchange = exchanges.expect(entry({ id, stream: true }));
      exchange.admitted(entry({ id, stream: true }), PLACE.entryId);
      exchange.open(sink);
    }
    exchanges.stop();
    expect(failures).toEqual(['dispatch_unavailable', 'dispatch_unavailable']);
    await exchanges.drained();
    expect(redis.named('zadd')).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a reply', () => {
  it('a reply to a request that is not open here is dropped', () => {
    const { exchanges } = openEdge();
    expect(() =>
      exchanges.take({ id: 'req_unknown', attempt: 1, kind: 'receipt' }, '{}'),
    ).not.toThrow();
  });
});
