import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { createFileMailer } from '#workers/housekeeping/mail/files.ts';
import { createSmtpMailer } from '#workers/housekeeping/mail/smtp.ts';
import {
  createMailOutbox,
  forgetLetters,
  queueAccountMail,
  queueLetter,
} from '#shared/accounts/postgres/mail.ts';
import { createUnsentLetters } from '#shared/accounts/postgres/unsent-letters.ts';
import { type Letter, LETTER_DAYS, LetterRefused, type Mailer } from '#shared/accounts/letters.ts';
import { expiryWarnings } from '#shared/keys/lifecycle.ts';
import {
  activeAccount,
  createRegistries,
  DAY_MS,
  movableClock,
  newAccount,
  OPERATOR,
} from '#test/support/accounts.ts';
import { startSmtpServer } from '#test/support/smtp.ts';
import { newPerson } from '#test/support/dashboard.ts';
import { createTestDatabase } from '#test/support/database.ts';

const database = await createTestDatabase();
const clock = movableClock();
const pool = database.poolAs('docket_housekeeping');
const outbox = createMailOutbox(pool, clock, {
  supportEmail: 'support@docket.example',
  publicUrl: 'https://gateway.example',
});
const unsent = createUnsentLetters(database.poolAs('docket_api'), clock);
const { id: orgId } = await activeAccount(createRegistries(database.pool, clock), 'audit');
await database.pool.query('delete from mail_outbox');
const directory = await mkdtemp(join(tmpdir(), 'mail-'));
afterAll(() => rm(directory, { recursive: true }));

function recording(failure?: Error): Mailer & { letters: Letter[] } {
  const letters: Letter[] = [];
  return {
    letters,
    send: async (letter) => {
      if (failure !== undefined) throw failure;
      letters.push(letter);
    },
    close: async () => {},
  };
}

const AWAY = new Error('the server is away');
const letter: Letter = { to: 'ada@bakery.example', subject: 'Hello', body: 'World' };

describe('the outbox', () => {
  it('sends each letter once, also when two send at the same time', async () => {
    for (let i = 0; i < 20; i += 1)
      await queueLetter(pool, clock, { ...letter, subject: `letter ${i}` });
    const mailer = recording();
    await Promise.all([outbox.sendDue(mailer, 100), outbox.sendDue(mailer, 100)]);
    expect(new Set(mailer.letters.map(({ subject }) => subject)).size).toBe(20);
    expect(mailer.letters).toHaveLength(20);
    expect(await outbox.sendDue(mailer, 100)).toEqual({ sent: 0, failed: 0 });
  });

  it('writes a letter with the same name once', async () => {
    await queueLetter(pool, clock, letter, { once: 'warning 1' });
    await queueLetter(pool, clock, letter, { once: 'warning 1' });
    const mailer = recording();
    await outbox.sendDue(mailer, 100);
    const body = expect.stringMatching(
      /^World\n\nSupport: support@docket\.example\. .*within minutes in business hours, within 4 hours otherwise\.$/,
    ) as string;
    expect(mailer.letters).toEqual([{ ...letter, body }]);
  });

  it('tries again later and later, and gives up after more than a day; until it is forgotten that is told, with what the server said', async () => {
    await queueLetter(pool, clock, letter, { orgId });
    expect(await unsent.list(9)).toEqual({ letters: [], waiting: 0, givenUp: 0 });
    expect(await outbox.sendDue(recording(AWAY), 10)).toEqual({ sent: 0, failed: 1 });
    expect(await outbox.sendDue(recording(), 10)).toEqual({ sent: 0, failed: 0 });
    const waits = (await unsent.list(9)).letters[0];
    expect(waits).toMatchObject({ to: letter.to, attempts: 1, failure: 'the server is away' });
    expect(waits!.nextAttemptAt! - waits!.writtenAt).toBeGreaterThanOrEqual(30_000);
    expect(await unsent.areLate()).toBe(true);
    clock.advance(31_000);
    for (let attempt = 2; attempt <= 17; attempt += 1) {
      expect(await outbox.sendDue(recording(AWAY), 10)).toEqual({ sent: 0, failed: 1 });
      clock.advance(DAY_MS / 8);
    }
    const { letters, ...counts } = await unsent.list(9);
    expect(counts).toEqual({ waiting: 0, givenUp: 1 });
    expect(letters[0]).toMatchObject({ attempts: 17, nextAttemptAt: null });
    expect(await unsent.areLate()).toBe(false);
    clock.advance(30 * DAY_MS);
    expect(await outbox.sendDue(recording(), 10)).toEqual({ sent: 0, failed: 0 });
  });

  it('asks a mail server that is away for one letter at a time, and one that refuses a letter for the others as well', async () => {
    const queueThree = async (): Promise<void> => {
      for (const subject of ['1', '2', '3'])
        await queueLetter(pool, clock, { ...letter, subject }, { orgId });
    };
    await queueThree();
    const refusing = recording(new LetterRefused('550 no such address'));
    expect(await outbox.sendDue(refusing, 10)).toEqual({ sent: 0, failed: 3 });
    // What it refuses says nothing about letters to others.
    expect(await unsent.areLate()).toBe(false);
    expect((await unsent.list(2)).letters.filter(({ failure }) => failure !== null)).toHaveLength(
      3,
    );
    clock.advance(30_000);
    expect(await outbox.sendDue(recording(AWAY), 10)).toEqual({ sent: 0, failed: 1 });
    expect(await unsent.areLate()).toBe(true);
    expect(await outbox.sendDue(recording(), 10)).toEqual({ sent: 2, failed: 0 });
    expect(await unsent.areLate()).toBe(false);
    clock.advance(60_000);
    expect(await outbox.sendDue(recording(), 10)).toEqual({ sent: 1, failed: 0 });
  });

  it('says of a letter that nobody has tried for five minutes that it waits, and to everybody only where it is about an organisation', async () => {
    await queueLetter(pool, clock, letter);
    clock.advance(5 * 60_000 + 1);
    expect([(await unsent.list(9)).waiting, await unsent.areLate()]).toEqual([1, false]);
    await outbox.sendDue(recording(), 10);
    await queueLetter(pool, clock, letter, { orgId });
    expect([(await unsent.list(9)).waiting, await unsent.areLate()]).toEqual([0, false]);
    clock.advance(5 * 60_000 + 1);
    expect([(await unsent.list(9)).waiting, await unsent.areLate()]).toEqual([1, true]);
    await outbox.sendDue(recording(), 10);
    expect([(await unsent.list(9)).waiting, await unsent.areLate()]).toEqual([0, false]);
  });

  it('forgets what was sent or given up after a month, when no warning of a key is written again by that, and nothing that waits', async () => {
    const purging = database.poolAs('docket_purge');
    const forget = (limit: number): Promise<number> =>
      forgetLetters(purging, new Date(clock.now() - LETTER_DAYS * DAY_MS), limit);
    clock.advance(2 * LETTER_DAYS * DAY_MS);
    while ((await forget(100)) > 0);
    const kept = async (): Promise<number> => {
      const { rows } = await database.pool.query<{ n: number }>(
        'select count(*)::int as n from mail_outbox',
      );
      return rows[0]!.n;
    };
    for (const once of ['old 1', 'old 2']) await queueLetter(pool, clock, letter, { once });
    await outbox.sendDue(recording(), 10);
    await queueLetter(pool, clock, { ...letter, subject: 'waits' });
    clock.advance(LETTER_DAYS * DAY_MS - 3_600_000);
    expect([await forget(100), await kept()]).toEqual([0, 3]);
    clock.advance(3_600_000);
    expect([await forget(1), await forget(100), await kept()]).toEqual([1, 1, 1]);
    await outbox.sendDue(recording(), 10);
    expect(LETTER_DAYS).toBeGreaterThan(Math.max(...expiryWarnings(0).map(({ days }) => days)));
  });
});

