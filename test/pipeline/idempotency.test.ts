import { randomUUID } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { idempotencyKey, keptKey } from '#shared/lanes/keys.ts';
import { dropExpiredAnswers } from '#shared/lanes/postgres/stored-answers.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { chatBody, codeOf, payloadsIn, post, upstreamCalls } from '#test/support/calls.ts';
import { connectTo } from '#test/support/lanes.ts';
import type { StartedProcess } from '#test/support/processes.ts';
import { expectSigned, integrated, type Receipt, tally } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** What docs/operations.md says of a claim whose answer is in PostgreSQL. */
const CLAIM_BYTES_MAX = 400;
let system: System;
let redis: ReturnType<typeof connectTo>;

beforeAll(async () => {
  system = await startSystem({ replicas: { api: 2, inference: 2 } });
  redis = connectTo(system.redis.url);
});

/** An answer as a client sees it. */
interface Seen {
  status: number;
  text: string;
  replayed: boolean;
  receiptId: string | null;
  today: number;
}

async function send(body: object, key: string, options: { api?: number; path?: string } = {}) {
  const { api = 0, path = '/chat/completions' } = options;
  const response = await post(system, path, body, {
    headers: { 'idempotency-key': key },
    baseUrl: system.baseUrls[api]!,
  });
  return {
    status: response.status,
    text: await response.text(),
    replayed: response.headers.get('idempotent-replayed') === 'true',
    receiptId: response.headers.get('x-receipt-id'),
    today: Number(response.headers.get('x-ratelimit-remaining-requests-day')),
  } satisfies Seen;
}

const named = (fault: string, rest: object = {}) => {
  const id = randomUUID();
  return { id, body: chatBody({ sandbox_fault: `id=${id}; ${fault}`, ...rest }) };
};

function receiptIn(text: string): Receipt {
  const json = text.startsWith('data: ') ? payloadsIn(text).at(-2)! : text;
  return (JSON.parse(json) as { receipt: Receipt }).receipt;
}

