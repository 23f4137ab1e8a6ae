import type { Pool } from 'pg';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import { type Actor, SERVICE_CHAIN } from '../audit/entry.ts';
import { appendAudit } from './audit.ts';

/** An e-mail that no mail server has taken. */
interface UnsentLetter {
  id: string;
  /** The organisation that it is about; null for e-mails to persons. */
  orgId: string | null;
  to: string;
  subject: string;
  /** Epoch milliseconds. */
  writtenAt: number;
  attempts: number;
  /** Null when it was given up. */
  nextAttemptAt: number | null;
  /** Why the last attempt failed; null before the first. */
  failure: string | null;
}

export interface UnsentLetters {
  /** Those that wait, the oldest first, and behind them those that were given up, the last first. */
  letters: UnsentLetter[];
  /** How many there are of each. */
  waiting: number;
  givenUp: number;
}

/** E-mails are looked for every five seconds. One that was not tried for so long waits for something else. */
const UNTRIED_MS = 5 * MINUTE_MS;

const COLUMNS = [
  'id',
  'org_id',
  'recipient',
  'subject',
  'created_at',
  'attempts',
  'next_attempt_at',
  'failed_at',
  'failure',
] as const;

/** What pages say of e-mails that could not be sent, and what operators do about them. */
export function createUnsentLetters(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  const waiting = () =>
    db
      .selectFrom('mail_outbox')
      .where('sent_at', 'is', null)
      .where('failed_at', 'is', null)
      .where((eb) =>
        eb.or([
          eb('attempts', '>', 0),
          eb('created_at', '<', new Date(surroundings.now() - UNTRIED_MS)),
        ]),
      );
  const givenUp = () => db.selectFrom('mail_outbox').where('failed_at', 'is not', null);
  return {
    /** At most `limit` of those that wait, and of those that were given up. */
    async list(limit: number): Promise<UnsentLetters> {
      const [tried, ended, counts] = await Promise.all([
        waiting().select(COLUMNS).orderBy('created_at').limit(limit).execute(),
        givenUp().select(COLUMNS).orderBy('failed_at', 'desc').limit(limit).execute(),
        db
          .selectNoFrom(({ fn }) => [
            waiting().select(fn.countAll<string>().as('n')).as('waiting'),
            givenUp().select(fn.countAll<string>().as('n')).as('given_up'),
          ])
          .executeTakeFirstOrThrow(),
      ]);
      const letters = [...tried, ...ended].map((row) => ({
        id: row.id,
        orgId: row.org_id,
        to: row.recipient,
        subject: row.subject,
        writtenAt: row.created_at.getTime(),
        attempts: row.attempts,
        nextAttemptAt: row.failed_at === null ? row.next_attempt_at.getTime() : null,
        failure: row.failure,
      }));
      return { letters, waiting: Number(counts.waiting), givenUp: Number(counts.given_up) };
    },

    /**
     * Has an e-mail that was given up sent at once, and tried for another day; false when there is none of this id that was
     * given up. Who asked stands in the audit log of its organisation, or of the service for e-mails to persons.
     */
    tryAgain: (id: string, actor: Actor): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const letter = await queriesOn(client)
          .updateTable('mail_outbox')
          .set({ failed_at: null, attempts: 0, next_attempt_at: new Date(surroundings.now()) })
          .where('id', '=', id)
          .where('failed_at', 'is not', null)
          .returning('org_id')
          .executeTakeFirst();
        if (letter === undefined) return false;
        await appendAudit(client, surroundings, {
          orgId: letter.org_id ?? SERVICE_CHAIN,
          action: 'letter.tried_again',
          actor,
          subject: id,
        });
        return true;
      }),

    /**
     * Whether the mail server takes none: an e-mail about an organisation waits that it has not refused by itself, and none
     * was sent since that one was written. E-mails to persons do not count: a person who asks for a new password would see by
     * this whether there is such a person.
     */
    async areLate(): Promise<boolean> {
      const late = await waiting()
        .select('id')
        .where('refused', 'is', false)
        .where('org_id', 'is not', null)
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom('mail_outbox as later')
                .select('later.id')
                .whereRef('later.sent_at', '>', 'mail_outbox.created_at'),
            ),
          ),
        )
        .limit(1)
        .executeTakeFirst();
      return late !== undefined;
    },
  };
}
