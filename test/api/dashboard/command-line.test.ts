import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readLogin, writeLogin } from '#cli/login-file.ts';
import { readCode, spacedCode } from '#shared/persons/command-line.ts';
import { createCommandLines } from '#shared/persons/postgres/command-lines.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import type { Person } from '#shared/persons/roles.ts';
import { activeAccount, createRegistries, movableClock } from '#test/support/accounts.ts';
import {
  newPerson,
  openDashboardEdge,
  PASSWORD,
  type TestBrowser,
} from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { HERE, runDocket } from '#test/support/docket-cli.ts';
import { until } from '#test/support/until.ts';

const database = await createTestDatabase();
const registries = createRegistries(database.pool);
const { browser } = await openDashboardEdge(database);
const home = await mkdtemp(join(tmpdir(), 'docket-home-'));
afterAll(() => rm(home, { recursive: true }));
const PAGE = '/dashboard/service/command-line';
const docket = (...args: string[]) =>
  runDocket(args, { DATABASE_URL: database.url, HOME: home, PUBLIC_URL: 'https://docket.example' });

let otto: Person;
let operator: TestBrowser;
let reviewer: TestBrowser;

beforeAll(async () => {
  otto = await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }], 'Otto Operator');
  const rita = await newPerson(database.pool, [{ kind: 'staff', role: 'reviewer' }]);
  [operator, reviewer] = [browser(), browser()];
  await operator.signIn(otto);
  await reviewer.signIn(rita);
});

/** The code of a command line that waits. */
async function waitingCode(): Promise<string> {
  let code: string | undefined;
  await until(async () => {
    const { rows } = await database.pool.query<{ code: string }>(
      'select code from persons.command_line where person_id is null',
    );
    code = rows[0]?.code;
    return code !== undefined;
  });
  return code!;
}

const allow = (by: TestBrowser, code: string) => by.send(PAGE, `${PAGE}/allow`, { code });

/** The newest act on an organisation, as its log has it. */
async function newestActor(orgId: string) {
  const { items } = await registries.audit.list({ orgId, limit: 1, order: 'desc' });
  const { actorKind, actorId, address, details } = items[0]!;
  return {
    actorKind,
    actorId,
    address,
    ticket: (JSON.parse(details) as { ticket?: string }).ticket,
  };
}

describe('docket login', () => {
  it('acts are those of the person who allowed the command line on the page, until it is ended; before and after, of the machine’s user [accounts.command-line]', async () => {
    const { id } = await activeAccount(registries);
    const issue = ['keys', 'issue', '--org', id, '--name', 'of a person'];
    expect((await docket(...issue)).code).toBe(0);
    expect(await newestActor(id)).toMatchObject({ actorKind: 'operator', actorId: HERE });

    const signingIn = docket('login', '--json');
    const code = await waitingCode();
    const shown = await operator.get(`${PAGE}?code=${spacedCode(code)}`);
    expect(shown.payload).toContain(HERE);
    expect(shown.payload).toContain(spacedCode(code));
    expect((await allow(operator, ` ${spacedCode(code).toLowerCase()} `)).statusCode).toBe(303);
    const signedIn = await signingIn;
    expect(JSON.parse(signedIn.stdout)).toMatchObject({ actor: otto.id, email: otto.email });
    expect(signedIn.stderr).toContain(`https://docket.example${PAGE}?code=${spacedCode(code)}`);
    const [file] = await readdir(join(home, '.config/docket'));
    expect((await stat(join(home, '.config/docket', file!))).mode & 0o777).toBe(0o600);

    expect((await docket(...issue, '--ticket', 'T-1')).code).toBe(0);
    expect(await newestActor(id)).toEqual({
      actorKind: 'operator',
      actorId: otto.id,
      address: HERE,
      ticket: 'T-1',
    });

    expect((await operator.send(PAGE, `${PAGE}/end`, { code })).statusCode).toBe(303);
    const over = await docket(...issue);
    expect(over).toMatchObject({ code: 1, stdout: '' });
    expect(over.stderr).toContain('docket login');
    expect((await docket('logout')).stdout).toContain(HERE);
    expect(JSON.parse((await docket('login', '--show', '--json')).stdout)).toMatchObject({
      actor: HERE,
      email: null,
    });
    expect((await docket(...issue)).code).toBe(0);
    expect((await newestActor(id)).actorId).toBe(HERE);
    const { items } = await registries.audit.list({ orgId: 'service', limit: 2, order: 'desc' });
    expect(items.map(({ action, actorId, subject }) => [action, actorId, subject])).toEqual([
      ['command_line.ended', otto.id, HERE],
      ['command_line.allowed', otto.id, HERE],
    ]);
  });

  it('a person does by it what their part allows, and nothing once that is taken away', async () => {
    const { id } = await activeAccount(registries);
    const issue = ['keys', 'issue', '--org', id];
    const signingIn = docket('login');
    expect((await allow(reviewer, await waitingCode())).statusCode).toBe(303);
    expect((await signingIn).code).toBe(0);
    expect((await docket(...issue)).stderr).toContain('is no operator');
    const approve = ['accounts', 'approve', id, '--reason', 'fine', '--screening', 'scr_none'];
    expect((await docket(...approve)).stderr).toContain('No review is open.');
    const gone = await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]);
    const theirs = browser();
    await theirs.signIn(gone);
    const again = docket('login');
    expect((await allow(theirs, await waitingCode())).statusCode).toBe(303);
    expect((await again).code).toBe(0);
    expect((await docket(...issue)).code).toBe(0);
    expect((await docket(...approve)).stderr).toContain('is no reviewer');
    await database.pool.query('delete from persons.staff where person_id = $1', [gone.id]);
    expect(await docket(...issue)).toMatchObject({ code: 1, stdout: '' });
    await docket('logout');
    const { items } = await registries.audit.list({ orgId: 'service', limit: 1, order: 'desc' });
    expect(items[0]).toMatchObject({ action: 'command_line.ended', actorId: gone.id });
  });
});

