import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { ROLES } from '#shared/config/settings.ts';
import { readPack } from '#shared/screening/files/load.ts';
import { chatBody, post } from '#test/support/calls.ts';
import { connectTo } from '#test/support/lanes.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** Stands in every prompt; nothing else contains it. */
const MARKER = 'zwetschgenknoedel-4711';

let system: System;

beforeAll(async () => {
  system = await startSystem({ replicas: {}, env: { LOG_LEVEL: 'trace' } });
  for (const role of ['housekeeping', 'purge'] as const) await system.start(role);
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

describe('secrets, after traffic of every kind', () => {
  it(
    'no log, store or metric holds a key, a password or a word of a prompt',
    { tags: ['keys.shown-once'] },
    async () => {
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
      for (const [i, one] of processes.entries())
        expect(found(`log ${i}`, one.output())).toEqual([]);
      const logged = processes.map((one) => one.output()).join('\n');
      expect(logged).toContain('"event":"refused"');
      expect(logged).toContain('"event":"upstream_failed"');
    },
  );
});
