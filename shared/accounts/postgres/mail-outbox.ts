import type { Pool } from 'pg';
import type { MailOutbox, Mailer } from '../port-mail.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import { queueLetter } from './mail-events.ts';

/** A day of doubling waits: a mail server that is away longer has lost other letters too. */
const ATTEMPTS_MAX = 12;
const BACKOFF_MIN_MS = 30_000;
const BACKOFF_MAX_MS = 3 * 60 * 60 * 1_000;

interface DueLetter {
  id: string;
  recipient: string;
  subject: string;
  body: string;
  attempts: number;
}

/** Letters in PostgreSQL. A letter may reach its reader twice (sent, then the power fails), never not at all. */
export function createMailOutbox(pool: Pool, surroundings: Surroundings): MailOutbox {
  return {
    async queue(letter, about = {}) {
      await queueLetter(pool, surroundings, {
        orgId: about.orgId ?? null,
        to: letter.to,
        draft: letter,
        once: about.once ?? null,
      });
    },
    async sendDue(mailer, limit) {
      const result = { sent: 0, failed: 0 };
      while (result.sent + result.failed < limit) {
        const outcome = await inTransaction(pool, (client) =>
          sendOne(client, surroundings, mailer),
        );
        if (outcome === null) break;
        result[outcome] += 1;
      }
      return result;
    },
  };
}

/** The letter's row stays locked while it is sent: two senders never take the same one. */
async function sendOne(
  client: Queryable,
  surroundings: Surroundings,
  mailer: Mailer,
): Promise<'sent' | 'failed' | null> {
  const now = surroundings.now();
  const { rows } = await client.query<DueLetter>(
    `select id, recipient, subject, body, attempts from mail_outbox
     where sent_at is null and failed_at is null and next_attempt_at <= $1
     order by next_attempt_at limit 1 for update skip locked`,
    [new Date(now)],
  );
  const letter = rows[0];
  if (letter === undefined) return null;
  try {
    await mailer.send({ to: letter.recipient, subject: letter.subject, body: letter.body });
  } catch {
    await postpone(client, letter, now);
    return 'failed';
  }
  // The text has reached its reader; what stays is that it was sent.
  await client.query(`update mail_outbox set sent_at = $2, body = '' where id = $1`, [
    letter.id,
    new Date(now),
  ]);
  return 'sent';
}

async function postpone(client: Queryable, letter: DueLetter, now: number): Promise<void> {
  const attempts = letter.attempts + 1;
  const waitMs = Math.min(BACKOFF_MIN_MS * 2 ** letter.attempts, BACKOFF_MAX_MS);
  await client.query(
    `update mail_outbox set attempts = $2, next_attempt_at = $3, failed_at = $4 where id = $1`,
    [letter.id, attempts, new Date(now + waitMs), attempts >= ATTEMPTS_MAX ? new Date(now) : null],
  );
}
