import { DAY_MS } from '#shared/kernel/time.ts';
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
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { createPersonRegistry } from '#shared/persons/postgres/persons.ts';
import { expiryWarnings } from '#shared/keys/lifecycle.ts';
import {
  activeAccount,
  contract,
  createRegistries,
  currentVetting,
  declaration,
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
  it('sends each e-mail once, also when two send at the same time', async () => {
    for (let i = 0; i < 20; i += 1)
      await queueLetter(pool, clock, { ...letter, subject: `letter ${i}` });
    const mailer = recording();
    await Promise.all([outbox.sendDue(mailer, 100), outbox.sendDue(mailer, 100)]);
    expect(new Set(mailer.letters.map(({ subject }) => subject)).size).toBe(20);
    expect(mailer.letters).toHaveLength(20);
    expect(await outbox.sendDue(mailer, 100)).toEqual({ sent: 0, failed: 0 });
  });

  it('writes an e-mail with the same name once', async () => {
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

  it('asks a mail server that is away for one e-mail at a time, and one that refuses an e-mail for the others as well', async () => {
    const queueThree = async (): Promise<void> => {
      for (const subject of ['1', '2', '3'])
        await queueLetter(pool, clock, { ...letter, subject }, { orgId });
    };
    await queueThree();
    const refusing = recording(new LetterRefused('550 no such address'));
    expect(await outbox.sendDue(refusing, 10)).toEqual({ sent: 0, failed: 3 });
    // What it refuses says nothing about e-mails to others.
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

  it('says of an e-mail that was not tried for five minutes that it waits, and to the public only where it is about an organisation', async () => {
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

describe('e-mails about an account', () => {
  it('tell contacts of it, each once, and ask no contact to come where they are no member; owners hear the outcome', async () => {
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

describe('an e-mail', () => {
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

describe('e-mails about keys', () => {
  it('twenty letters an hour are all that one organisation’s keys cause, however many acts there are [limits.every-route]', async () => {
    const registries = createRegistries(database.poolAs('docket_api'), clock);
    const { id } = await activeAccount(createRegistries(database.pool, clock), 'audit');
    const lettersOf = async () => {
      const text = `select count(*)::int as n from mail_outbox where org_id = $1 and subject like 'API key%'`;
      const { rows } = await database.pool.query<{ n: number }>(text, [id]);
      return rows[0]!.n;
    };
    // E-mails to the same reader of the tests before are an hour old.
    clock.advance(3_600_000);
    for (let i = 0; i < 25; i += 1) {
      await registries.keys.issue(id, { name: `key ${i}` }, OPERATOR);
    }
    expect(await lettersOf()).toBe(20);
    clock.advance(3_600_000);
    await registries.keys.issue(id, { name: 'an hour later' }, OPERATOR);
    expect(await lettersOf()).toBe(21);
  });
});

describe('e-mails of a leak', () => {
  const registries = createRegistries(database.pool, clock);

  it('go to contact and owners once for each key, also where it is reported by a key of a customer whose e-mails of the hour are used up [dashboard.letters]', async () => {
    clock.advance(3_600_000);
    const { id } = await activeAccount(registries, 'audit');
    const owner = await newPerson(database.pool, [
      { kind: 'organisation', orgId: id, role: 'owner' },
    ]);
    const keys: string[] = [];
    for (let i = 0; i < 65; i += 1) {
      const { key } = await registries.keys.issue(id, { name: `key ${i}` }, OPERATOR);
      keys.push(key.id);
    }
    const [own, ...leaked] = keys;
    const actor: Actor = { kind: 'key', id: own! };
    for (const key of leaked) {
      await registries.keys.revoke(id, key, actor, { leaked: true });
      const again = registries.keys.revoke(id, key, actor, { leaked: true });
      await expect(again).rejects.toMatchObject({ code: 'key_state_conflict' });
    }
    const text = `select recipient, count(*)::int as n from mail_outbox where org_id = $1 and subject like '%leaked' group by 1 order by 1`;
    const { rows } = await database.pool.query<{ recipient: string; n: number }>(text, [id]);
    expect(rows).toHaveLength(2);
    expect(rows).toContainEqual({ recipient: owner.email, n: leaked.length });
    expect(new Set(rows.map(({ n }) => n))).toEqual(new Set([leaked.length]));
  });
});

describe('e-mails to strangers', () => {
  const api = createRegistries(database.poolAs('docket_api'), clock);
  const housekeeping = createRegistries(pool, clock);
  /** What was written to addresses of this domain. */
  const writtenTo = async (domain: string): Promise<{ recipient: string; subject: string }[]> => {
    const text = `select recipient, subject from mail_outbox where recipient ilike '%@' || $1 order by id`;
    return (await database.pool.query(text, [domain])).rows;
  };
  const contactsAt = (domain: string, i = 0) => ({
    billing: { name: 'Click https://evil.example', email: `b${i}@${domain}` },
    technical: { name: 'Click https://evil.example', email: `T${i}@${domain}` },
  });
  /** An organisation founded a moment ago, with contacts at a domain of others. */
  async function founded(domain: string) {
    const person = await newPerson(database.pool, [{ kind: 'staff', role: 'reviewer' }]);
    const actor: Actor = { kind: 'user', id: person.id };
    const persons = createPersonRegistry(database.poolAs('docket_api'), clock);
    const { id } = await persons.found(person, newAccount(contactsAt(domain)), actor);
    return { id, actor, owner: person.email };
  }
  async function approve(id: string, actor: Actor): Promise<void> {
    await api.accounts.declare(id, declaration(), actor);
    await housekeeping.vettings.record(id, await currentVetting(housekeeping, id));
    expect((await api.accounts.get(id)).state).toBe('approved');
  }

  it('come of no organisation before it is approved, and then once to each contact, asking: renames and changes of contacts write no more [dashboard.letters, limits.every-route]', async () => {
    const domain = 'strangers.example';
    const { id, actor } = await founded(domain);
    for (let i = 1; i <= 8; i += 1) {
      await api.accounts.setNames(id, { name: `Win ${i}`, identifier: null }, actor);
      await api.accounts.setContacts(id, contactsAt(domain, i), actor);
    }
    expect(await writtenTo(domain)).toEqual([]);
    await api.accounts.setContacts(id, contactsAt(domain), actor);
    await approve(id, actor);
    const asked = (await writtenTo(domain)).map(({ recipient }) => recipient);
    expect(asked).toEqual(['b0@strangers.example', 't0@strangers.example']);
    for (const written of [domain.toUpperCase(), domain, domain.toUpperCase()]) {
      await api.accounts.setNames(id, { name: `Win at ${written}`, identifier: null }, actor);
      await api.accounts.setContacts(id, contactsAt(written), actor);
    }
    expect(await writtenTo(domain)).toHaveLength(2);
    // Others each time: four strangers a day, and to all readers as many as an organisation sends in an hour.
    for (let i = 0; i < 4; i += 1)
      await newPerson(database.pool, [{ kind: 'organisation', orgId: id, role: 'owner' }]);
    for (let i = 1; i <= 25; i += 1) {
      await api.accounts.setContacts(id, contactsAt(domain, i), actor);
    }
    const all = await writtenTo(domain);
    expect(new Set(all.map(({ recipient }) => recipient)).size).toBe(4);
    expect(all).toHaveLength(4);
    const ofOrganisation = 'select from mail_outbox where org_id = $1';
    expect((await database.pool.query(ofOrganisation, [id])).rowCount).toBe(60);
  });

  it('a contact that has confirmed by the link of its e-mail is written to; until then the owners read what it would have [dashboard.letters]', async () => {
    const domain = 'willing.example';
    const { id, actor, owner } = await founded(domain);
    await approve(id, actor);
    const operator = createRegistries(database.pool, clock);
    await operator.accounts.sign(id, contract(), OPERATOR);
    await housekeeping.vettings.record(id, await currentVetting(housekeeping, id));
    await operator.accounts.activate(id, OPERATOR);
    const sent = recording();
    await outbox.sendDue(sent, 1_000);
    const letterOf = sent.letters.find(({ to }) => to === `t0@${domain}`)!;
    expect(letterOf.body).not.toMatch(/evil|Click/);
    const [, token = ''] =
      /https:\/\/gateway\.example\/dashboard\/contacts\/confirm\?token=([\w-]{43})/.exec(
        letterOf.body,
      )!;
    const toldOf = async (name: string): Promise<string[]> => {
      await api.keys.issue(id, { name }, actor);
      const text = `select recipient from mail_outbox where org_id = $1 and subject like '%' || $2 || '%' order by 1`;
      const { rows } = await database.pool.query<{ recipient: string }>(text, [id, name]);
      return rows.map(({ recipient }) => recipient);
    };
    expect(await toldOf('before it')).toEqual([owner]);
    expect(await api.accounts.confirmContact('nothing that was sent')).toBe(false);
    for (let i = 0; i < 2; i += 1) expect(await api.accounts.confirmContact(token)).toBe(true);
    expect(await toldOf('behind it')).toEqual([`T0@${domain}`]);
    // What was sent keeps no link that confirms.
    const kept = 'select from mail_outbox where sent_at is not null and link_path is not null';
    expect((await database.pool.query(kept)).rowCount).toBe(0);
  });

  it('what the service owes is told beside the bound, and e-mails about a person are not crowded out by those about organisations [dashboard.letters, limits.every-route]', async () => {
    const to = 'busy@reader.example';
    const many = async (about?: { orgId?: string; owed?: boolean }): Promise<number> => {
      let queued = 0;
      for (let i = 0; i < 40; i += 1) {
        if (await queueLetter(pool, clock, { ...letter, to }, about)) queued += 1;
      }
      return queued;
    };
    clock.advance(2 * 3_600_000);
    expect([await many({ orgId }), await many()]).toEqual([20, 30]);
    expect(await queueLetter(pool, clock, { ...letter, to: to.toUpperCase() })).toBe(false);
    expect(await many({ orgId, owed: true })).toBe(40);
    clock.advance(3_600_000);
    expect(await queueLetter(pool, clock, { ...letter, to }, { orgId })).toBe(true);
  });
});
