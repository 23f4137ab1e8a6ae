import { hash } from 'node:crypto';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { type Account, WRITING_STATES } from '../account.ts';
import { draftOfContactAsked } from '../letters.ts';
import { queueLetter } from './mail.ts';
import { memberAddresses } from './readers.ts';

const TOKEN_BYTES = 32;

type OfContacts = Pick<Account, 'id' | 'billing' | 'technical'>;

const addressesOf = ({ billing, technical }: OfContacts): string[] => [
  ...new Set([billing.email.toLowerCase(), technical.email.toLowerCase()]),
];

/** Contacts that an operator enters need not be asked: they stand in what was agreed. */
export async function vouchForContacts(
  client: Queryable,
  surroundings: Surroundings,
  account: OfContacts,
): Promise<void> {
  const now = new Date(surroundings.now());
  await queriesOn(client)
    .insertInto('contact_address')
    .values(
      addressesOf(account).map((email) => ({
        org_id: account.id,
        email,
        asked_at: now,
        confirmed_at: now,
      })),
    )
    .onConflict((conflict) =>
      conflict.columns(['org_id', 'email']).doUpdateSet({ confirmed_at: now }),
    )
    .execute();
}

/** Asks each contact that has neither confirmed nor been asked, once. The account is held meanwhile. */
export async function askContacts(
  client: Queryable,
  surroundings: Surroundings,
  account: Account,
): Promise<void> {
  if (!WRITING_STATES.has(account.state)) return;
  const addresses = addressesOf(account);
  const known = await queriesOn(client)
    .selectFrom('contact_address')
    .select('email')
    .where('org_id', '=', account.id)
    .where('email', 'in', addresses)
    .execute();
  const members = await memberAddresses(client, account.id, addresses);
  const settled = new Set([...known.map(({ email }) => email), ...members]);
  for (const to of addresses.filter((address) => !settled.has(address))) {
    const token = Buffer.from(surroundings.randomBytes(TOKEN_BYTES)).toString('base64url');
    const linkPath = `/dashboard/contacts/confirm?token=${token}`;
    const letter = { to, ...draftOfContactAsked(account) };
    const isQueued = await queueLetter(client, surroundings, letter, {
      orgId: account.id,
      linkPath,
    });
    // One that the bound has left out is asked with the next letter about the account.
    if (!isQueued) continue;
    await queriesOn(client)
      .insertInto('contact_address')
      .values({
        org_id: account.id,
        email: to,
        token_hash: hashOf(token),
        asked_at: new Date(surroundings.now()),
      })
      .execute();
  }
}

/** Takes the link of an e-mail; false for one that was never sent. Doing it again changes nothing. */
export async function confirmContact(
  client: Queryable,
  surroundings: Surroundings,
  token: string,
): Promise<boolean> {
  const confirmed = await queriesOn(client)
    .updateTable('contact_address')
    .set({ confirmed_at: new Date(surroundings.now()) })
    .where('token_hash', '=', hashOf(token))
    .returning('org_id')
    .executeTakeFirst();
  return confirmed !== undefined;
}

const hashOf = (token: string): Buffer => hash('sha256', token, 'buffer');
