import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { ROLES } from '#shared/config/settings.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { INLINE_BYTES_MAX } from '#shared/lanes/redis/admission.ts';
import { readPack } from '#shared/screening/files/load.ts';
import { chatBody, post } from '#test/support/calls.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { connectTo } from '#test/support/lanes.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** Stands in every prompt, and as its echo in every answer; nothing else contains it. */
const MARKER = 'zwetschgenknoedel-4711';
const ANSWER = 'kaiserschmarrn-0815';
/** Stands in every chunk of a stream: its answer comes in pieces. */
const FRAME = 'chat.completion.chunk';

let system: System;
/** Where the stores have their files. */
let redisDir: string;
let postgresDir: string;

beforeAll(async () => {
  const home = mkdtempSync(join(tmpdir(), 'docket-secrets-'));
  atFileEnd(() => rmSync(home, { recursive: true, force: true }));
  redisDir = join(home, 'redis');
  postgresDir = join(home, 'postgres');
  mkdirSync(redisDir);
  const postgres = await startEmbeddedPostgres({ dataDir: postgresDir, durable: false });
  atFileEnd(() => postgres.stop());
  await migrateToLatest(postgres.url);
  const pool = createPool({ url: postgres.url, max: 4, applicationName: 'test' });
  atFileEnd(() => pool.end());
  system = await startSystem({
    replicas: {},
    database: { url: postgres.url, pool },
    redis: { dataDir: redisDir },
    env: { LOG_LEVEL: 'trace' },
  });
});

/** Every file below a directory in which one of the words stands. */
function filesWith(dir: string, ...words: string[]): string[] {
  return (readdirSync(dir, { recursive: true }) as string[]).filter((name) => {
    const path = join(dir, name);
    if (!statSync(path).isFile()) return false;
    const bytes = readFileSync(path);
    return words.some((word) => bytes.includes(word));
  });
}

/** Prompts and answers by every way they take: whole, streamed, repeated, too large for a message, refused upstream. */
async function answers(): Promise<void> {
  const messages = [{ role: 'user', content: `Tell me about ${MARKER}.` }];
  const say = `say=${ANSWER}`;
  const long = `say=${`${ANSWER} `.repeat(16_000)}`;
  const key = (name: string) => ({ headers: { 'idempotency-key': name } });
  const calls: [object, ReturnType<typeof key>?][] = [
    [{ messages, sandbox_fault: say }],
    [{ messages, stream: true, sandbox_fault: say }],
    [{ messages, sandbox_fault: say }, key('whole')],
    [{ messages, stream: true, sandbox_fault: say }, key('streamed')],
    [
      {
        messages: [{ role: 'user', content: MARKER + ' word'.repeat(60_000) }],
        sandbox_fault: say,
      },
    ],
    [{ messages, n: 2, max_tokens: 100_000, sandbox_fault: long }, key('large')],
    [{ messages, stream: true, sandbox_fault: 'cut=reset; cut-after=2' }],
    [{ messages, sandbox_fault: 'status=400' }],
  ];
  const texts = await Promise.all(
    calls.map(async ([body, options]) =>
      (
        await post(system, '/chat/completions', chatBody({ max_tokens: 100, ...body }), options)
      ).text(),
    ),
  );
  // A stream brings the answer in pieces.
  for (const i of [1, 3]) expect(texts[i]).toContain(FRAME);
  for (const i of [0, 2, 4, 5]) expect(texts[i]).toContain(ANSWER);
  expect(texts[5]!.length).toBeGreaterThan(INLINE_BYTES_MAX);
  for (const stream of [false, true]) {
    const response = { model: 'llama-3.1-8b', input: `Tell me about ${MARKER}.`, stream };
    const kept = await post(system, '/responses', { ...response, sandbox_fault: say });
    expect(await kept.text()).toContain('"store":true');
  }
  const replayed = await post(
    system,
    '/chat/completions',
    chatBody({ max_tokens: 100, ...calls[2]![0] }),
    key('whole'),
  );
  expect(replayed.headers.get('idempotent-replayed')).toBe('true');
  expect(await replayed.text()).toContain(ANSWER);
}

it('no prompt and no answer rests in clear: not in the files of Redis or PostgreSQL, and not in a log', async () => {
  await answers();
  await integrated(system);
  const redis = connectTo(system.redis.url);
  await redis.save();
  redis.disconnect();
  await system.database.pool.query('checkpoint');

  // What is looked through is where it would be: ids of requests stand in both.
  expect(filesWith(redisDir, '"orgId"').length).toBeGreaterThan(0);
  expect(filesWith(postgresDir, 'rcpt_').length).toBeGreaterThan(0);
  for (const dir of [redisDir, postgresDir]) {
    const base64 = [MARKER, ANSWER].map((word) =>
      Buffer.from(word).toString('base64').slice(0, -3),
    );
    expect(filesWith(dir, MARKER, ANSWER, FRAME, ...base64)).toEqual([]);
  }
  const logs = ROLES.flatMap((role) => system.processes(role)).map((one) => one.output());
  expect(logs.join('')).toContain('"event":"ready"');
  expect(logs.filter((text) => text.includes(MARKER) || text.includes(ANSWER))).toEqual([]);
});

