import { hash } from 'node:crypto';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { type Account, WRITING_STATES } from '../account.ts';
import { draftOfContactAsked } from '../letters.ts';
import { queueLetter } from './mail.ts';
import { memberAddresses } from './readers.ts';

const TOKEN_BYTES = 32;
/** Addresses that an organisation has asked in a day and that have not confirmed: strangers, perhaps. */
const ASKED_MAX = 4;

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
  const unsettled = addresses.filter((address) => !settled.has(address));
  if (unsettled.length === 0) return;
  const room = ASKED_MAX - (await unconfirmedOfDay(client, surroundings, account));
  // Those beyond it are asked with a later letter about the account.
  for (const to of unsettled.slice(0, Math.max(0, room))) {
    const token = Buffer.from(surroundings.randomBytes(TOKEN_BYTES)).toString('base64url');
    const linkPath = `/dashboard/contacts/confirm?token=${token}`;
    const letter = { to, ...draftOfContactAsked(account) };
    const isQueued = await queueLetter(client, surroundings, letter, {
      orgId: account.id,
      linkPath,
    });
    // The same holds for one that the bounds of all letters have left out.
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

async function unconfirmedOfDay(
  client: Queryable,
  surroundings: Surroundings,
  { id }: OfContacts,
): Promise<number> {
  const asked = await queriesOn(client)
    .selectFrom('contact_address')
    .select('email')
    .where('org_id', '=', id)
    .where('asked_at', '>', new Date(surroundings.now() - DAY_MS))
    .where('confirmed_at', 'is', null)
    .limit(ASKED_MAX)
    .execute();
  return asked.length;
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