describe.each([false, true])('a hundred equal requests at once (stream: %s)', (stream) => {
  it('a hundred equal requests at once are one upstream call, one receipt, one ledger entry, and a hundred equal answers [idempotency.replay]', async () => {
    const before = await integrated(system);
    const { id, body } = named('stall=300', { stream });
    const key = randomUUID();
    const seen = await Promise.all(
      Array.from({ length: 100 }, (_, i) => send(body, key, { api: i % 2 })),
    );
    expect(new Set(seen.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(seen.map(({ text }) => text)).size).toBe(1);
    expect(new Set(seen.map(({ receiptId }) => receiptId)).size).toBe(1);
    expect(seen.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await upstreamCalls(system, id)).toHaveLength(1);
    await expectSigned(system, receiptIn(seen[0]!.text));
    const later = await send(body, key);
    expect(later).toMatchObject({ text: seen[0]!.text, replayed: true });
    const after = await integrated(system);
    expect(after.receipts - before.receipts).toBe(1);
    expect(after.entries - before.entries).toBe(1);
    // None but the first cost anything of the day's budget.
    expect(later.today).toBe(Math.min(...seen.map(({ today }) => today)));
    if (stream) expect(payloadsIn(later.text).at(-1)).toBe('[DONE]');
  });
});

describe('an idempotent request', () => {
  it('an idempotent request whose api process is killed is finished by the pipeline and kept for its retry [idempotency.survives, survives.api-idempotent]', async () => {
    const doomed = await system.start('api');
    const baseUrl = `http://127.0.0.1:${doomed.port}/v1`;
    for (const stream of [false, true]) {
      const { id, body } = named('stall=1000', { stream });
      const key = randomUUID();
      const lost = post(system, '/chat/completions', body, {
        headers: { 'idempotency-key': key },
        baseUrl: stream ? system.baseUrl : baseUrl,
      }).catch(() => null);
      await until(async () => (await upstreamCalls(system, id)).length === 1);
      if (!stream) doomed.kill('SIGKILL');
      const retry = await send(body, key, { api: 1 });
      expect(retry).toMatchObject({ status: 200, replayed: true });
      expect(await upstreamCalls(system, id)).toHaveLength(1);
      await expectSigned(system, receiptIn(retry.text));
      await lost;
    }
    await doomed.exited;
  });

  it('an idempotent request whose inference worker is killed is run by another, with one receipt [codes.worker_lost]', async () => {
    const before = await integrated(system);
    const { id, body } = named('stall=1500');
    const key = randomUUID();
    const first = send(body, key);
    await until(async () => (await upstreamCalls(system, id)).length === 1);
    const [pending] = (await redis.xpending(
      '{s0}:lane:inference:eu-west',
      'workers',
      '-',
      '+',
      1,
    )) as [string, string][];
    const pid = Number(/-(\d+)-[0-9a-f]+$/.exec(pending![1])![1]);
    system
      .processes('inference')
      .find((one) => one.pid === pid)!
      .kill('SIGKILL');
    const [one, other] = await Promise.all([first, send(body, key, { api: 1 })]);
    expect(one).toMatchObject({ status: 200, replayed: false });
    expect(other).toMatchObject({ status: 200, replayed: true, text: one.text });
    expect((await upstreamCalls(system, id)).length).toBeLessThanOrEqual(2);
    expect((await integrated(system)).receipts - before.receipts).toBe(1);
    await system.start('inference');
  });

  it('an idempotent request goes on when its client leaves, and the retry finds the answer [idempotency.survives]', async () => {
    const { id, body } = named('stall=500');
    const key = randomUUID();
    const abort = new AbortController();
    const left = post(system, '/chat/completions', body, {
      headers: { 'idempotency-key': key },
      signal: abort.signal,
    });
    await until(async () => (await upstreamCalls(system, id)).length === 1);
    abort.abort();
    await expect(left).rejects.toThrow();
    const retry = await send(body, key);
    expect(retry).toMatchObject({ status: 200, replayed: true });
    expect(receiptIn(retry.text).credentialSubject.outcome).toBe('complete');
    expect((await upstreamCalls(system, id)).map(({ state }) => state)).toEqual(['finished']);
  });

  it('the answer to an idempotent request is kept for 24 hours [idempotency.replay]', async () => {
    const { body } = named('');
    const key = randomUUID();
    await send(body, key);
    const keys = (await redis.keys('*:idem:*')).filter((name) => !name.endsWith(':waiters'));
    expect(keys.length).toBeGreaterThanOrEqual(2);
    for (const name of keys) {
      const left = await redis.ttl(name);
      expect(left).toBeGreaterThan(86_000);
      expect(left).toBeLessThanOrEqual(86_400);
    }
  });

  it('an idempotency key with another body is refused, and the first answer stays [codes.idempotency]', async () => {
    const key = randomUUID();
    const { body } = named('');
    const first = await send(body, key);
    const other = await send(named('').body, key);
    expect(other.status).toBe(400);
    expect(JSON.parse(other.text)).toMatchObject({
      error: { code: 'idempotency_key_reused', param: 'Idempotency-Key' },
    });
    expect((await send(body, key)).text).toBe(first.text);
  });

  it('another organisation and another route may use the same idempotency key [idempotency.scope]', async () => {
    const key = randomUUID();
    const { body } = named('');
    const mine = await send(body, key);
    const theirs = await post(system, '/chat/completions', body, {
      key: system.demo.keys.audit_plus,
      headers: { 'idempotency-key': key },
    });
    expect(theirs.headers.get('idempotent-replayed')).toBeNull();
    expect(theirs.headers.get('x-receipt-id')).not.toBe(mine.receiptId);
    const legacy = await send({ model: 'llama-3.1-8b', prompt: 'The sea', max_tokens: 3 }, key, {
      path: '/completions',
    });
    expect(legacy).toMatchObject({ status: 200, replayed: false });
  });
});

const PACED = chatBody({ stream: true, max_tokens: 40, sandbox_fault: 'pace=20' });

/** Reads until something of the answer has come; the rest is read by the one who is returned. */
async function begun(key: string, holder: StartedProcess): Promise<() => Promise<string>> {
  const response = await post(system, '/chat/completions', PACED, {
    headers: { 'idempotency-key': key },
    baseUrl: `http://127.0.0.1:${holder.port}/v1`,
  });
  expect(response.status).toBe(200);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = (await reader.read()).value ?? '';
  return async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return text;
      text += value;
    }
  };
}

const askAgain = (key: string): Promise<Response> =>
  post(system, '/chat/completions', PACED, {
    headers: { 'idempotency-key': key },
    baseUrl: system.baseUrls[1]!,
  });

/** Receipts of complete answers to these requests. */
async function completeReceipts(): Promise<number> {
  await integrated(system);
  const { rows } = await system.database.pool.query<{ body: Buffer }>(
    'select body from ledger_body',
  );
  return rows.filter(({ body }) => body.toString().includes('"outcome":"complete"')).length;
}

