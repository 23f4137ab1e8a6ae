import { join } from 'node:path';
import { Client } from 'pg';
import { ROLES, type Role } from '#shared/config/settings.ts';
import { ensurePassword } from './private-file.ts';

/** Talks to Redis alone. */
const WITHOUT_DATABASE: readonly Role[] = ['inference'];

/**
 * Gives each process a login of its own in a database that is ours: it is the role that the process acts as, so there is
 * nothing to step up to. Passwords are made once and kept in the data directory.
 * @param ownerUrl of the database's owner, after the migrations.
 * @returns the DATABASE_URL of each role
 */
export async function ensureDatabaseLogins(
  ownerUrl: string,
  dataDir: string,
): Promise<Record<Role, string>> {
  const client = new Client({ connectionString: ownerUrl });
  await client.connect();
  const urls = {} as Record<Role, string>;
  try {
    for (const role of ROLES) {
      const url = new URL(ownerUrl);
      url.username = WITHOUT_DATABASE.includes(role) ? '' : `docket_${role}`;
      url.password = '';
      if (url.username !== '') {
        url.password = await ensurePassword(join(dataDir, `database-${role}.password`));
        const [name, password] = [url.username, url.password];
        await client.query(
          `alter role ${client.escapeIdentifier(name)} login password ${client.escapeLiteral(password)}`,
        );
      }
      urls[role] = url.href;
    }
  } finally {
    await client.end();
  }
  return urls;
}