/** Every way a request can go: good, refused, failed, broken off, left, repeated, too large for a lane. */
async function traffic(): Promise<void> {
  const messages = [{ role: 'user', content: `Tell me about ${MARKER}.` }];
  const harmful = readPack().rules[0]!.positive[0]!;
  const bodies: object[] = [
    chatBody({ messages }),
    chatBody({ messages, stream: true }),
    chatBody({ messages, sandbox_fault: `say=${MARKER} is good` }),
    chatBody({ messages, stream: true, sandbox_fault: 'cut=reset; cut-after=2' }),
    chatBody({ messages, sandbox_fault: 'status=500' }),
    chatBody({ messages, sandbox_fault: 'status=400' }),
    chatBody({ messages, sandbox_fault: 'malformed-after=0' }),
    chatBody({ messages, temperature: 9, user: MARKER }),
    chatBody({ messages: [{ role: 'user', content: `${harmful} ${MARKER}` }] }),
    chatBody({ messages: [{ role: 'user', content: `${MARKER} `.repeat(20_000) }] }),
    chatBody({ messages, model: 'mixtral-8x7b', max_tokens: 1, stop: [MARKER] }),
  ];
  await Promise.all(
    bodies.map(async (body) => (await post(system, '/chat/completions', body)).arrayBuffer()),
  );
  const bad = `{"messages":"${MARKER}"`;
  await (await post(system, '/chat/completions', bad)).arrayBuffer();
  await (await post(system, `/receipts/${MARKER}`, '{}')).arrayBuffer();
  await post(system, '/chat/completions', chatBody({ messages, sandbox_fault: 'stall=60000' }), {
    signal: AbortSignal.timeout(200),
  }).catch(() => null);
  await post(system, '/embeddings', { model: 'bge-m3', input: [MARKER] });
}

/** Everything that must not be found outside the caller's and the operator's hands. */
function secrets(): string[] {
  const pems = (readdirSync(system.signingKeysDir, { recursive: true }) as string[])
    .filter((name) => name.endsWith('.pem'))
    .map((name) => readFileSync(join(system.signingKeysDir, name), 'utf8'));
  const privateKeys = pems.flatMap((pem) => pem.split('\n').filter((line) => line.length > 40));
  const password = new URL(system.database.url).password;
  return [
    MARKER,
    ...Object.values(system.demo.keys),
    ...privateKeys,
    ...(password === '' ? [] : [password]),
  ];
}

/** Where one of the secrets stands in a text, as plain text or in base64; the secret itself is not repeated. */
function found(where: string, text: string): string[] {
  return secrets().flatMap((secret, i) => {
    const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '').slice(0, -2);
    return text.includes(secret) || text.includes(base64) ? [`${where}: secret ${i}`] : [];
  });
}

async function dumpRedis(): Promise<string> {
  const client = connectTo(system.redis.url);
  try {
    const parts: string[] = [];
    for (const name of await client.keys('*')) {
      parts.push(name);
      const type = await client.type(name);
      const read: Record<string, () => Promise<unknown>> = {
        string: () => client.get(name),
        hash: () => client.hgetall(name),
        list: () => client.lrange(name, 0, -1),
        set: () => client.smembers(name),
        zset: () => client.call('ZRANGE', name, 0, -1),
        stream: () => client.xrange(name, '-', '+'),
        // It has expired since it was listed.
        none: () => Promise.resolve(null),
      };
      parts.push(JSON.stringify(await read[type]!()));
    }
    return parts.join('\n');
  } finally {
    client.disconnect();
  }
}

async function dumpPostgres(pool: Pool): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `select quote_ident(table_name) as name from information_schema.tables
     where table_schema = 'public' and table_type = 'BASE TABLE'`,
  );
  const parts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<Record<string, unknown>>(`select * from ${name}`);
    for (const row of rows) {
      for (const value of Object.values(row)) {
        parts.push(Buffer.isBuffer(value) ? value.toString('latin1') : JSON.stringify(value));
      }
    }
  }
  return parts.join('\n');
}

// It stops the processes: it is the last.
describe('secrets, after traffic of every kind', () => {
  beforeAll(async () => {
    for (const role of ['housekeeping', 'purge'] as const) await system.start(role);
  });

  it('no log, store or metric holds a key, a password or a word of a prompt [keys.shown-once]', async () => {
    expect(found('a trap', `x ${MARKER} x`)).toHaveLength(1);
    expect(found('a trap', system.key)).toHaveLength(1);
    await traffic();
    await integrated(system);
    const processes = ROLES.flatMap((role) => system.processes(role));
    expect(processes.length).toBeGreaterThanOrEqual(6);
    for (const { metricsPort } of processes) {
      const metrics = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
      expect(found('metrics', await metrics.text())).toEqual([]);
    }
    // A process trims what it has read from its inbox with its next sign of life.
    await until(async () => found('redis', await dumpRedis()).length === 0, 'Redis is clean');
    expect(found('postgres', await dumpPostgres(system.database.pool))).toEqual([]);
    const codes = await Promise.all(processes.map((one) => one.stop()));
    expect(new Set(codes)).toEqual(new Set([0]));
    for (const [i, one] of processes.entries()) expect(found(`log ${i}`, one.output())).toEqual([]);
    const logged = processes.map((one) => one.output()).join('\n');
    expect(logged).toContain('"event":"refused"');
    expect(logged).toContain('"event":"upstream_failed"');
  });
});