describe('a stream with an Idempotency-Key', () => {
  /** The api process that the first request of each is sent to. */
  let holder: StartedProcess;
  beforeAll(async () => {
    holder = await system.start('api');
  });

  it('whose api process is stopped goes on when it wakes; meanwhile a retry elsewhere gets the same answer', async () => {
    const before = await completeReceipts();
    const rest = await begun('stopped', holder);
    process.kill(holder.pid, 'SIGSTOP');
    const retried = await askAgain('stopped');
    const text = await retried.text();
    process.kill(holder.pid, 'SIGCONT');
    expect(retried.headers.get('idempotent-replayed')).toBe('true');
    const first = await rest();
    expect(payloadsIn(text)).toEqual(payloadsIn(first));
    expect(payloadsIn(first).at(-1)).toBe('[DONE]');
    expect(await completeReceipts()).toBe(before + 1);
  });

  it('whose api process is killed is not run again: a retry gets its answer and the one receipt', async () => {
    const before = await completeReceipts();
    const rest = await begun('killed', holder);
    holder.kill('SIGKILL');
    await expect(rest()).rejects.toThrow();
    const retried = await askAgain('killed');
    const payloads = payloadsIn(await retried.text());
    expect(retried.headers.get('idempotent-replayed')).toBe('true');
    expect(payloads.at(-1)).toBe('[DONE]');
    expect(payloads.join('')).toContain('"proofValue"');
    expect(await completeReceipts()).toBe(before + 1);
  });
});

describe('what has changed since the first request', () => {
  it('a stored answer is given back though its region is degraded now [idempotency.replay]', async () => {
    const { id, body } = named('', { region: 'eu-west' });
    const key = randomUUID();
    const first = await send(body, key);
    expect(first.status).toBe(200);
    await redis.hset('regions:status', 'eu-west', 'degraded');
    try {
      await until(
        async () =>
          (await codeOf(
            await post(system, '/chat/completions', chatBody({ region: 'eu-west' })),
          )) === 'region_degraded',
      );
      expect(await send(body, key)).toMatchObject({ text: first.text, replayed: true });
      expect(await upstreamCalls(system, id)).toHaveLength(1);
    } finally {
      await redis.hdel('regions:status', 'eu-west');
      await until(
        async () => (await post(system, '/chat/completions', chatBody({ region: 'eu-west' }))).ok,
      );
    }
  });

  it('the region of the header is part of what identical requests have in common [idempotency.scope]', async () => {
    const key = randomUUID();
    const { body } = named('');
    const from = async (region: string) =>
      post(system, '/chat/completions', body, {
        headers: { 'idempotency-key': key, 'x-region': region },
      });
    expect((await from('eu-west')).status).toBe(200);
    expect(await codeOf(await from('us-east'))).toBe('idempotency_key_reused');
    expect((await from('eu-west')).headers.get('idempotent-replayed')).toBe('true');
  });
});

describe('a large stored stream', () => {
  it('a stored stream of more than 8 MiB is replayed whole, also to a slow reader', async () => {
    const { body } = named('', { stream: true, max_tokens: 50_000 });
    const key = randomUUID();
    // On a busy machine its reader falls so far behind that it is cut off: what is stored is whole all the same.
    const first = await send(body, key).catch(() => null);
    let again: Awaited<ReturnType<typeof send>>;
    await until(async () => {
      again = await send(body, key);
      return again.replayed;
    });
    const { text } = again!;
    expect(text.length).toBeGreaterThan(9_000_000);
    expect(first === null || first.text === text, first?.text.slice(-1_000)).toBe(true);
    const slow = await post(system, '/chat/completions', body, {
      headers: { 'idempotency-key': key },
    });
    let length = 0;
    for await (const chunk of slow.body!) {
      length += chunk.length;
      await turn();
    }
    expect(length).toBe(Buffer.byteLength(text));
  });
});

