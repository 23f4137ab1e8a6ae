import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { createTestDatabase } from '#test/support/database.ts';
import { runDocket } from '#test/support/docket-cli.ts';

const database = await createTestDatabase();
const directory = await mkdtemp(join(tmpdir(), 'docket-wrong-'));
afterAll(() => rm(directory, { recursive: true }));
const text = join(directory, 'nonsense');
await writeFile(text, 'nonsense\n');
const MISSING = join(directory, 'missing');
const ENV = { DATABASE_URL: database.url, SIGNING_KEYS_DIR: join(directory, 'keys') };
const WHY = ['--reason', 'x'];
const NOBODY = 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF';

/** Every command of an operator with an argument that is wrong: what does not exist, what is no such thing. */
const WRONG: readonly string[][] = [
  ['accounts', 'list', '--state', 'nope'],
  ['accounts', 'list', '--limit', 'many'],
  ['accounts', 'show', 'nope'],
  ['accounts', 'screen', 'nope'],
  ['accounts', 'activate', NOBODY],
  ['accounts', 'approve', NOBODY, ...WHY, '--screening', 'scr_x'],
  ['accounts', 'suspend', NOBODY, ...WHY, '--ticket', ''],
  ['accounts', 'close', NOBODY, '--reason', ''],
  ['accounts', 'set-plan', NOBODY, 'gold'],
  ['accounts', 'set-limits', NOBODY, '--rps', 'many'],
  ['accounts', 'sign', NOBODY, '--kind', 'oral', '--document', text, '--signatory', 'B'],
  ['accounts', 'sign', NOBODY, '--kind', 'pilot', '--document', MISSING, '--signatory', 'B'],
  ['audit', 'verify', '--org', 'nope'],
  ['catalogue', 'check', MISSING],
  ['completion', 'csh'],
  ['estimate', '--profile', 'nope'],
  ['exports', 'create', '--org', 'nope'],
  ['exports', 'create', '--org', NOBODY, '--from', 'yesterday'],
  ['exports', 'wait', 'nope', '--org', NOBODY],
  ['exports', 'download', 'nope', '--org', NOBODY],
  ['exports', 'wait', 'exp_x', '--url', 'not a url', '--key-file', text],
  ['exports', 'wait', 'exp_x', '--url', 'http://127.0.0.1:1/v1', '--key-file', MISSING],
  ['keys', 'list', '--org', 'nope'],
  ['keys', 'issue', '--org', 'nope'],
  ['keys', 'issue', '--org', NOBODY, '--expires', 'never'],
  ['keys', 'rotate', 'nope', '--org', NOBODY],
  ['keys', 'revoke', 'nope', '--org', NOBODY, ...WHY],
  ['keys', 'revoke', ...WHY],
  ['keys', 'restore', 'nope', '--org', NOBODY, ...WHY],
  ['keys', 'rotate-lane', '--in', '1441'],
  ['keys', 'rotate-lane'],
  ['keys-signing', 'rotate', 'nope'],
  ['keys-signing', 'revoke', 'receipts', 'nope'],
  ['ledger', 'fsck', '--org', 'nope'],
  ['ledger', 'resume', '--org', 'nope'],
  ['ledger', 'requeue', 'nope'],
  ['ledger', 'requeue', 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC'],
  ['policy', 'test', MISSING],
  ['policy', 'test', text, '--pack', MISSING],
  ['policy', 'test', text, '--pack', text],
  ['receipts', 'show', 'nope'],
  ['receipts', 'list', '--org', 'nope'],
  ['receipts', 'list', '--limit', 'many'],
  ['receipts', 'recalculate', '--org', 'nope', '--since', '2026-01-01'],
  ['receipts', 'recalculate', '--org', NOBODY, '--since', 'yesterday'],
  ['recompute', MISSING],
  ['recompute', text],
  ['reconcile', MISSING],
  ['reconcile', MISSING, '--invoices', text],
  ['reconcile', text, '--invoices', text, '--tolerance', 'much'],
  ['reconcile', text, '--invoices', text, '--model', 'nope'],
  ['regions', 'set', 'nope', 'degraded'],
  ['regions', 'set', 'eu-west', 'broken'],
  ['review', 'list', '--limit', '0'],
  ['review', 'show', 'nope'],
  ['review', 'decide', 'nope', 'approve', ...WHY, '--screening', 'scr_x'],
  ['sample', MISSING],
  ['sample', text, '--size', 'many'],
  ['sample', text, '--seed', 'two words'],
  ['sanctions', 'import', MISSING],
  ['sanctions', 'import', text],
  ['usage', '--org', 'nope'],
  ['usage', '--org', NOBODY],
  ['usage', '--org', NOBODY, '--group-by', 'colour'],
  ['usage', '--org', NOBODY, '--from', 'yesterday'],
  ['usage', '--org', NOBODY, '--from', '2026-11-02', '--to', '2026-11-01'],
];

/** Of ours, of a catalogue, or of the parser of arguments, which says where to look besides. */
const ONE_LINE = /^(docket: .+|\/.+:\d+: .+|error: .+\n\(add --help for what is possible\))\n$/;

it.each(WRONG.map((args) => [args.join(' ').replaceAll(directory, ''), args] as const))(
  'docket %s fails with one line that says why',
  async (_what, args) => {
    const { code, stdout, stderr } = await runDocket(args, ENV);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(ONE_LINE);
    expect(stderr).not.toMatch(/\bat .*\.ts|invalid input syntax|undefined|\[object/);
  },
);

it.each([
  [['accounts', 'show', 'nope', '--json'], 'organisation_not_found'],
  [['accounts', 'list', '--limit', 'many', '--json'], 'invalid_limit'],
  [['accounts', 'list', '--limt', '3', '--json'], 'invalid_arguments'],
  [['keys', 'issue', '--json'], 'invalid_arguments'],
])('a program reads what is wrong with %j from one line of JSON', async (args, code) => {
  const result = await runDocket(args, ENV);
  expect([result.code, result.stdout]).toEqual([1, '']);
  expect(result.stderr.trimEnd()).not.toContain('\n');
  const { error } = JSON.parse(result.stderr) as { error: { code: string; message: string } };
  expect(error).toEqual({ code, message: expect.stringMatching(/\w/) });
});
