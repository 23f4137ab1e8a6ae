/** E-mails of the dashboard, read back from a mail server and followed. */
import { afterAll, expect, it } from 'vitest';
import { createMailOutbox } from '#shared/accounts/postgres/mail.ts';
import { createUnsentLetters } from '#shared/accounts/postgres/unsent-letters.ts';
import { createSmtpMailer } from '#workers/housekeeping/mail/smtp.ts';
import { activeAccount, createRegistries, movableClock } from '#test/support/accounts.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { newPerson, openDashboardEdge, PASSWORD } from '#test/support/dashboard.ts';
import { decodeLetter, startSmtpServer } from '#test/support/smtp.ts';
import { until } from '#test/support/until.ts';

const LOGIN = { user: 'docket', pass: 'a login of the mail server' };
/** Its name is not one of this machine itself, as far as the rule about TLS goes. */
const ELSEWHERE = '127.0.0.2';

const database = await createTestDatabase();
const { browser, errors } = await openDashboardEdge(database);
const clock = movableClock();
const outbox = createMailOutbox(database.poolAs('docket_housekeeping'), clock, {
  supportEmail: 'support@docket.example',
  publicUrl: 'https://gateway.example',
});
const server = await startSmtpServer({ tls: true, login: LOGIN, host: ELSEWHERE });
const address = `smtp://${LOGIN.user}:${encodeURIComponent(LOGIN.pass)}@${ELSEWHERE}:${server.port}`;
const mailer = createSmtpMailer(
  `${address}?tls.rejectUnauthorized=false`,
  'docket@gateway.example',
);
const { id: orgId } = await activeAccount(createRegistries(database.pool));
afterAll(async () => {
  await mailer.close();
  await server.close();
});

/** Waits for an e-mail, has it sent, and returns the last address of ours in what the mail server has. */
async function linkTo(email: string, path: string): Promise<string> {
  await until(async () => {
    const { rows } = await database.pool.query(
      'select 1 from mail_outbox where recipient = $1 and sent_at is null',
      [email],
    );
    return rows.length > 0;
  });
  await outbox.sendDue(mailer, 100);
  expect(server.seen.recipients.at(-1)).toBe(email);
  const links = [
    ...decodeLetter(server.seen.data).matchAll(/https:\/\/gateway\.example(\/dashboard\/\S+)/g),
  ].filter(([, link]) => link!.startsWith(path));
  return links.at(-1)![1]!;
}

const tokenOf = (link: string): string =>
  new URL(link, 'https://gateway.example').searchParams.get('token')!;

it('an invitation, the link of a password and the confirmation of an address come by a mail server over TLS, and lead where they say [dashboard.letters, dashboard.team, dashboard.password]', async () => {
  const owner = await newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'owner' }]);
  const visitor = browser({ address: '192.0.2.1' });
  await visitor.signIn(owner);
  const email = 'ines@invited.example';
  const team = `/dashboard/${orgId}/team`;
  await visitor.send(team, `${team}/invite`, { email, role: 'member' });
  const invitation = await linkTo(email, '/dashboard/invitations');
  const guest = browser({ address: '192.0.2.2' });
  expect((await guest.get(invitation)).headers.location).toContain('/dashboard/sign-in');
  // Who asks for a password without having signed up is told how, and not left waiting.
  const forgot = '/dashboard/password/forgot';
  await guest.send(forgot, forgot, { email });
  expect(await linkTo(email, '/dashboard/sign-up')).toBe('/dashboard/sign-up');
  await guest.send('/dashboard/sign-up', '/dashboard/sign-up', { name: 'Ines', email });
  const chosen = await linkTo(email, '/dashboard/password/reset');
  // It is the first one: there is none that could stay as it is.
  expect(decodeLetter(server.seen.data)).toContain('to choose your password');
  expect(decodeLetter(server.seen.data)).not.toMatch(/new password|stays as it is/);
  expect((await guest.get(chosen)).payload).toContain('minlength="12"');
  await guest.send(chosen, '/dashboard/password/reset', {
    token: tokenOf(chosen),
    password: PASSWORD,
  });
  await guest.signIn({ email });
  await guest.send(invitation, invitation, { org: orgId, answer: 'accept' });
  expect((await guest.get(team)).payload).toContain('Ines');
  await database.pool.query('update persons.person set email_verified = false where email = $1', [
    email,
  ]);
  // An address that is not confirmed any more closes the session that is open; confirmed, it is good again.
  expect((await guest.get(team)).statusCode).toBe(303);
  const refused = await guest.signIn({ email });
  expect([refused.statusCode, refused.payload]).toEqual([
    403,
    expect.stringContaining('Confirm your e-mail address first'),
  ]);
  const confirming = await linkTo(email, '/dashboard/e-mail/confirm');
  const confirmed = await guest.send(confirming, '/dashboard/e-mail/confirm', {
    token: tokenOf(confirming),
  });
  const said = await guest.get(confirmed.headers.location!);
  expect([said.statusCode, said.payload]).toEqual([
    200,
    expect.stringContaining('Your address is confirmed'),
  ]);
  expect((await guest.get(team)).payload).toContain('Ines');
  const later = browser({ address: '192.0.2.4' });
  expect((await later.signIn({ email })).statusCode).toBe(303);
  expect(server.seen.secure.every(Boolean)).toBe(true);
  expect(server.seen.logins.length).toBeGreaterThan(0);
  expect(errors).toEqual([]);
});