describe('answers that are not kept', () => {
  it('an inference error frees the idempotency key, and the retry runs [idempotency.failures]', async () => {
    // Pinned, or another region would answer it.
    const { body } = named('status=500; fail-first=2', { region: 'eu-west' });
    const key = randomUUID();
    const waiting = Promise.all([send(body, key), send(body, key, { api: 1 })]);
    for (const seen of await waiting) {
      expect(seen).toMatchObject({ status: 502, replayed: false });
    }
    expect(await send(body, key)).toMatchObject({ status: 200, replayed: false });
  });

  it('a stream that broke off frees the idempotency key', async () => {
    const { body } = named('cut=close; cut-after=2; fail-first=1', { stream: true });
    const key = randomUUID();
    expect((await send(body, key)).text).toContain('"error"');
    const retry = await send(body, key);
    expect(retry.replayed).toBe(false);
    expect(payloadsIn(retry.text).at(-1)).toBe('[DONE]');
  });

  it('a refusal by validation or screening frees the idempotency key [idempotency.failures]', async () => {
    const key = randomUUID();
    const { body } = named('');
    expect((await send({ ...body, temperature: 9 }, key)).status).toBe(400);
    expect((await send({ ...body, model: 'nope' }, key)).status).toBe(400);
    expect(await send(body, key)).toMatchObject({ status: 200, replayed: false });
  });

  it('an answer whose required receipt could not be made frees the idempotency key', async () => {
    const { id, body } = named('', { model: 'sandbox-unsized', receipt: 'required' });
    const key = randomUUID();
    for (const calls of [1, 2]) {
      const response = await post(system, '/chat/completions', body, {
        headers: { 'idempotency-key': key },
      });
      expect(await codeOf(response)).toBe('receipt_generation_failed');
      expect(await upstreamCalls(system, id)).toHaveLength(calls);
    }
  });
});

describe('a large answer', () => {
  it('a large answer moves to PostgreSQL, is replayed from there byte by byte, and is deleted when its time is over', async () => {
    const input = Array.from({ length: 700 }, (_, i) => `buoy ${i}`);
    const body = { model: 'qwen3-embedding-8b', input, encoding_format: 'base64' };
    const key = randomUUID();
    const first = await send(body, key, { path: '/embeddings' });
    expect(first.status).toBe(200);
    const count = async () => {
      const { rows } = await system.database.pool.query<{ n: number; bytes: number }>(
        'select count(*)::int as n, max(length(packed)) as bytes from stored_answer',
      );
      return rows[0]!;
    };
    await until(async () => (await count()).n === 1, 'it is in PostgreSQL');
    expect((await count()).bytes).toBeGreaterThan(1024 * 1024);
    await until(async () => {
      const again = await send(body, key, { path: '/embeddings', api: 1 });
      expect(again.text).toBe(first.text);
      return again.replayed;
    });
    for (const name of await redis.keys('*:answer:*')) {
      expect(await redis.strlen(name)).toBeLessThan(1024 * 1024);
    }
    const pool = createPool({
      url: system.database.url,
      role: 'docket_housekeeping',
      max: 1,
      applicationName: 'test',
    });
    expect(await dropExpiredAnswers(pool, 10)).toBe(0);
    await system.database.pool.query("update stored_answer set expires_at = now() - interval '1s'");
    expect(await dropExpiredAnswers(pool, 10)).toBe(1);
    await pool.end();
    const gone = await send(body, key, { path: '/embeddings' });
    expect(gone.status).toBe(500);
  });
});

describe('an answer after those that Redis has room for', () => {
  it('leaves no more than a claim in Redis at any size, and is replayed with its receipt byte by byte [idempotency.replay]', async () => {
    const { orgId } = system;
    const day = Math.floor(Date.now() / DAY_MS);
    // Midnight may pass.
    const counts = [day, day + 1].map((on) => keptKey(idempotencyKey(0, orgId, 'any'), on));
    for (const count of counts) await redis.set(count, 256 * 1024 * 1024);
    const before = new Set(await redis.keys('*:idem:*'));
    for (const stream of [false, true]) {
      const body = chatBody({ stream });
      const key = randomUUID();
      const first = await send(body, key);
      expect(first.status).toBe(200);
      const again = await send(body, key, { api: 1 });
      expect([again.replayed, again.text]).toEqual([true, first.text]);
    }
    const left = (await redis.keys('*:idem:*')).filter((name) => !before.has(name));
    expect(left).toHaveLength(2);
    for (const name of left) {
      const bytes = (await redis.memory('USAGE', name)) as number;
      expect(bytes).toBeLessThanOrEqual(CLAIM_BYTES_MAX);
    }
    await redis.del(...counts);
  });
});

it('after all of this, nothing was receipted twice, and no ledger has a gap', async () => {
  expect(await integrated(system)).toMatchObject({ gaps: 0 });
  const { receipts, distinct } = await tally(system);
  expect(distinct).toBe(receipts);
});
