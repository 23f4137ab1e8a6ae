import { queryRow, statement } from './statement.ts';
import type { Queryable } from './transaction.ts';

/** PostgreSQL before this has no views with the rights of who asks (`security_invoker`), which the migrations make. */
export const SERVER_VERSION_MIN = 15;

/** A database that a process cannot work on until a person has mended something, in words for them. */
export class DatabaseProblem extends Error {
  override name = 'DatabaseProblem';
}

const FACTS = statement(
  { version: 'text', number: 'int4', migrated: 'bool' },
  `select current_setting('server_version') as version, current_setting('server_version_num')::int4 as number,
     to_regclass('schema_migration') is not null as migrated`,
);

/** @throws DatabaseProblem for a server that is too old for the migrations. */
export async function refuseOldServer(db: Queryable): Promise<{ migrated: boolean }> {
  const { version, number, migrated } = (await queryRow(db, FACTS))!;
  if (number >= SERVER_VERSION_MIN * 10_000) return { migrated };
  throw new DatabaseProblem(
    `DATABASE_URL cannot be used: the server is PostgreSQL ${version}. Use ${SERVER_VERSION_MIN} or newer.`,
  );
}

/**
 * A check of readiness. Until it has passed once it looks whether server and schema are what Docket needs, afterwards it asks
 * `question` alone. A database that lacks some migrations passes: processes are replaced before and after them.
 * @returns what rejects with DatabaseProblem where waiting would be in vain
 */
export function databaseCheck(db: Queryable, question: string): () => Promise<void> {
  let isFit = false;
  return async () => {
    try {
      if (!isFit && !(await refuseOldServer(db)).migrated) {
        throw new DatabaseProblem(
          'DATABASE_URL cannot be used: the database has no schema of Docket. Run node migrations/main.ts, or correct the URL.',
        );
      }
      isFit = true;
      await db.query(question);
    } catch (error) {
      throw databaseProblem(error) ?? error;
    }
  };
}

interface Refusal {
  code?: string;
  says?: RegExp;
  remedy: string;
}

const MEND_TLS =
  'Name the authority that signed it with sslrootcert=<file> in the URL, and the server as the certificate does.';

/** What servers, poolers and the driver say about connections that will never be made as they are asked for, and what mends it. */
const REFUSALS: readonly Refusal[] = [
  { code: '3D000', remedy: 'Create the database, or correct the URL.' },
  { code: '08P01', says: /no such database/, remedy: 'Name it in the pooler, or correct the URL.' },
  { code: '28P01', remedy: 'Correct the password in the URL.' },
  {
    code: '28000',
    remedy:
      'Correct the login in the URL, or let it in (pg_hba.conf, alter role … login; sslmode=verify-full where TLS is asked for).',
  },
  {
    code: '08P01',
    says: /no such user|password authentication failed|SASL authentication failed/,
    remedy: 'Correct login and password in the URL, or give them to the pooler.',
  },
  {
    code: '08P01',
    says: /unsupported startup parameter/,
    remedy: 'A pooler is in between: set DATABASE_POOLER=transaction.',
  },
  {
    code: '22023',
    says: /^role .* does not exist$/,
    remedy: 'Run node migrations/main.ts, or correct the URL.',
  },
  {
    code: '42501',
    says: /permission denied to set role/,
    remedy: 'Give the process the login of its role, as docs/operations.md says.',
  },
  {
    says: /^The server does not support SSL connections$/,
    remedy: 'Take sslmode out of the URL, or have the server offer TLS.',
  },
  { code: 'DEPTH_ZERO_SELF_SIGNED_CERT', remedy: MEND_TLS },
  { code: 'SELF_SIGNED_CERT_IN_CHAIN', remedy: MEND_TLS },
  { code: 'UNABLE_TO_GET_ISSUER_CERT', remedy: MEND_TLS },
  { code: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', remedy: MEND_TLS },
  { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', remedy: MEND_TLS },
  { code: 'ERR_TLS_CERT_ALTNAME_INVALID', remedy: MEND_TLS },
  { code: 'CERT_HAS_EXPIRED', remedy: 'Have the server show one that has not.' },
  {
    code: 'ENOENT',
    says: /, open /,
    remedy: 'Correct sslrootcert, sslcert or sslkey in the URL.',
  },
];

/** An error of a connection as what a person has to mend; undefined for one that may pass by itself, and for every other. */
export function databaseProblem(
  error: unknown,
  variable = 'DATABASE_URL',
): DatabaseProblem | undefined {
  if (error instanceof DatabaseProblem) return error;
  if (!(error instanceof Error)) return undefined;
  const { message } = error;
  const code: unknown = Reflect.get(error, 'code');
  const found = REFUSALS.find(
    (known) =>
      (known.code === undefined || known.code === code) && (known.says?.test(message) ?? true),
  );
  if (found === undefined) return undefined;
  return new DatabaseProblem(`${variable} cannot be used: ${message}. ${found.remedy}`, {
    cause: error,
  });
}
