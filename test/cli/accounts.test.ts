import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import { hashKey } from '#shared/keys/format.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { HERE, runDocket } from '#test/support/docket-cli.ts';

const database = await createTestDatabase();
const directory = await mkdtemp(join(tmpdir(), 'docket-accounts-'));
afterAll(() => rm(directory, { recursive: true }));
const document = join(directory, 'contract.pdf');
await writeFile(document, 'signed');
const FIXTURES = join(import.meta.dirname, '../fixtures/sanctions');
const ENV = { DATABASE_URL: database.url };
const LISTED = 'Zorvanik Heavy Industries';
const LISTED_PERSON = 'Miroslav Zorin';

// oxlint-disable-next-line typescript/no-explicit-any -- answers are looked at field by field
async function json(args: readonly string[], input?: string): Promise<any> {
  const { code, stdout, stderr } = await runDocket([...args, '--json'], ENV, input);
  expect({ code, args, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, args, stderr: '' });
  return JSON.parse(stdout);
}

async function refused(args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await runDocket([...args], ENV, input);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
  return stderr;
}

const answers = STATEMENTS[DECLARATION_VERSION]!.flatMap(({ id, expected }) => [
  '--answer',
  `${id}=${expected ? 'yes' : 'no'}`,
]);

async function create(name: string): Promise<string> {
  const contact = ['--billing-name', 'B', '--billing-email', 'b@x.example'];
  const technical = ['--technical-name', 'T', '--technical-email', 't@x.example'];
  const args = ['accounts', 'create', '--name', name, '--plan', 'audit_plus'];
  return (await json([...args, ...contact, ...technical])).id;
}

async function declare(id: string, industry = 'retail', more = ['--director', 'Dora Example,FR']) {
  const who = ['--country', 'FR', '--industry', industry, '--declared-by', 'T'];
  return json(['accounts', 'declare', id, ...who, ...more, ...answers]);
}

