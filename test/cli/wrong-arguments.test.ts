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
const BY = ['--actor', 'operator:ada'];
const WHY = ['--reason', 'x'];
const NOBODY = 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF';

/** Every command of an operator with an argument that is wrong: what does not exist, what is no such thing. */
const WRONG: readonly string[][] = [
  ['accounts', 'list', '--state', 'nope'],
  ['accounts', 'list', '--limit', 'many'],
  ['accounts', 'show', 'nope'],
  ['accounts', 'screen', 'nope'],
  ['accounts', 'activate', NOBODY, ...BY],
  ['accounts', 'approve', NOBODY, ...WHY, '--screening', 'scr_x', ...BY],
  ['accounts', 'suspend', NOBODY, ...WHY, '--actor', 'nobody at all:'],
  ['accounts', 'close', NOBODY, '--reason', '', ...BY],
  ['accounts', 'set-plan', NOBODY, 'gold', ...BY],
  ['accounts', 'set-limits', NOBODY, '--rps', 'many', ...BY],
  ['accounts', 'sign', NOBODY, '--kind', 'oral', '--document', text, '--signatory', 'B', ...BY],
  ['accounts', 'sign', NOBODY, '--kind', 'pilot', '--document', MISSING, '--signatory', 'B', ...BY],
  ['audit', 'verify', '--org', 'nope'],
  ['catalogue', 'check', MISSING],
  ['estimate', '--profile', 'nope'],
  ['exports', 'create', '--org', 'nope'],
  ['exports', 'create', '--org', NOBODY, '--from', 'yesterday'],
  ['exports', 'wait', 'nope', '--org', NOBODY],
  ['exports', 'download', 'nope', '--org', NOBODY],
  ['exports', 'wait', 'exp_x', '--url', 'not a url', '--key-file', text],
  ['exports', 'wait', 'exp_x', '--url', 'http://127.0.0.1:1/v1', '--key-file', MISSING],
  ['keys', 'list', '--org', 'nope'],
  ['keys', 'issue', '--org', 'nope', ...BY],
  ['keys', 'issue', '--org', NOBODY, '--expires', 'never', ...BY],
  ['keys', 'rotate', 'nope', '--org', NOBODY, ...BY],
  ['keys', 'revoke', 'nope', '--org', NOBODY, ...WHY, ...BY],
  ['keys', 'revoke', ...WHY, ...BY],
  ['keys', 'restore', 'nope', '--org', NOBODY, ...WHY, ...BY],
  ['keys-signing', 'rotate', 'nope'],
  ['keys-signing', 'revoke', 'receipts', 'nope'],
  ['ledger', 'fsck', '--org', 'nope'],
  ['ledger', 'resume', '--org', 'nope', ...BY],
  ['ledger', 'requeue', 'nope', ...BY],
  ['ledger', 'requeue', 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC', ...BY],
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
  ['reconcile', text],
  ['reconcile', MISSING, '--invoices', text],
  ['reconcile', text, '--invoices', text, '--tolerance', 'much'],
  ['reconcile', text, '--invoices', text, '--model', 'nope'],
  ['regions', 'set', 'nope', 'degraded'],
  ['regions', 'set', 'eu-west', 'broken'],
  ['review', 'list', '--limit', '0'],
  ['review', 'show', 'nope'],
  ['review', 'decide', 'nope', 'approve', ...WHY, '--screening', 'scr_x', ...BY],
  ['sample', MISSING],
  ['sample', text, '--size', 'many'],
  ['sample', text, '--seed', 'two words'],
  ['sanctions', 'import', MISSING, ...BY],
  ['sanctions', 'import', text, ...BY],
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
