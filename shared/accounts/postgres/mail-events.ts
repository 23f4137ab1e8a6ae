import type { Account } from '../account.ts';
import { draftOfAccountAct, draftOfExpiry, draftOfKeyAct, type Draft } from '../letters.ts';
import type { Actor } from '../audit/entry.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';

/** Tells both contacts of an account what happened to it, within the transaction in which it happens. */
export async function queueAccountMail(
  client: Queryable,
  surroundings: Surroundings,
  account: Account,
  action: string,
): Promise<void> {
  const draft = draftOfAccountAct(account, action);
  if (draft === null) return;
  for (const to of new Set([account.billing.email, account.technical.email])) {
    await queueLetter(client, surroundings, { orgId: account.id, to, draft, once: null });
  }
}

interface NamedKey {
  orgId: string;
  name: string;
  display: string;
}

/** Tells the technical contact what happened to a key. */
export async function queueKeyMail(
  client: Queryable,
  surroundings: Surroundings,
  event: { key: NamedKey; action: string; actor: Actor },
): Promise<void> {
  const draft = draftOfKeyAct(event.key, event.action, `${event.actor.kind} ${event.actor.id}`);
  if (draft === null) return;
  const to = await technicalContact(client, event.key.orgId);
  const { orgId } = event.key;
  await queueLetter(client, surroundings, { orgId, to, draft, once: null });
}

/** Warns of an expiry; `once` keeps a job that repeats itself from repeating the letter. */
export async function queueExpiryWarning(
  client: Queryable,
  surroundings: Surroundings,
  warning: { key: NamedKey; to: string; expiresAt: number; once: string },
): Promise<void> {
  await queueLetter(client, surroundings, {
    orgId: warning.key.orgId,
    to: warning.to,
    draft: draftOfExpiry(warning.key, warning.expiresAt),
    once: warning.once,
  });
}

async function technicalContact(client: Queryable, orgId: string): Promise<string> {
  const { rows } = await client.query<{ technical_email: string }>(
    'select technical_email from account where id = $1',
    [orgId],
  );
  return rows[0]!.technical_email;
}

export async function queueLetter(
  client: Queryable,
  surroundings: Surroundings,
  letter: { orgId: string | null; to: string; draft: Draft; once: string | null },
): Promise<void> {
  await client.query(
    `insert into mail_outbox (org_id, recipient, subject, body, once, created_at, next_attempt_at)
     values ($1, $2, $3, $4, $5, $6, $6) on conflict (once) do nothing`,
    [
      letter.orgId,
      letter.to,
      letter.draft.subject,
      letter.draft.body,
      letter.once,
      new Date(surroundings.now()),
    ],
  );
}