it('a contact confirms by the link of its e-mail and a button, without signing in [dashboard.letters, dashboard.settings]', async () => {
  const owner = await newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'owner' }]);
  const visitor = browser({ address: '192.0.2.8' });
  await visitor.signIn(owner);
  const email = 'cora@contact.example';
  const settings = `/dashboard/${orgId}/settings`;
  const fields = {
    'billing-name': 'Cora',
    'billing-email': email,
    'technical-name': 'Tess',
    'technical-email': 'technical@bakery.example',
  };
  expect((await visitor.send(settings, `${settings}/contacts`, fields)).statusCode).toBe(303);
  expect((await visitor.get(settings)).payload).toContain('has not confirmed');
  const link = await linkTo(email, '/dashboard/contacts/confirm');
  const guest = browser({ address: '192.0.2.9' });
  expect((await guest.get(link)).payload).toContain('Confirm the address');
  const confirm = (token: string) => guest.send(link, '/dashboard/contacts/confirm', { token });
  expect((await confirm('made up')).statusCode).toBe(400);
  const done = await confirm(tokenOf(link));
  expect([done.statusCode, done.payload]).toEqual([
    200,
    expect.stringContaining('Address confirmed'),
  ]);
  expect((await visitor.get(settings)).payload).not.toContain('has not confirmed');
  expect(errors).toEqual([]);
});

it('without TLS, with a certificate of an unknown authority, or while the server refuses or is away, an e-mail waits and no login is shown [dashboard.letters]', async () => {
  const plain = await startSmtpServer({ login: LOGIN, host: ELSEWHERE });
  const gone = await startSmtpServer({ host: ELSEWHERE });
  await gone.close();
  const login = `${LOGIN.user}:${encodeURIComponent(LOGIN.pass)}`;
  const person = await newPerson(database.pool, [{ kind: 'organisation', orgId, role: 'member' }]);
  const visitor = browser({ address: '192.0.2.3' });
  const asked = await visitor.send('/dashboard/password/forgot', '/dashboard/password/forgot', {
    email: person.email,
  });
  expect(asked.payload).toContain('is on its way');
  await until(async () => {
    const { rows } = await database.pool.query('select 1 from mail_outbox where recipient = $1', [
      person.email,
    ]);
    return rows.length === 1;
  });
  // Whether there is such a person must not be seen by its lateness, so e-mails to persons do not count.
  await database.pool.query('update mail_outbox set org_id = $1 where recipient = $2', [
    orgId,
    person.email,
  ]);
  const unsent = createUnsentLetters(database.poolAs('docket_api'), clock);
  const { pass } = LOGIN;
  server.seen.refusal = `try again later, ${pass} and ${Buffer.from(`\0docket\0${pass}`).toString('base64')}`;
  for (const [url, why, areLate] of [
    [`smtp://${login}@${ELSEWHERE}:${plain.port}`, /certificate/, true],
    [address, /certificate/, true],
    [`smtp://${ELSEWHERE}:${gone.port}`, /ECONNREFUSED/, true],
    [
      `${address}?tls.rejectUnauthorized=false`,
      /451 try again later, \[withheld\] and \[withheld\]/,
      false,
    ],
  ] as const) {
    const failing = createSmtpMailer(url, 'docket@gateway.example');
    expect(await outbox.sendDue(failing, 1)).toEqual({ sent: 0, failed: 1 });
    await failing.close();
    expect((await unsent.list(1)).letters[0]!.failure).toMatch(why);
    const page = '/dashboard/password/forgot';
    const { payload } = await visitor.send(page, page, { email: 'nobody@elsewhere.example' });
    expect(payload.includes('E-mails are delayed')).toBe(areLate);
    clock.advance(3_600_000);
  }
  server.seen.refusal = undefined;
  expect(plain.seen).toMatchObject({ logins: [], recipients: [] });
  const link = await linkTo(person.email, '/dashboard/password/reset');
  expect((await visitor.get(link)).payload).toContain('Choose your password');
  // For a relay in one's own network, where the operator says so.
  const relay = createSmtpMailer(
    `smtp://${login}@${ELSEWHERE}:${plain.port}?requireTLS=false`,
    'docket@gateway.example',
  );
  await relay.send({ to: person.email, subject: 'Hello', body: 'World' });
  await relay.close();
  await plain.close();
  expect(plain.seen).toMatchObject({ logins: [LOGIN.user], secure: [false] });
});
