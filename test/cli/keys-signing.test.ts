import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createAnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import { NOTE_TYPE } from '#shared/ledger/notes.ts';
import { parseVerifierKey } from '#shared/ledger/verifier-keys.ts';
import { createLaneKey } from '#shared/lanes/files/lane-keys.ts';
import {
  activeKey,
  ensureSigningKeys,
  keyPath,
  loadSigningKeys,
} from '#shared/receipts/signing/files/key-files.ts';
import { rotateSigningKey } from '#shared/receipts/signing/files/rotation.ts';
import { createAnchorWriter, knownKey } from '#test/support/anchor.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { type CommandResult, HERE, runDocket } from '#test/support/docket-cli.ts';

const database = await createTestDatabase();
const worker = database.poolAs('docket_ledger', 1);
const reader = createAnchorReader(database.poolAs('docket_api', 1));
const key = knownKey('receipts');
const writer = createAnchorWriter();
const directory = mkdtempSync(join(tmpdir(), 'docket-keys-signing-'));
ensureSigningKeys(directory);
afterAll(() => rmSync(directory, { recursive: true }));

const compromised = (...args: string[]): Promise<CommandResult> =>
  runDocket(['keys-signing', 'compromised', ...args], { DATABASE_URL: database.url });

beforeAll(async () => {
  await writer.turn(worker, { keys: [key] });
});

it('writes in the anchor log from where a key does not count, and who said so in the audit log', async () => {
  const named = await compromised(key.key, '--index', '1', '--reason', 'laptop lost');
  expect(named.stdout).toContain(key.key);
  expect(named.code).toBe(0);
  const dated = await compromised(key.key, '--since', '2100-01-01T00:00:00Z', '--json');
  expect(JSON.parse(dated.stdout)).toEqual({ key: key.key, from: 1 });
  expect((await compromised(key.key)).code).toBe(0);
  await writer.turn(worker, { keys: [key] });
  const events = (await reader.keyEvents()).slice(1).map(({ event }) => event);
  expect(events).toMatchObject([
    { event: 'compromised', key: key.key, from: 1 },
    { event: 'compromised', key: key.key, from: 1 },
    { event: 'compromised', key: key.key, from: 3 },
  ]);
  const { rows } = await database.pool.query(
    `select org_id, actor_id, subject, reason from audit_log where action = 'signing_key.compromised' order by sequence limit 1`,
  );
  expect(rows).toEqual([
    { org_id: 'service', actor_id: HERE, subject: 'receipts', reason: 'laptop lost' },
  ]);
});

it.each([
  [['did:web:nobody#unknown']],
  [[key.key, '--index', '999']],
  [[key.key, '--index', 'x']],
  [[key.key, '--since', 'yesterday']],
  [[key.key, '--since', '2026-01-01', '--index', '1']],
])('keys-signing compromised refuses with one line: %j', async (args) => {
  const { code, stderr } = await compromised(...args);
  expect(code).toBe(1);
  expect(stderr.trim().split('\n')).toHaveLength(1);
});

it.each([
  ['before its options', [`-${'uqY9_-'.repeat(7)}`, '--reason', 'x']],
  ['after its options', ['--reason', 'x', `-${'uqY9_-'.repeat(7)}`]],
  ['with a minus and the letter of an option', [`-h${'A'.repeat(41)}`]],
  ['with two of them', [`--${'A'.repeat(41)}`]],
])('a thumbprint that begins with a minus is a thumbprint, %s', async (_where, args) => {
  const { code, stderr } = await runDocket(['keys-signing', 'revoke', 'receipts', ...args], {
    SIGNING_KEYS_DIR: directory,
  });
  const thumbprint = args.find((arg) => arg.length === 43);
  expect(stderr).toContain(`docket: ${thumbprint} is not a retired key for receipts.`);
  expect(code).toBe(1);
});

it('a key that an agent is to hold is put to use where one holds it; until then the old one signs [receipts.signing-agent]', async () => {
  const dir = join(directory, 'held');
  const before = ensureSigningKeys(dir);
  const { publicKey } = generateKeyPairSync('ed25519');
  const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url');
  const published = { publicKey: raw, publishedBeforeUseMs: 0 };
  expect(rotateSigningKey(dir, 'packs', Date.now(), published).step).toBe('published');
  const longAgo = new Date(0);
  utimesSync(keyPath(dir, 'packs', 'next'), longAgo, longAgo);
  const rotate = (environment: Record<string, string>) =>
    runDocket(['keys-signing', 'rotate', 'packs', '--reason', 'x'], {
      SIGNING_KEYS_DIR: dir,
      DATABASE_URL: database.url,
      ...environment,
    });
  const without = await rotate({});
  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('SIGNING_AGENT')]);
  const away = await rotate({ SIGNING_AGENT: join(dir, 'no-agent') });
  expect([away.code, away.stderr]).toEqual([1, expect.stringContaining('is away')]);
  const active = activeKey(loadSigningKeys(dir), 'packs');
  expect(active).toEqual(activeKey(before, 'packs'));
  expect(active.privateKeyPem).toBeDefined();
});

it('vkeys prints the keys of logs as C2SP tools take them, those of an organisation where one is named', async () => {
  const environment = { SIGNING_KEYS_DIR: directory, PUBLIC_URL: 'https://gateway.example/a' };
  const vkeysOf = async (...args: string[]): Promise<{ purpose: string; vkey: string }[]> => {
    const { stdout } = await runDocket(['keys-signing', 'vkeys', '--json', ...args], environment);
    return JSON.parse(stdout) as { purpose: string; vkey: string }[];
  };
  const publicKeyOf = (purpose: string): Uint8Array =>
    ensureSigningKeys(directory).find((each) => each.purpose === purpose)!.publicKey;
  const expected = (purpose: string, name: string) => ({
    purpose,
    key: { name, type: NOTE_TYPE, publicKey: Uint8Array.from(publicKeyOf(purpose)) },
  });
  const found = await vkeysOf('--org', 'org_1');
  expect(
    found.map(({ purpose, vkey }) => ({ purpose, key: parseVerifierKey(vkey) })),
  ).toMatchObject([
    expected('checkpoints', 'gateway.example/a/log/org_1'),
    expected('checkpoints', 'gateway.example/a/audit/org_1'),
    expected('anchor', 'gateway.example/a/anchor'),
  ]);
  expect((await vkeysOf()).map(({ purpose }) => purpose)).toEqual(['anchor']);
});

it('rotate-lane says where the key has to come and until when, also when the audit log could not be written', async () => {
  const keys = join(directory, 'lane-keys');
  createLaneKey(keys, 0);
  const { code, stdout, stderr } = await runDocket(['keys', 'rotate-lane'], {
    LANE_KEYS_DIR: keys,
    DATABASE_URL: 'postgres://127.0.0.1:1/none',
  });
  expect(stderr).toMatch(/\.key is made, but the audit log could not be written/);
  expect(code).toBe(1);
  expect(stdout).toMatch(/Bring it to LANE_KEYS_DIR of every machine .* before /);
  expect(stdout).toContain(join(keys, '19700101T000000Z.key'));
  const again = await runDocket(['keys', 'rotate-lane'], { LANE_KEYS_DIR: keys });
  expect(again.stderr).toMatch(/is there already, and seals from .*: bring it to/);
});