describe('command lines in the name of a person', () => {
  /** A session of theirs that is open. */
  async function sessionOf(personId: string): Promise<string> {
    const { rows } = await database.pool.query<{ id: string }>(
      'select id from persons.session where person_id = $1',
      [personId],
    );
    return rows[0]!.id;
  }

  const lines = createCommandLines(database.poolAs('docket_operator'), systemSurroundings);
  const actor = () => ({ kind: 'operator', id: otto.id }) as const;

  it('a command line cannot name the person itself: its role in the database writes no person', async () => {
    const { code } = await lines.ask('os:eve@laptop');
    const session = await sessionOf(otto.id);
    await expect(lines.allow(code, actor(), session)).rejects.toThrow('permission denied');
    expect(await lines.waiting(code)).toMatchObject({ place: 'os:eve@laptop' });
  });

  it('a code is good once, for ten minutes, and a stranger’s page tells nothing of it', async () => {
    const clock = movableClock();
    const ours = createCommandLines(database.pool, clock);
    const session = await sessionOf(otto.id);
    const first = await ours.ask('os:a@b');
    expect(await ours.by(first.token)).toBe('waiting');
    expect(await ours.allow(first.code, actor(), session)).toMatchObject({ place: 'os:a@b' });
    expect(await ours.allow(first.code, actor(), session)).toBeNull();
    expect(await ours.by(first.token)).toMatchObject({ person: { id: otto.id } });
    expect(await ours.end(first.code, { kind: 'operator', id: 'usr_other' })).toBe(false);
    const late = await ours.ask('os:a@b');
    clock.advance(10 * 60_000);
    expect(await ours.by(late.token)).toBeNull();
    expect(await ours.allow(late.code, actor(), session)).toBeNull();
    clock.advance(12 * 3_600_000);
    expect(await ours.by(first.token)).toBeNull();
    expect((await operator.get(`${PAGE}?code=${first.code}`)).payload).toContain(
      'No command line is waiting',
    );
    expect((await browser().get(PAGE)).statusCode).not.toBe(200);
  });

  it('a new password of the person ends those that act in their name', async () => {
    const ours = createCommandLines(database.pool, systemSurroundings);
    const person = await newPerson(database.pool, [{ kind: 'staff', role: 'operator' }]);
    const { code, token } = await ours.ask('os:a@b');
    const theirs = browser();
    await theirs.signIn(person);
    const session = await sessionOf(person.id);
    await ours.allow(code, { kind: 'operator', id: person.id }, session);
    expect(await ours.by(token)).toMatchObject({ person: { id: person.id } });
    await theirs.send('/dashboard/account', '/dashboard/account/password', {
      current: PASSWORD,
      password: 'another phrase of theirs',
    });
    expect(await ours.by(token)).toBeNull();
    // What was on its way from a session that is over allows nothing.
    const other = await ours.ask('os:a@b');
    const as = { kind: 'operator', id: person.id } as const;
    expect(await ours.allow(other.code, as, session)).toBeNull();
    expect(await ours.by(other.token)).toBe('waiting');
  });

  it('a person who works for the service does not act on an organisation of their own, at a command line either', async () => {
    const { id: orgId } = await activeAccount(registries);
    const member = await newPerson(database.pool, [
      { kind: 'staff', role: 'operator' },
      { kind: 'organisation', orgId, role: 'auditor' },
    ]);
    const as = { kind: 'operator', id: member.id, allowedBy: { staff: ['operator'] } } as const;
    await expect(registries.accounts.suspend(orgId, as, 'late')).rejects.toMatchObject({
      code: 'invalid_actor',
    });
    const other = await activeAccount(registries);
    expect((await registries.accounts.suspend(other.id, as, 'late')).state).toBe('suspended');
  });

  it('databases behind sockets have a sign-in each, which another user cannot read, and a home that is no folder has none', async () => {
    const own = await mkdtemp(join(home, 'own-'));
    vi.stubEnv('HOME', own);
    const at = (socket: string) => `postgres:///docket?host=${socket}`;
    writeLogin(at('/run/a'), { token: 'of a' });
    writeLogin(at('/run/a'), { token: 'of a again' });
    expect(readLogin(at('/run/a'))).toEqual({ token: 'of a again' });
    expect(readLogin(at('/run/b'))).toBeUndefined();
    const [file] = await readdir(join(own, '.config/docket'));
    expect((await stat(join(own, '.config/docket', file!))).mode & 0o777).toBe(0o600);
    vi.stubEnv('HOME', '/dev/null');
    expect(readLogin(at('/run/a'))).toBeUndefined();
    vi.unstubAllEnvs();
  });

  it('a code is read as a person types it, and nothing else is one', () => {
    expect(readCode(' bcdf-ghjk ')).toBe('BCDFGHJK');
    for (const none of ['', 'BCDFGHJ', 'BCDFGHJKL', 'ABCDEFGH', '12345678']) {
      expect(readCode(none)).toBeNull();
    }
  });
});