describe('docket accounts, review, sanctions, keys, audit', () => {
  it('an organisation gets an identifier for reports, which can be taken away; each is an act of an operator', async () => {
    const id = await create('Identified');
    const set = ['accounts', 'identify', id, '--identifier', ' LEI 529900T8BM49AURSDO55 '];
    expect((await json(set)).identifier).toBe('LEI 529900T8BM49AURSDO55');
    expect((await json(['accounts', 'show', id])).identifier).toBe('LEI 529900T8BM49AURSDO55');
    await refused(['accounts', 'identify', id, '--identifier', 'x'.repeat(201)]);
    await refused(['accounts', 'identify', id]);
    expect((await json(['accounts', 'identify', id, '--none'])).identifier).toBe(null);
    const { rows } = await database.pool.query<{ details: string }>(
      `select details from audit_log where org_id = $1 and action = 'account.identified' order by sequence`,
      [id],
    );
    expect(rows.map(({ details }) => JSON.parse(details) as unknown)).toEqual([
      { identifier: 'LEI 529900T8BM49AURSDO55' },
      { identifier: null },
    ]);
  });

  it('without a list an applicant goes to review; with one the harmless are approved at once', async () => {
    const early = await create('Early Bird');
    expect((await declare(early)).state).toBe('in_review');
    const imported = ['sanctions', 'import', join(FIXTURES, 'ofac-sdn.xml')];
    expect(await json(imported)).toMatchObject({
      source: 'ofac_sdn',
      entities: 2,
      names: 4,
      is_new: true,
    });
    expect(await json(imported)).toMatchObject({ is_new: false });
    expect(await json(['sanctions', 'status'])).toMatchObject({
      lists: [{ source: 'ofac_sdn', current: true }],
      accounts_due: 1,
    });
    const id = await create('Harmless Bakery');
    expect((await declare(id)).state).toBe('approved');
  });

  it('refuses a country that ISO 3166 does not have, and a declaration without owners and directors', async () => {
    const id = await create('Nowhere');
    const who = ['--country', 'ZZ', '--industry', 'retail', '--declared-by', 'T'];
    const director = ['--director', 'Dora Example,FR'];
    const args = ['accounts', 'declare', id, ...answers];
    expect(await refused([...args, ...who, ...director])).toContain('There is no country "ZZ"');
    const fine = ['--country', 'FR', ...who.slice(2)];
    expect(await refused([...args, ...fine, '--owner', 'Dora Example,XX'])).toContain(
      'country "XX"',
    );
    expect(await refused([...args, ...fine])).toContain('owners and directors');
  });

  it('compares owners and directors; a declaration is corrected under review, and a person decides what it shows', async () => {
    const id = await create('Correct Company');
    const listed = ['--owner', `${LISTED},FR`, '--director', 'Dora Example,KP'];
    expect((await declare(id, 'retail', listed)).state).toBe('in_review');
    const open = async () =>
      (await json(['review', 'list'])).find((one: { org_id: string }) => one.org_id === id);
    const shown = await json(['review', 'show', (await open()).id]);
    expect(shown.declaration.parties).toEqual([
      { role: 'owner', name: LISTED, country: 'FR' },
      { role: 'director', name: 'Dora Example', country: 'KP' },
    ]);
    expect(shown.screening.reasons).toContainEqual(
      expect.objectContaining({ kind: 'list_match', name: LISTED }),
    );
    expect(shown.screening.reasons).toContainEqual(expect.objectContaining({ kind: 'country' }));
    expect(shown.list_entries[0]).toMatchObject({
      entity: shown.screening.reasons[0].entity,
      version: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    expect(shown.list_entries[0].names.length).toBeGreaterThan(0);

    expect((await declare(id)).state).toBe('in_review');
    // The correction was screened meanwhile: what was looked at before is no ground to decide on.
    const outdated = ['--reason', 'a typo', '--screening', shown.screening.id];
    expect(await refused(['review', 'decide', shown.id, 'approve', ...outdated])).toContain(
      'another screening',
    );
    const corrected = await json(['review', 'show', (await open()).id]);
    expect(corrected).toMatchObject({
      id: shown.id,
      decision: null,
      reason: 'A later screening found nothing.',
      screening: { outcome: 'clear', reasons: [] },
      declaration: { parties: [{ name: 'Dora Example', country: 'FR' }] },
    });
    const log = await json([
      'review',
      'decide',
      shown.id,
      'approve',
      '--reason',
      'a typo',
      '--screening',
      corrected.screening.id,
    ]);
    expect(log.decision).toBe('approved');

    const sign = ['accounts', 'sign', id, '--kind', 'pilot', '--document', document];
    const signed = await json([...sign, '--signatory', LISTED_PERSON]);
    expect(signed.state).toBe('in_review');
    expect((await open()).reason).toContain(LISTED_PERSON);
  });

  it('finds accounts by name, contact and the first characters of a key', async () => {
    const id = await create('Findable & Söhne');
    const found = async (text: string) =>
      (await json(['accounts', 'list', '--search', text])).map((one: { id: string }) => one.id);
    expect(await found('findable')).toEqual([id]);
    expect(await found(id)).toEqual([id]);
    expect(await found('T@X.EXAMPLE')).toContain(id);
    expect(await found('100%')).toEqual([]);
    expect(await found('dkt_0000')).toEqual([]);
  });

  it('leads a flagged applicant through review and contract to a key, each step refused before its time [accounts.onboarding]', async () => {
    const id = await create('Sharp Tools');
    expect(await refused(['accounts', 'activate', id])).toContain('cannot activate');
    expect(await refused(['keys', 'issue', '--org', id])).toContain('Keys need an active account');
    expect((await declare(id, 'defence')).state).toBe('in_review');
    const reviews = await json(['review', 'list']);
    const review = reviews.find((one: { org_id: string }) => one.org_id === id);
    const shown = await json(['review', 'show', review.id]);
    expect(shown.screening.reasons[0]).toMatchObject({ kind: 'industry' });
    const seen = ['--screening', shown.screening.id];
    const { stdout } = await runDocket(['review', 'show', review.id], ENV);
    expect(stdout).toContain('defence');
    expect(stdout).toMatch(new RegExp(`^screening +${shown.screening.id}$`, 'm'));
    expect(
      await refused(['review', 'decide', review.id, 'maybe', '--reason', 'x', ...seen]),
    ).toContain('approve or reject');
    const decided = [
      'review',
      'decide',
      review.id,
      'approve',
      '--reason',
      'kitchen knives',
      ...seen,
    ];
    expect(await json(decided)).toMatchObject({ decision: 'approved', decided_by: HERE });
    expect(await refused(decided)).toContain('decided already');

    const sign = [
      'accounts',
      'sign',
      id,
      '--kind',
      'pilot',
      '--document',
      document,
      '--signatory',
      'B',
    ];
    expect((await json([...sign])).state).toBe('contracted');
    expect((await json(['accounts', 'activate', id])).state).toBe('active');
    const issued = await json([
      'keys',
      'issue',
      '--org',
      id,
      '--scopes',
      'inference:read,admin:keys',
    ]);
    expect(issued).toMatchObject({ state: 'active', scopes: ['inference:read', 'admin:keys'] });
    expect(issued.key).toMatch(/^dkt_/);

    const rotated = await json(['keys', 'rotate', issued.id, '--org', id]);
    expect(rotated).toMatchObject({ predecessor_id: issued.id, scopes: issued.scopes });
    const support = ['--ticket', 'T-4711', '--reason', 'asked by telephone'];
    // The id says whose it is; an organisation that is named has to be the one.
    for (const leaked of [[], ['--leaked']]) {
      expect(await json(['keys', 'revoke', issued.id, ...support, ...leaked])).toMatchObject({
        state: 'revoked',
        leaked: leaked.length > 0,
      });
      const restore = ['keys', 'restore', issued.id, ...support];
      expect(await refused([...restore, '--org', 'org_01JD0A9F6R4N8P1S5VZC7B2DEG'])).toContain(
        'No such key',
      );
      expect(await json(restore)).toMatchObject({ state: 'active', leaked: false });
    }
    expect(await refused(['keys', 'revoke', ...support])).toContain('Name the key');
    for (const act of ['revoke', 'restore']) {
      const unexplained = ['keys', act, issued.id, '--ticket', 'T-4711'];
      const { code, stderr } = await runDocket(unexplained, ENV);
      expect([code, stderr]).toEqual([1, expect.stringContaining("option '--reason <text>'")]);
    }
    expect(await json(['keys', 'list', '--org', id])).toHaveLength(2);
    expect((await runDocket(['keys', 'list', '--org', id], ENV)).stdout).not.toContain(issued.key);
  });

  it('revokes a leaked key from standard input, by itself or by its hash [accounts.support]', async () => {
    const id = await activeAccount();
    const support = ['--ticket', 'T-1'];
    const leaked = ['keys', 'revoke', '--leaked', ...support, '--reason', 'found in a repository'];
    for (const form of ['key', 'hash'] as const) {
      const { key, id: keyId } = await json(['keys', 'issue', '--org', id]);
      const input = `${form === 'key' ? key : hashKey(key)}\n`;
      expect(await json(leaked, input)).toMatchObject({ id: keyId, state: 'revoked' });
      expect(await refused(leaked, input)).toContain('revoked');
    }
    expect(await refused(leaked, 'dkt_nonsense\n')).toContain('neither a key nor a SHA-256');
    expect(await refused(leaked, `${'0'.repeat(64)}\n`)).toContain('No such key');
  });

  it('marks keys that are older than the year after which rotation is recommended', async () => {
    const id = await activeAccount();
    const issue = ['keys', 'issue', '--org', id, '--name'];
    const old = await json([...issue, 'old']);
    const young = await json([...issue, 'young']);
    const year = 365 * 24 * 60 * 60 * 1_000;
    expect(Date.parse(young.rotation_due_at) - Date.parse(young.created_at)).toBe(year);
    await database.pool.query(
      `update api_key set created_at = created_at - interval '400 days' where id = $1`,
      [old.id],
    );
    const listed: { id: string; rotation_due_at: string }[] = await json([
      'keys',
      'list',
      '--org',
      id,
    ]);
    const dueOf = (one: { id: string }) =>
      Date.parse(listed.find((key) => key.id === one.id)!.rotation_due_at);
    expect(dueOf(old)).toBeLessThan(Date.now());
    expect(dueOf(young)).toBeGreaterThan(Date.now());
    const { stdout } = await runDocket(['keys', 'list', '--org', id], ENV);
    const lineOf = (one: { id: string }) =>
      stdout.split('\n').find((line) => line.startsWith(one.id));
    expect(lineOf(old)).toMatch(/ \d{4}-\d\d-\d\d \(due\)$/);
    expect(lineOf(young)).toMatch(/ \d{4}-\d\d-\d\d$/);
  });

  it('gives a key’s own limit four seconds of burst when none is named, and no burst without a rate', async () => {
    const id = await activeAccount();
    const issue = (...limit: string[]) => ['keys', 'issue', '--org', id, ...limit];
    expect((await json(issue('--rps', '50'))).rate_limit).toEqual({
      requests_per_second: 50,
      burst: 200,
    });
    expect((await json(issue('--rps', '50', '--burst', '60'))).rate_limit.burst).toBe(60);
    expect(await refused(issue('--burst', '60'))).toContain('--rps');
  });

  it('lists accounts by a state that exists, and as many as a whole number says', async () => {
    expect(await refused(['accounts', 'list', '--state', 'gone'])).toContain('The state is one of');
    expect(await refused(['accounts', 'list', '--limit', 'many'])).toContain('whole number');
    expect(await json(['accounts', 'list', '--limit', '1'])).toHaveLength(1);
  });

  it('has responses of an organisation kept, or none', async () => {
    const id = await activeAccount();
    const keep = (choice: string) => ['accounts', 'keep-responses', id, choice];
    expect((await json(keep('off'))).keep_responses).toBe(false);
    expect((await json(keep('on'))).keep_responses).toBe(true);
    expect(await refused(keep('maybe'))).toContain('on or off');
  });

  it('puts an organisation under a legal hold with a reason, in every state of it, and ends it', async () => {
    const id = await activeAccount();
    const set = (choice: string) => ['accounts', 'legal-hold', id, choice, '--reason', 'case 7'];
    // The second line says where help is.
    const unreasoned = await runDocket(['accounts', 'legal-hold', id, 'on'], ENV);
    expect(unreasoned).toMatchObject({ code: 1, stderr: expect.stringContaining('--reason') });
    expect((await json(set('on'))).legal_hold).toBe(true);
    await json(['accounts', 'close', id, '--reason', 'asked']);
    expect((await json(['accounts', 'show', id])).legal_hold).toBe(true);
    expect((await json(set('off'))).legal_hold).toBe(false);
    const { rows } = await database.pool.query(
      `select reason from audit_log where org_id = $1 and action = 'account.legal_hold_set'`,
      [id],
    );
    expect(rows).toEqual([{ reason: 'case 7' }, { reason: 'case 7' }]);
  });

  it('suspends, reinstates, sets plan and limits, closes', async () => {
    const id = await activeAccount();
    const because = ['--reason', 'because'];
    expect((await json(['accounts', 'suspend', id, ...because])).state).toBe('suspended');
    expect(await refused(['accounts', 'suspend', id, ...because])).toContain('cannot suspend');
    expect((await json(['accounts', 'reinstate', id, ...because])).state).toBe('active');
    expect(await refused(['accounts', 'set-limits', id, '--rps', '5'])).toContain('enterprise');
    expect((await json(['accounts', 'set-plan', id, 'enterprise'])).plan).toBe('enterprise');
    const limited = await json(['accounts', 'set-limits', id, '--rps', '5', '--burst', '9']);
    expect(limited.limits).toMatchObject({
      requests_per_second: 5,
      burst: 9,
      concurrent_streams: 500,
    });
    expect(await refused(['accounts', 'set-plan', id, 'gold'])).toContain('plan is one of');
    expect((await json(['accounts', 'close', id, ...because])).state).toBe('closed');
    expect((await json(['accounts', 'show', id])).state).toBe('closed');
    expect((await runDocket(['accounts', 'list', '--state', 'closed'], ENV)).stdout).toContain(id);
  });

  it('verifies the audit log, and fails when it was altered', async () => {
    const id = await activeAccount();
    const sound = await json(['audit', 'verify']);
    expect(sound.every(({ fault }: { fault: unknown }) => fault === null)).toBe(true);
    await database.pool.query('alter table audit_log disable trigger user');
    await database.pool.query(
      `update audit_log set reason = 'nothing happened' where org_id = $1 and sequence = 1`,
      [id],
    );
    await database.pool.query('alter table audit_log enable trigger user');
    const { code, stdout, stderr } = await runDocket(['audit', 'verify'], ENV);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^${id} .*altered at 1`, 'm'));
    expect(stderr).toContain('tampered');
  });

  it('refuses an organisation, a ticket and a list that are not there, in one line each', async () => {
    expect(await refused(['accounts', 'suspend', 'org_none', '--reason', 'x'])).toContain(
      'No such organisation',
    );
    const suspend = ['accounts', 'suspend', 'org_none', '--reason', 'x'];
    expect(await refused([...suspend, '--ticket', 'x'.repeat(101)])).toContain('--ticket');
    expect(await refused(['sanctions', 'import', document])).toContain('Not a list');
  });
});

async function activeAccount(): Promise<string> {
  const id = await create('Harmless Bakery');
  const { state } = await declare(id);
  if (state === 'in_review') {
    const reviews: { org_id: string; screening_id: string }[] = await json(['review', 'list']);
    const { screening_id: seen } = reviews.find((one) => one.org_id === id)!;
    await json(['accounts', 'approve', id, '--reason', 'fine', '--screening', seen]);
  }
  await json([
    'accounts',
    'sign',
    id,
    '--kind',
    'pilot',
    '--document',
    document,
    '--signatory',
    'B',
  ]);
  await json(['accounts', 'activate', id]);
  return id;
}

it('an organisation or a state that does not exist is refused, and never called sound or empty', async () => {
  expect(await refused(['audit', 'verify', '--org', 'org_nope'])).toContain('No such organisation');
  expect(await refused(['accounts', 'list', '--state', 'nope'])).toContain('The state is one of');
});
