import type { queriesOn } from '#shared/kernel/postgres/queries.ts';

/** A person and the hash of the password that was compared, which takes a while. */
export interface ComparedLogin {
  personId: string;
  password: string;
}

/**
 * The login of a person, if this is their password still. It stays so until the statement has ended: another password is set
 * before it, and then there is no row, or behind it, and then it ends what the statement has written.
 */
export const whileCompared = (
  db: ReturnType<typeof queriesOn>,
  { personId, password }: ComparedLogin,
) =>
  db
    .selectFrom('persons.login')
    .where('person_id', '=', personId)
    .where('password', '=', password)
    .forShare();
