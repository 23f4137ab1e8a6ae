import { createHash, createHmac, hash, pbkdf2Sync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client, DatabaseError } from 'pg';
import { ROLES, type Role } from '#shared/config/settings.ts';
import { ensurePassword } from './private-file.ts';

/** Talks to Redis alone. */
const WITHOUT_DATABASE: readonly Role[] = ['inference'];
/** The process that several roles share. */
export const BACKGROUND = 'background';
export type ProcessName = Role | typeof BACKGROUND;

const INSUFFICIENT_PRIVILEGE = '42501';
/** What PostgreSQL itself uses; the passwords are random, so nothing is gained by more. */
const SCRAM_ITERATIONS = 4_096;

export interface DatabaseLoginsOptions {
  /** Of the database's owner, after the migrations. */
  ownerUrl: string;
  /** Where the passwords are kept. */
  dataDir: string;
  /** Whether the server is ours. Another's may hold other databases of Docket, whose processes log in as the roles. */
  ours: boolean;
  /** The roles that share a process, which has one login that may act as any of them. */
  background: readonly Role[];
}

/**
 * Gives each process a login of its own. On a server of ours that is the role that the process acts as, so there is
 * nothing to step up to. On another's it is a login of this data directory's own that has no rights but to act as that
 * role: other databases there keep their logins, and stepping back gains nothing. So has the process that several roles
 * share, for each of its roles.
 * @returns the DATABASE_URL of each process
 * @throws Error that says what to run, when the owner may not make logins, or one of them cannot connect.
 */
export async function ensureDatabaseLogins(
  options: DatabaseLoginsOptions,
): Promise<Record<ProcessName, string>> {
  const client = new Client({ connectionString: options.ownerUrl });
  await client.connect();
  const urls = {} as Record<ProcessName, string>;
  try {
    for (const role of ROLES) urls[role] = await ensureLogin(client, role, [role], options);
    const { background } = options;
    if (background.length > 0) {
      urls.background = await ensureLogin(client, BACKGROUND, background, options);
    }
  } catch (error) {
    const denied = error instanceof DatabaseError && error.code === INSUFFICIENT_PRIVILEGE;
    throw denied ? notAllowed(client, error) : error;
  } finally {
    await client.end();
  }
  if (!options.ours) await tryLogin(urls.api);
  return urls;
}

async function ensureLogin(
  client: Client,
  name: ProcessName,
  roles: readonly Role[],
  { ownerUrl, dataDir, ours }: DatabaseLoginsOptions,
): Promise<string> {
  const url = new URL(ownerUrl);
  url.username = '';
  url.password = '';
  if (name !== BACKGROUND && WITHOUT_DATABASE.includes(name)) return url.href;
  const password = await ensurePassword(join(dataDir, `database-${name}.password`));
  // The password tells data directories apart, also on several machines.
  const user = ours ? `docket_${name}` : `docket_${name}_${hash('sha256', password).slice(0, 8)}`;
  const login = client.escapeIdentifier(user);
  const known = await client.query('select from pg_roles where rolname = $1', [user]);
  if (known.rowCount === 0) await client.query(`create role ${login} noinherit`);
  if (name === BACKGROUND || !ours) await actOnlyAs(client, user, roles);
  // As a verifier: statements are written to logs, and the password must not be.
  const verifier = client.escapeLiteral(scramVerifier(password));
  await client.query(`alter role ${login} login password ${verifier}`);
  url.username = user;
  url.password = password;
  return url.href;
}

/** Makes the login act as these roles, and as no other: which of them share a process may change. */
async function actOnlyAs(client: Client, user: string, roles: readonly Role[]): Promise<void> {
  const login = client.escapeIdentifier(user);
  for (const role of ROLES.filter((one) => !WITHOUT_DATABASE.includes(one))) {
    const { rowCount } = await client.query(
      `select from pg_auth_members
       where roleid = $1::text::regrole and member = $2::text::regrole`,
      [`docket_${role}`, login],
    );
    const has = rowCount !== 0;
    if (roles.includes(role) && !has) await client.query(`grant docket_${role} to ${login}`);
    if (!roles.includes(role) && has) await client.query(`revoke docket_${role} from ${login}`);
  }
}

/** What PostgreSQL keeps of a password: RFC 5803 in the form of `pg_authid.rolpassword`. */
function scramVerifier(password: string): string {
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, SCRAM_ITERATIONS, 32, 'sha256');
  const keyed = (text: string): Buffer => createHmac('sha256', salted).update(text).digest();
  const storedKey = createHash('sha256').update(keyed('Client Key')).digest('base64');
  const serverKey = keyed('Server Key').toString('base64');
  return `SCRAM-SHA-256$${SCRAM_ITERATIONS}:${salt.toString('base64')}$${storedKey}:${serverKey}`;
}

function notAllowed({ user = '' }: Client, cause: Error): Error {
  const roles = ROLES.filter((role) => !WITHOUT_DATABASE.includes(role));
  const granted = roles.map((role) => `docket_${role}`).join(', ');
  const statements = `alter role "${user}" createrole; grant ${granted} to "${user}" with admin option;`;
  return new Error(
    `The login ${user} of DATABASE_URL may not make a login for each process, and no process is given its own. As a superuser of that server run: ${statements}`,
    { cause },
  );
}

/** A server that lets its owner in may refuse others by its pg_hba.conf; a process would wait for it in silence. */
async function tryLogin(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  try {
    await client.connect();
    await client.end();
  } catch (cause) {
    const message = `The login ${new URL(url).username} that was made for the api cannot connect to DATABASE_URL: ${(cause as Error).message}. Let logins that begin with docket_ in (pg_hba.conf, grant connect).`;
    throw new Error(message, { cause });
  }
}
