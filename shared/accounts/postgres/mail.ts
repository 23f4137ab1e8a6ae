import type { Pool } from 'pg';
import { type Queries, queriesOn } from '#shared/kernel/postgres/queries.ts';
import { execute, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
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
  waitAfterFailure,
  type Letter,
  type Mailer,
} from '../letters.ts';

/** What owners do themselves on the page of their settings; they hear of everything else. */
const OWN_ACTS: ReadonlySet<string> = new Set(['account.renamed', 'account.contacts_set']);

/** Tells both contacts of an account, its owners, and these other addresses, what happened to it, within the transaction in which it happens. */
export async function queueAccountMail(
  client: Queryable,
  surroundings: Surroundings,
  account: Account,
  action: string,
  others: readonly string[] = [],
): Promise<void> {
  const draft = draftOfAccountAct(account, action);
  if (draft === null) return;
  // Who has applied need not be a contact, and hears the outcome all the same.
  const owners = await queriesOn(client)
    .selectFrom('persons.membership as m')
    .innerJoin('persons.person as p', 'p.id', 'm.person_id')
    .select('p.email')
    .where('m.org_id', '=', account.id)
    .where('m.role', '=', 'owner')
    .execute();
  const told = OWN_ACTS.has(action) ? [] : owners.map(({ email }) => email);
  const contacts = [account.billing.email, account.technical.email];
  for (const to of new Set([...contacts, ...told, ...others])) {
    await queueLetter(client, surroundings, { to, ...draft }, { orgId: account.id });
  }
}

interface KeyLetter {
  key: KeyOfLetter & { orgId: string };
  action: string;
  actor: Actor;
  reason: string | undefined;
}

/** Letters of one hour about the keys of one organisation. Who rotates more reads of the rest in the audit log. */
const KEY_LETTERS_PER_HOUR = 20;
const HOUR_MS = 3_600_000;

/** Tells the technical contact what happened to a key, within the transaction in which it happens. */
export async function queueKeyMail(
  client: Queryable,
  surroundings: Surroundings,
  { key, action, actor, reason }: KeyLetter,
): Promise<void> {
  const by = actor.name ?? `${actor.kind} ${actor.id}`;
  const draft = draftOfKeyAct(key, action, { actor: by, reason });
  if (draft === null) return;
  const now = surroundings.now();
  const hour = `key-act ${key.orgId} ${Math.floor(now / HOUR_MS)}`;
  const { letters } = await queriesOn(client)
    .selectFrom('mail_outbox')
    .select(({ fn }) => fn.count<string>('once').as('letters'))
    .where('once', 'like', `${hour} %`)
    .executeTakeFirstOrThrow();
  if (Number(letters) >= KEY_LETTERS_PER_HOUR) return;
  const contact = await queriesOn(client)
    .selectFrom('account')
    .select('technical_email')
    .where('id', '=', key.orgId)
    .executeTakeFirstOrThrow();
  const letter = { to: contact.technical_email, ...draft };
  const once = `${hour} ${action} ${key.display} ${now}`;
  await queueLetter(client, surroundings, letter, { orgId: key.orgId, once });
}

interface ExpiryLetter {
  key: { orgId: string; name: string; display: string };
  to: string;
  expiresAt: number;
  once: string;
}

/** Warns of an expiry; `once` keeps a job that repeats itself from repeating the letter. */
export async function queueExpiryWarning(
  client: Queryable,
  surroundings: Surroundings,
  { key, to, expiresAt, once }: ExpiryLetter,
): Promise<void> {
  const letter = { to, ...draftOfExpiry(key, expiresAt) };
  await queueLetter(client, surroundings, letter, { orgId: key.orgId, once });
}

/** Queues a letter. `once` names one that must not be written twice. */
export async function queueLetter(
  client: Queryable,
  surroundings: Surroundings,
  { to, subject, body }: Letter,
  about: { orgId?: string; once?: string } = {},
): Promise<void> {
  const now = new Date(surroundings.now());
  await queriesOn(client)
    .insertInto('mail_outbox')
    .values({
      org_id: about.orgId ?? null,
      recipient: to,
      subject,
      body,
      once: about.once ?? null,
      created_at: now,
      next_attempt_at: now,
    })
    .onConflict((conflict) => conflict.column('once').doNothing())
    .execute();
}

export type MailOutbox = ReturnType<typeof createMailOutbox>;

/** The letters that wait. One may reach its reader twice (sent, then the power fails), never not at all. */
export function createMailOutbox(
  pool: Pool,
  surroundings: Surroundings,
  sender: { supportEmail: string; publicUrl: string },
) {
  return {
    /**
     * Sends what is due, at most `limit`, until the mail server is away: then each letter would wait for it as long.
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
  { body, org_id: orgId }: { body: string; org_id: string | null },
  { supportEmail, publicUrl }: { supportEmail: string; publicUrl: string },
): string {
  const isAboutOrganisation = orgId !== null && !/https?:/.test(body);
  const links = isAboutOrganisation ? [membersLine(publicUrl, orgId)] : [];
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

/** The letter's row stays locked while it is sent: two senders never take the same one. */
async function sendOne(
  client: Queryable,
  surroundings: Surroundings,
  mailer: Mailer,
  sender: { supportEmail: string; publicUrl: string },
): Promise<'sent' | 'refused' | 'away' | null> {
  const now = new Date(surroundings.now());
  const db = queriesOn(client);
  const letter = await dueLetters(db, surroundings.now())
    .select(['org_id', 'recipient', 'subject', 'body', 'attempts'])
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
  await row.set({ sent_at: now, body: '' }).execute();
  return 'sent';
}

/** Letters that were sent, or given up, before `$1`. A name (`once`) is free again with its letter. */
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
