import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';

/** To whom of these contacts e-mails about the organisation go: those that have confirmed, or, where there is none, the owners. */
export async function readersAmong(
  client: Queryable,
  orgId: string,
  contacts: readonly string[],
): Promise<string[]> {
  const readers = await confirmedAmong(client, orgId, contacts);
  return readers.length > 0 ? readers : ownersOf(client, orgId);
}

/** Contacts that have confirmed by the link of their letter, or are confirmed addresses of members. */
export async function confirmedAmong(
  client: Queryable,
  orgId: string,
  contacts: readonly string[],
): Promise<string[]> {
  const addresses = contacts.map((email) => email.toLowerCase());
  const confirmed = await queriesOn(client)
    .selectFrom('contact_address')
    .select('email')
    .where('org_id', '=', orgId)
    .where('email', 'in', addresses)
    .where('confirmed_at', 'is not', null)
    .execute();
  const members = await memberAddresses(client, orgId, addresses);
  const willing = new Set([...confirmed.map(({ email }) => email), ...members]);
  return contacts.filter((email) => willing.has(email.toLowerCase()));
}

export async function ownersOf(client: Queryable, orgId: string): Promise<string[]> {
  const owners = await queriesOn(client)
    .selectFrom('persons.membership as m')
    .innerJoin('persons.person as p', 'p.id', 'm.person_id')
    .select('p.email')
    .where('m.org_id', '=', orgId)
    .where('m.role', '=', 'owner')
    .orderBy('p.email')
    .execute();
  return owners.map(({ email }) => email);
}

/** Of these addresses those of members who have confirmed them. */
export async function memberAddresses(
  client: Queryable,
  orgId: string,
  addresses: readonly string[],
): Promise<string[]> {
  const members = await queriesOn(client)
    .selectFrom('persons.membership as m')
    .innerJoin('persons.person as p', 'p.id', 'm.person_id')
    .select('p.email')
    .where('m.org_id', '=', orgId)
    .where('p.email', 'in', addresses)
    .where('p.email_verified', '=', true)
    .execute();
  return members.map(({ email }) => email);
}
