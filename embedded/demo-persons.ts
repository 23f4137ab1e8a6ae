import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { hashPassword } from '#shared/persons/password-hash.ts';
import { createPersonRegistry, type Place } from '#shared/persons/postgres/persons.ts';
import { writePrivateFile } from './stores/private-file.ts';

/** A person's way in to the dashboard. */
export interface PersonLogin {
  email: string;
  password: string;
}

/** Those who can sign in on this machine: of each kind as many as it takes, which is two where two have to approve. */
const PERSONS = ['owner', 'operator', 'reviewer', 'second_reviewer'] as const;
export type DemoPersons = Record<(typeof PERSONS)[number], PersonLogin>;

const FILE = 'demo-persons.json';
const LAUNCHER: Actor = { kind: 'operator', id: 'embedded-mode' };

/**
 * Makes sure that an owner of this organisation, an operator and two reviewers can sign in. Their passwords are made at the
 * first start and kept in `<dataDir>/demo-persons.json` (mode 0600); one that was changed in the dashboard is not known here.
 */
export async function ensureDemoPersons(
  pool: Pool,
  dataDir: string,
  orgId: string,
): Promise<DemoPersons> {
  const persons = createPersonRegistry(pool, systemSurroundings);
  const path = join(dataDir, FILE);
  const kept = await readFile(path, 'utf8').then(
    (text) => JSON.parse(text) as DemoPersons,
    () => undefined,
  );
  const logins = kept ?? newLogins();
  if (kept === undefined) {
    await writePrivateFile(path, `${JSON.stringify(logins, null, 2)}\n`);
  }
  const places: Readonly<Record<keyof DemoPersons, readonly [string, Place]>> = {
    owner: ['Olivia Owner', { kind: 'organisation', orgId, role: 'owner' }],
    operator: ['Otto Operator', { kind: 'staff', role: 'operator' }],
    reviewer: ['Rita Reviewer', { kind: 'staff', role: 'reviewer' }],
    second_reviewer: ['Rob Reviewer', { kind: 'staff', role: 'reviewer' }],
  };
  for (const who of PERSONS) {
    const [name, place] = places[who];
    const { email, password } = logins[who];
    const known = await persons.find(email);
    if (known?.hasLogin === true && kept !== undefined) continue;
    const person = await persons.add({ name, email }, place, LAUNCHER);
    await persons.setPassword(person, await hashPassword(password));
  }
  return logins;
}

function newLogins(): DemoPersons {
  const login = (who: string): PersonLogin => ({
    email: `${who.replace('_', '-')}@docket.example`,
    password: randomBytes(18).toString('base64url'),
  });
  return Object.fromEntries(PERSONS.map((who) => [who, login(who)])) as DemoPersons;
}
