import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { migrateToLatest } from '#migrations/migrate.ts';
import { ROLES } from '#shared/config/settings.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { INLINE_BYTES_MAX } from '#shared/lanes/redis/admission.ts';
import { chatBody, post } from '#test/support/calls.ts';
import { connectTo } from '#test/support/lanes.ts';
import { integrated } from '#test/support/receipts.ts';
import { startSystem, type System } from '#test/support/system.ts';

/** Stands in every prompt, and as its echo in every answer; nothing else contains it. */
const PROMPT = 'zwetschgenknoedel-4711';
const ANSWER = 'kaiserschmarrn-0815';
/** Stands in every chunk of a stream: its answer comes in pieces. */
const FRAME = 'chat.completion.chunk';

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
async function traffic(system: System): Promise<void> {
  const messages = [{ role: 'user', content: `Tell me about ${PROMPT}.` }];
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
        messages: [{ role: 'user', content: PROMPT + ' word'.repeat(60_000) }],
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
  const home = mkdtempSync(join(tmpdir(), 'docket-sealed-'));
  const redisDir = join(home, 'redis');
  mkdirSync(redisDir);
  const postgres = await startEmbeddedPostgres({ dataDir: join(home, 'postgres'), durable: false });
  await migrateToLatest(postgres.url);
  const pool = createPool({ url: postgres.url, max: 4, applicationName: 'test' });
  onTestFinished(async () => {
    await pool.end();
    await postgres.stop();
    rmSync(home, { recursive: true, force: true });
  });
  const system = await startSystem({
    replicas: {},
    database: { url: postgres.url, pool },
    redis: { dataDir: redisDir },
    env: { LOG_LEVEL: 'trace' },
  });
  await traffic(system);
  await integrated(system);
  const redis = connectTo(system.redis.url);
  await redis.save();
  redis.disconnect();
  await pool.query('checkpoint');

  // What is looked through is where it would be: ids of requests stand in both.
  expect(filesWith(redisDir, '"orgId"').length).toBeGreaterThan(0);
  expect(filesWith(join(home, 'postgres'), 'rcpt_').length).toBeGreaterThan(0);
  for (const dir of [redisDir, join(home, 'postgres')]) {
    const base64 = [PROMPT, ANSWER].map((word) =>
      Buffer.from(word).toString('base64').slice(0, -3),
    );
    expect(filesWith(dir, PROMPT, ANSWER, FRAME, ...base64)).toEqual([]);
  }
  const logs = ROLES.flatMap((role) => system.processes(role)).map((one) => one.output());
  expect(logs.join('')).toContain('"event":"ready"');
  expect(logs.filter((text) => text.includes(PROMPT) || text.includes(ANSWER))).toEqual([]);
});
