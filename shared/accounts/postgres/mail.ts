import { sql } from 'kysely';
import type { Pool } from 'pg';
import { type Queries, queriesOn } from '#shared/kernel/postgres/queries.ts';
import { execute, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';
import type { Account } from '../account.ts';
import type { Actor } from '../audit/entry.ts';
import {
  draftOfAccountAct,
  draftOfExpiry,
  draftOfKeyAct,
  describeFailure,
  type KeyOfLetter,
  LetterRefused,
  membersLine,
  supportLines,
  tellsOfLeak,
  waitAfterFailure,
  type Letter,
  type Mailer,
} from '../letters.ts';
import { ownersOf, readersAmong } from './readers.ts';

/** What owners do themselves on the page of their settings; they hear of everything else. */
const OWN_ACTS: ReadonlySet<string> = new Set(['account.renamed', 'account.contacts_set']);

/**
 * Tells the contacts of an account, its owners, and those that were its contacts, what happened to it, within the transaction
 * in which it happens.
 */
export async function queueAccountMail(
  client: Queryable,
  surroundings: Surroundings,
  account: Account,
  action: string,
  before: readonly string[] = [],
): Promise<void> {
  const draft = draftOfAccountAct(account, action);
  if (draft === null) return;
  const isOwn = OWN_ACTS.has(action);
  // Who has applied need not be a contact, and hears the outcome all the same.
  const owners = isOwn ? [] : await ownersOf(client, account.id);
  const contacts = [account.billing.email, account.technical.email, ...before];
  const readers = await readersAmong(client, account.id, contacts);
  for (const to of onceEach([...owners, ...readers])) {
    const about = { orgId: account.id, owed: !isOwn };
    await queueLetter(client, surroundings, { to, ...draft }, about);
  }
}

/** An address once, however it is written. */
export function onceEach(addresses: readonly string[]): Iterable<string> {
  return new Map(addresses.map((email) => [email.toLowerCase(), email])).values();
}

interface KeyLetter {
  key: KeyOfLetter & { orgId: string };
  action: string;
  actor: Actor;
  reason: string | undefined;
}

/**
 * Tells the technical contact what happened to a key, and the owners as well that it leaked, within the transaction in
 * which it happens. A key leaks once, unless support restores it, so e-mails of that are under no bound.
 */
export async function queueKeyMail(
  client: Queryable,
  surroundings: Surroundings,
  { key, action, actor, reason }: KeyLetter,
): Promise<void> {
  const by = actor.name ?? `${actor.kind} ${actor.id}`;
  const draft = draftOfKeyAct(key, action, { actor: by, reason });
  if (draft === null) return;
  const contact = await queriesOn(client)
    .selectFrom('account')
    .select('technical_email')
    .where('id', '=', key.orgId)
    .executeTakeFirstOrThrow();
  const owed = tellsOfLeak(key, action);
  const owners = owed ? await ownersOf(client, key.orgId) : [];
  const readers = await readersAmong(client, key.orgId, [contact.technical_email]);
  for (const to of onceEach([...owners, ...readers])) {
    await queueLetter(client, surroundings, { to, ...draft }, { orgId: key.orgId, owed });
  }
}

interface ExpiryLetter {
  key: { orgId: string; name: string; display: string };
  to: string;
  expiresAt: number;
  once: string;
}

/** Warns of an expiry; `once` keeps a job that repeats itself from repeating the e-mail. */
export async function queueExpiryWarning(
  client: Queryable,
  surroundings: Surroundings,
  { key, to, expiresAt, once }: ExpiryLetter,
): Promise<void> {
  const readers = await readersAmong(client, key.orgId, [to]);
  for (const [i, reader] of readers.entries()) {
    const letter = { to: reader, ...draftOfExpiry(key, expiresAt) };
    // The name by which the warning is done comes last: one that was interrupted is begun again.
    const name = i === readers.length - 1 ? once : `${once} ${reader}`;
    await queueLetter(client, surroundings, letter, { orgId: key.orgId, once: name, owed: true });
  }
}

/** E-mails of one hour to one reader about organisations. Who rotates more keys reads of the rest in the audit log. */
const ABOUT_ORGANISATIONS_MAX = 20;
/** Those to one reader about their own sign-in: more than others can ask for in their name, so that none is crowded out. */
const ABOUT_PERSON_MAX = 30;
/** Those of one organisation, to whomever: a team at once, and a few changes. */
const OF_ORGANISATION_MAX = 60;

interface About {
  /** The organisation that it is about; without one it is about its reader. */
  orgId?: string;
  /** Names an e-mail that must not be written twice. */
  once?: string;
  /** Where its reader goes on, below the address of the service. */
  linkPath?: string;
  /** It tells what the service has done, which none of its readers can repeat: it is under no bound. */
  owed?: boolean;
}

/**
 * Queues an e-mail, unless its reader or its organisation has had as many as an hour takes; false then. Acts of one organisation
 * come one after the other (each stands in its audit log before its letters), so none of them passes beside another.
 */
export async function queueLetter(
  client: Queryable,
  surroundings: Surroundings,
  { to, subject, body }: Letter,
  about: About = {},
): Promise<boolean> {
  const now = new Date(surroundings.now());
  if (about.owed !== true && (await isFull(client, to, about.orgId, now))) return false;
  await queriesOn(client)
    .insertInto('mail_outbox')
    .values({
      org_id: about.orgId ?? null,
      recipient: to,
      subject,
      body,
      link_path: about.linkPath ?? null,
      once: about.once ?? null,
      created_at: now,
      next_attempt_at: now,
    })
    .onConflict((conflict) => conflict.column('once').doNothing())
    .execute();
  return true;
}

async function isFull(
  client: Queryable,
  to: string,
  orgId: string | undefined,
  now: Date,
): Promise<boolean> {
  const db = queriesOn(client);
  const recent = db
    .selectFrom('mail_outbox')
    .select('created_at')
    .where('created_at', '>', new Date(now.getTime() - HOUR_MS));
  const toReader = recent
    .where(sql<string>`lower(recipient)`, '=', to.toLowerCase())
    .where('org_id', orgId === undefined ? 'is' : 'is not', null);
  const reaches = async (letters: typeof recent, max: number): Promise<boolean> =>
    (await letters.limit(max).execute()).length === max;
  if (orgId === undefined) return reaches(toReader, ABOUT_PERSON_MAX);
  return (
    (await reaches(toReader, ABOUT_ORGANISATIONS_MAX)) ||
    (await reaches(recent.where('org_id', '=', orgId), OF_ORGANISATION_MAX))
  );
}

export type MailOutbox = ReturnType<typeof createMailOutbox>;

/** The e-mails that wait. One may reach its reader twice (sent, then the power fails), never not at all. */
export function createMailOutbox(
  pool: Pool,
  surroundings: Surroundings,
  sender: { supportEmail: string; publicUrl: string },
) {
  return {
    /**
     * Sends what is due, at most `limit`, until the mail server is away: then each e-mail would wait for it as long.
     * Returns how many were sent and how many failed.
     */
    async sendDue(mailer: Mailer, limit: number): Promise<{ sent: number; failed: number }> {
      const result = { sent: 0, failed: 0 };
      // Asked before a transaction is begun: most looks find nothing, and one statement says so.
      const first = await dueLetters(queriesOn(pool), surroundings.now()).executeTakeFirst();
      if (first === undefined) return result;
      while (result.sent + result.failed < limit) {
        const outcome = await inTransaction(pool, (client) =>
          sendOne(client, surroundings, mailer, sender),
        );
        if (outcome === null) break;
        result[outcome === 'sent' ? 'sent' : 'failed'] += 1;
        if (outcome === 'away') break;
      }
      return result;
    },
  };
}

/** The addresses of the service and its support are settings of the process that sends, so they are added there. */
function completed(
  letter: { body: string; org_id: string | null; link_path: string | null },
  { supportEmail, publicUrl }: { supportEmail: string; publicUrl: string },
): string {
  const { body, org_id: orgId, link_path: path } = letter;
  const links: string[] = [];
  if (path !== null) links.push(new URL(publicUrl).origin + path);
  else if (orgId !== null && !/https?:/.test(body)) links.push(membersLine(publicUrl, orgId));
  return [body, ...links, supportLines(supportEmail)].join('\n\n');
}

const dueLetters = (db: Queries, nowMs: number) =>
  db
    .selectFrom('mail_outbox')
    .select('id')
    .where('sent_at', 'is', null)
    .where('failed_at', 'is', null)
    .where('next_attempt_at', '<=', new Date(nowMs))
    .orderBy('next_attempt_at')
    .limit(1);

/** The e-mail's row stays locked while it is sent: two senders never take the same one. */
async function sendOne(
  client: Queryable,
  surroundings: Surroundings,
  mailer: Mailer,
  sender: { supportEmail: string; publicUrl: string },
): Promise<'sent' | 'refused' | 'away' | null> {
  const now = new Date(surroundings.now());
  const db = queriesOn(client);
  const letter = await dueLetters(db, surroundings.now())
    .select(['org_id', 'recipient', 'subject', 'body', 'link_path', 'attempts'])
    .forUpdate()
    .skipLocked()
    .executeTakeFirst();
  if (letter === undefined) return null;
  const row = db.updateTable('mail_outbox').where('id', '=', letter.id);
  try {
    const body = completed(letter, sender);
    await mailer.send({ to: letter.recipient, subject: letter.subject, body });
  } catch (error) {
    const attempts = letter.attempts + 1;
    const waitMs = waitAfterFailure(attempts);
    const refused = error instanceof LetterRefused;
    await row
      .set({
        attempts,
        failure: describeFailure(error),
        refused,
        ...(waitMs === null
          ? { failed_at: now }
          : { next_attempt_at: new Date(now.getTime() + waitMs) }),
      })
      .execute();
    return refused ? 'refused' : 'away';
  }
  // The text has reached its reader; what stays is that it was sent.
  await row.set({ sent_at: now, body: '', link_path: null }).execute();
  return 'sent';
}

/** E-mails that were sent, or given up, before `$1`. A name (`once`) is free again with its e-mail. */
const FORGET_LETTERS = statement(
  {},
  `delete from mail_outbox where id in (
     (select id from mail_outbox where sent_at < $1 order by sent_at limit $2)
     union all
     (select id from mail_outbox where failed_at < $1 order by failed_at limit $2)
     limit $2)`,
);

/** Forgets to whom letters were written that were sent, or given up, before `until`, at most `limit`. Returns how many. */
export function forgetLetters(pool: Pool, until: Date, limit: number): Promise<number> {
  return execute(pool, FORGET_LETTERS, [until, limit]);
}
