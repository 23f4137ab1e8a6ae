import type { Pool } from 'pg';
import { holdAccount } from '#shared/accounts/postgres/accounts.ts';
import { recordEvent } from '#shared/accounts/postgres/events.ts';
import { onceEach, queueLetter } from '#shared/accounts/postgres/mail.ts';
import { ownersOf, readersAmong } from '#shared/accounts/postgres/readers.ts';
import { isId } from '#shared/kernel/ids.ts';
import { queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import {
  draftOfFailing,
  EPISODE_ENDS_MS,
  failingOf,
  LOOKED_AT_MAX,
  WINDOW_MS,
} from '../failing.ts';

const NEWEST = statement(
  { status: 'int2', code: 'text?', requests: 'int8' },
  'select status, code, requests from newest_outcomes($1, $2, $3)',
);

/** Goes on with an episode, or begins one where none is, or the last has ended. */
const EPISODE = statement(
  { since: 'timestamptz' },
  `insert into request_failing as f (org_id, since, until) values ($1, $2, $2)
   on conflict (org_id) do update set
     since = case when f.until < $3 then excluded.since else f.since end,
     until = greatest(f.until, excluded.until)
   returning since`,
);

/**
 * Looks whether too many of an organisation's newest requests failed, and tells owners, the technical contact, members and
 * webhooks, once in an episode. Returns whether there is a message for webhooks. For the role `docket_housekeeping`.
 */
export async function tellFailing(
  pool: Pool,
  surroundings: Surroundings,
  orgId: string,
): Promise<boolean> {
  if (!isId('org', orgId)) return false;
  const now = surroundings.now();
  const since = new Date(now - WINDOW_MS);
  const newest = await queryRows(pool, NEWEST, [orgId, since, LOOKED_AT_MAX]);
  const failing = failingOf(newest.map((row) => ({ ...row, requests: Number(row.requests) })));
  if (failing === undefined) return false;
  return inTransaction(pool, async (client) => {
    const { account } = await holdAccount(client, surroundings, orgId);
    // Of one that is suspended every request is refused, which it knows.
    if (account.state !== 'active') return false;
    const ended = new Date(now - EPISODE_ENDS_MS);
    const episode = await queryRow(client, EPISODE, [orgId, new Date(now), ended]);
    if (episode?.since.getTime() !== now) return false;
    const { requests, failed, share } = failing;
    const data = { requests, failed, share, codes: [...failing.codes] };
    const once = `requests failing ${now}`;
    const fact = { orgId, type: 'requests.failing', data } as const;
    const messages = await recordEvent(client, surroundings, fact, { once });
    const contacts = await readersAmong(client, orgId, [account.technical.email]);
    for (const to of onceEach([...(await ownersOf(client, orgId)), ...contacts])) {
      await queueLetter(client, surroundings, { to, ...draftOfFailing(failing) }, { orgId });
    }
    return messages > 0;
  });
}