describe('letters about an account', () => {
  it('tell contacts of it, each once, and ask nobody to come where they are no member; owners hear the outcome', async () => {
    const registries = createRegistries(database.poolAs('docket_operator'), clock);
    const account = await registries.accounts.create(newAccount(), OPERATOR);
    const told = recording();
    await outbox.sendDue(told, 100);
    const opened = told.letters.filter(({ subject }) => subject.endsWith('was opened with Docket'));
    expect(opened.map(({ to }) => to)).toEqual([account.billing.email, account.technical.email]);
    for (const { subject, body } of opened) {
      expect(subject + body).not.toMatch(/invited|sign in|next step/i);
      expect(body).toContain(`https://gateway.example/dashboard/${account.id}`);
    }
    const owner = await newPerson(database.pool, [
      { kind: 'organisation', orgId: account.id, role: 'owner' },
    ]);
    const housekeeping = createRegistries(pool, clock);
    await queueAccountMail(
      pool,
      clock,
      await housekeeping.accounts.get(account.id),
      'account.approved',
    );
    const outcome = recording();
    await outbox.sendDue(outcome, 100);
    const approved = outcome.letters.filter(({ subject }) => subject.endsWith('is approved'));
    expect(approved.map(({ to }) => to)).toContain(owner.email);
    expect(approved).toHaveLength(3);
    expect(approved[0]!.body).toContain(`https://gateway.example/dashboard/${account.id}`);
  });
});

describe('a letter', () => {
  it('becomes a private file that a mail program opens', async () => {
    const mailer = createFileMailer(directory, 'docket@localhost.example');
    await mailer.send({ ...letter, subject: 'Grüße' });
    const [name] = await readdir(directory);
    expect(name).toMatch(/\.eml$/);
    expect((await stat(join(directory, name!))).mode & 0o777).toBe(0o600);
    const text = await readFile(join(directory, name!), 'utf8');
    expect(text).toMatch(/^To: ada@bakery\.example$/m);
    expect(text).toMatch(/^Subject: =\?UTF-8\?/m);
  });

  it('reaches a mail server, and a name with a line break in it makes no header', async () => {
    const server = await startSmtpServer();
    const mailer = createSmtpMailer(server.url, 'docket@localhost.example');
    await mailer.send({ ...letter, subject: 'a\r\nBcc: eve@evil.example' });
    await mailer.close();
    await server.close();
    expect(server.recipients).toEqual(['ada@bakery.example']);
    expect(server.data).not.toMatch(/^Bcc:/m);
    expect(server.data).toContain('World');
  });
});

describe('letters about keys', () => {
  it(
    'twenty letters an hour are all that one organisation’s keys cause, however many acts there are',
    { tags: ['limits.every-route'] },
    async () => {
      const registries = createRegistries(database.poolAs('docket_api'), clock);
      const { id } = await activeAccount(createRegistries(database.pool, clock), 'audit');
      const lettersOf = async () => {
        const text = `select count(*)::int as n from mail_outbox where org_id = $1 and once is not null`;
        const { rows } = await database.pool.query<{ n: number }>(text, [id]);
        return rows[0]!.n;
      };
      for (let i = 0; i < 25; i += 1) {
        await registries.keys.issue(id, { name: `key ${i}` }, OPERATOR);
      }
      expect(await lettersOf()).toBe(20);
      clock.advance(3_600_000);
      await registries.keys.issue(id, { name: 'an hour later' }, OPERATOR);
      expect(await lettersOf()).toBe(21);
    },
  );
});
