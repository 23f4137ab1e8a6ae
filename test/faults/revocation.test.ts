import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ensureSigningKeys } from '#shared/receipts/signing/files/key-files.ts';
import { activeAccount, createRegistries, OPERATOR } from '#test/support/accounts.ts';
import { measured, tookMs } from '#test/support/control.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { ensureLaneKeys } from '#shared/lanes/files/lane-keys.ts';
import { startProcess, type StartedProcess } from '#test/support/processes.ts';
import { startTestRedis } from '#test/support/redis.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const redis = await startTestRedis({ durable: true });
const directory = await mkdtemp(join(tmpdir(), 'docket-keys-'));
afterAll(() => rm(directory, { recursive: true }));
const keysDir = join(directory, 'signing-keys');
const laneKeysDir = join(directory, 'lane-keys');
ensureSigningKeys(keysDir);
ensureLaneKeys(laneKeysDir);
const registries = createRegistries(database.poolAs('docket_operator'));
const STILL_GOOD: ReadonlySet<string> = new Set(['admitted', 'requests_per_second_exceeded']);
const env = {
  DATABASE_URL: database.url,
  REDIS_URL: redis.url,
  SIGNING_KEYS_DIR: keysDir,
  LANE_KEYS_DIR: laneKeysDir,
  PUBLIC_URL: 'https://gateway.example',
  // The shipped catalogue names it; nothing here calls a model.
  SANDBOX_URL: 'http://127.0.0.1:9',
};

const CHAT = { model: 'llama-3.1-8b', messages: [{ role: 'user', content: 'Is it high tide?' }] };

async function ask(process: StartedProcess, key: string): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${process.port}/v1/account`, {
    headers: { authorization: `Bearer ${key}` },
  });
  const body = (await reply.json()) as { error?: { code: string } };
  return body.error?.code ?? 'admitted';
}

/** Milliseconds for which the process goes on admitting the key, asked without a pause. */
async function admittedFor(process: StartedProcess, key: string): Promise<number> {
  const begun = performance.now();
  // A key that is still good may be asked about more often than its organisation may read.
  while (STILL_GOOD.has(await ask(process, key)));
  expect(await ask(process, key)).toBe('revoked_api_key');
  return performance.now() - begun;
}

describe('two api processes', () => {
  it('a key revoked through one api process is refused by the other within a second, and within five when notices are lost [keys.one-second, survives.revocation]', async () => {
    const [one, two] = await Promise.all([
      startProcess({ role: 'api', env }),
      startProcess({ role: 'api', env }),
    ]);
    const { id } = await activeAccount(registries);
    const admin = await registries.keys.issue(
      id,
      { name: 'admin', scopes: ['admin:keys'] },
      OPERATOR,
    );
    const issue = async (): Promise<{ id: string; plaintext: string }> => {
      const { key, plaintext } = await registries.keys.issue(id, { name: 'target' }, OPERATOR);
      for (const process of [one, two]) expect(await ask(process, plaintext)).toBe('admitted');
      return { id: key.id, plaintext };
    };
    const revoke = async (keyId: string): Promise<void> => {
      const reply = await fetch(`http://127.0.0.1:${one.port}/v1/keys/${keyId}/revoke`, {
        method: 'POST',
        headers: { authorization: `Bearer ${admin.plaintext}` },
      });
      expect(reply.status).toBe(200);
    };

    // What the other process says of itself: how many changes it has heard of, and of how many within a second.
    const heard = async (): Promise<{ of: number; inTime: number }> => {
      const metrics = await (await fetch(`http://127.0.0.1:${two.metricsPort}/metrics`)).text();
      const sample = (line: RegExp): number => Number(line.exec(metrics)?.[1] ?? 0);
      return {
        of: sample(/^docket_credential_change_delay_seconds_count\{.*\} (\d+)$/m),
        inTime: sample(/^docket_credential_change_delay_seconds_bucket\{le="1",.*\} (\d+)$/m),
      };
    };
    const told = await measured(
      1_000,
      async () => {
        const before = await heard();
        const { id: keyId, plaintext } = await issue();
        await revoke(keyId);
        const admittedMs = await admittedFor(two, plaintext);
        const after = await heard();
        return {
          admittedMs,
          heard: after.of - before.of,
          late: after.of - after.inTime - (before.of - before.inTime),
        };
      },
      ({ admittedMs, late }) => admittedMs < 1_000 && late === 0,
    );
    expect(told.admittedMs).toBeLessThan(1_000);
    expect(told.heard).toBeGreaterThan(0);
    expect(told.late).toBe(0);

    // Without its trigger the database says nothing: what is left is the age of what is in memory.
    const untold = async (): Promise<number> => {
      await database.pool.query('alter table api_key enable trigger api_key_announce');
      const { id: keyId, plaintext } = await issue();
      await database.pool.query('alter table api_key disable trigger api_key_announce');
      await revoke(keyId);
      return admittedFor(two, plaintext);
    };
    // It is 4.5 seconds old at most.
    expect(await tookMs(5_000, untold, 500)).toBeLessThan(5_000);
    expect(await Promise.all([one.stop(), two.stop()])).toEqual([0, 0]);
  });

  it('a body that drips in is refused when its key was revoked meanwhile, on every route [keys.one-second]', async () => {
    await database.pool.query('alter table api_key enable trigger api_key_announce');
    const process = await startProcess({ role: 'api', env });
    const { id } = await activeAccount(registries);
    const scopes = ['admin:keys', 'inference:write'] as const;
    const { key, plaintext } = await registries.keys.issue(
      id,
      { name: 'k', scopes: [...scopes] },
      OPERATOR,
    );
    const drip = (path: string, body: string) => {
      const head = [
        `POST ${path} HTTP/1.1`,
        'host: gateway.example',
        `authorization: Bearer ${plaintext}`,
        'content-type: application/json',
        `content-length: ${body.length}`,
        'connection: close',
        '',
        body.slice(0, 10),
      ].join('\r\n');
      const socket = connect(process.port, '127.0.0.1', () => socket.write(head));
      const chunks: Buffer[] = [];
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      const answered = new Promise<string>((resolve) =>
        socket.on('close', () => resolve(Buffer.concat(chunks).toString())),
      );
      return { finish: () => socket.write(body.slice(10)), answered };
    };
    const dripping = [
      drip('/v1/chat/completions', JSON.stringify(CHAT)),
      drip(
        '/v1/keys',
        JSON.stringify({ name: 'made by a revoked key', scopes: ['inference:write'] }),
      ),
    ];
    // Both have passed the check of their headers: the process has seen the key in use.
    await until(async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${process.metricsPort}/metrics`)).text();
      const lookedUp = metrics.matchAll(/^docket_credential_lookups_total\{.*\} (\d+)$/gm);
      return [...lookedUp].reduce((sum, [, count]) => sum + Number(count), 0) >= dripping.length;
    });
    await registries.keys.revoke(id, key.id, OPERATOR);
    await admittedFor(process, plaintext);
    for (const { finish } of dripping) finish();
    for (const { answered } of dripping) {
      const text = await answered;
      expect(text).toMatch(/^HTTP\/1\.1 401 /);
      expect(text).toContain('"code":"revoked_api_key"');
    }
    expect(await process.stop()).toBe(0);
  });
});
