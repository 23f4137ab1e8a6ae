import { hash, randomBytes, randomInt } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import {
  ASKED_MS,
  checkKeyTerms,
  CODE_LENGTH,
  codeFrom,
  type CommandLine,
  OPERATOR_KEY_PREFIX,
  operatorKeyLabel,
  type OperatorKeyTerms,
  spacedCode,
} from '../command-line.ts';
import type { Person, StaffRole } from '../roles.ts';
import { SESSION_MS } from '../sessions.ts';

/** The person in whose name a command line acts, and what they do for the service. */
export interface SignedInOperator {
  person: Person;
  staff: readonly StaffRole[];
  /** Epoch milliseconds. */
  until: number;
  /** What the operator key is called by which a program acts, and its id; null where it is a command line. */
  keyLabel: string | null;
}

/** An operator key that holds, and whose it is. */
export interface OperatorKey extends CommandLine {
  person: Person;
}

/** What acts: `docket` at a command line, or a program by an operator key. Neither acts by the token of the other. */
type Bearer = 'command line' | 'key';

export type CommandLines = ReturnType<typeof createCommandLines>;

/**
 * Command lines in the name of persons, in PostgreSQL: one asks with a code, a person who works for the service allows it on
 * a page, and for half a day it acts as they do. An operator key is asked for and allowed in the same way, and holds for days.
 */
export function createCommandLines(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  const now = () => new Date(surroundings.now());
  return {
    /**
     * Asks, as a command line, for itself or for an operator key. The token is kept by it alone; the code is typed on the
     * page. Throws `invalid_name` or `invalid_days`.
     */
    async ask(
      place: string,
      asked: OperatorKeyTerms | null = null,
    ): Promise<CommandLine & { token: string }> {
      const key = asked === null ? null : checkKeyTerms(asked);
      const token = `${key === null ? '' : OPERATOR_KEY_PREFIX}${randomBytes(32).toString('base64url')}`;
      const code = codeFrom(Array.from({ length: CODE_LENGTH }, () => randomInt(2 ** 32)));
      const [askedAt, until] = [surroundings.now(), surroundings.now() + ASKED_MS];
      const times = { asked_at: new Date(askedAt), expires_at: new Date(until) };
      await db
        .insertInto('persons.command_line')
        .values({
          token: hash('sha256', token),
          code,
          place,
          ...times,
          ...(key !== null && { key_name: key.name, key_days: key.days }),
        })
        .execute();
      return { token, code, place, askedAt, until, allowedAt: null, key };
    },

    /** In whose name the holder of a token acts; `waiting` until it is allowed, null when it is over or never was. */
    async by(
      token: string,
      bearer: Bearer = 'command line',
    ): Promise<SignedInOperator | 'waiting' | null> {
      const row = await db
        .selectFrom('persons.command_line as c')
        .leftJoin('persons.person as p', 'p.id', 'c.person_id')
        .select(['c.expires_at', 'c.key_name', 'c.code', 'p.id', 'p.name', 'p.email'])
        // By its digest: how far a wrong one is right cannot be told from how long the look takes.
        .where('c.token', '=', hash('sha256', token))
        .where('c.key_name', bearer === 'key' ? 'is not' : 'is', null)
        .where('c.expires_at', '>', now())
        .executeTakeFirst();
      if (row === undefined) return null;
      const { id, name, email } = row;
      if (id === null || name === null || email === null) return 'waiting';
      const roles = await db
        .selectFrom('persons.staff')
        .select('role')
        .where('person_id', '=', id)
        .execute();
      const staff = roles.map(({ role }) => role);
      const until = row.expires_at.getTime();
      const keyLabel = row.key_name === null ? null : operatorKeyLabel(row.key_name, row.code);
      return { person: { id, name, email }, staff, until, keyLabel };
    },

    /** The one that waits under a code; null when none does. */
    async waiting(code: string): Promise<CommandLine | null> {
      const row = await db
        .selectFrom('persons.command_line')
        .selectAll()
        .where('code', '=', code)
        .where('person_id', 'is', null)
        .where('expires_at', '>', now())
        .executeTakeFirst();
      return row === undefined ? null : commandLineOf(row);
    },

    /** The operator keys of all persons that hold, the newest first. */
    async keys(): Promise<OperatorKey[]> {
      const rows = await db
        .selectFrom('persons.command_line as c')
        .innerJoin('persons.person as p', 'p.id', 'c.person_id')
        .selectAll('c')
        .select(['p.id', 'p.name', 'p.email'])
        .where('c.key_name', 'is not', null)
        .where('c.expires_at', '>', now())
        .orderBy('c.allowed_at', 'desc')
        .execute();
      return rows.map(({ id, name, email, ...row }) => ({
        ...commandLineOf(row),
        person: { id, name, email },
      }));
    },

    /** Ends an operator key of any person, in the name of the operator who ends it; false when there is none. */
    revokeKey: (code: string, actor: Actor): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const row = await queriesOn(client)
          .deleteFrom('persons.command_line')
          .where('code', '=', code)
          .where('key_name', 'is not', null)
          .where('person_id', 'is not', null)
          .returning(['key_name', 'person_id'])
          .executeTakeFirst();
        if (row === undefined) return false;
        await appendAudit(client, surroundings, {
          orgId: SERVICE_CHAIN,
          action: 'operator_key.revoked',
          actor,
          subject: row.person_id!,
          details: { name: row.key_name!, id: spacedCode(code) },
        });
        return true;
      }),

    /** Those that act in a person's name, the newest first. */
    async of(personId: string): Promise<CommandLine[]> {
      const rows = await db
        .selectFrom('persons.command_line')
        .selectAll()
        .where('person_id', '=', personId)
        .where('expires_at', '>', now())
        .orderBy('allowed_at', 'desc')
        .execute();
      return rows.map(commandLineOf);
    },

    /**
     * Lets the one that waits under a code act in the name of a person; null when none waits any more. Their session is held
     * meanwhile: what ends it ends command lines after that, or finds none.
     */
    allow: (code: string, actor: Actor, sessionId: string): Promise<CommandLine | null> =>
      inTransaction(pool, async (client) => {
        const row = await queriesOn(client)
          .with('own', (on) =>
            on
              .selectFrom('persons.session')
              .select('id')
              .where('id', '=', sessionId)
              .where('person_id', '=', actor.id)
              .forShare(),
          )
          .updateTable('persons.command_line')
          .set({
            person_id: actor.id,
            allowed_at: now(),
            expires_at: sql`${now()}::timestamptz + coalesce(key_days * interval '1 day', ${SESSION_MS} * interval '1 millisecond')`,
          })
          .where('code', '=', code)
          .where('person_id', 'is', null)
          .where('expires_at', '>', now())
          .where((eb) => eb.exists(eb.selectFrom('own').select('id')))
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) return null;
        await appendAudit(client, surroundings, {
          orgId: SERVICE_CHAIN,
          ...(row.key_name === null
            ? { action: 'command_line.allowed' }
            : {
                action: 'operator_key.issued',
                details: { name: row.key_name, id: spacedCode(code), days: row.key_days! },
              }),
          actor,
          subject: row.place,
        });
        return commandLineOf(row);
      }),

    /** Ends one that acts in the name of the person who ends it; false when there is none. */
    end: (code: string, actor: Actor): Promise<boolean> =>
      inTransaction(pool, async (client) => {
        const row = await queriesOn(client)
          .deleteFrom('persons.command_line')
          .where('code', '=', code)
          .where('person_id', '=', actor.id)
          .returning(['place', 'key_name'])
          .executeTakeFirst();
        if (row === undefined) return false;
        await appendAudit(client, surroundings, {
          orgId: SERVICE_CHAIN,
          ...(row.key_name === null
            ? { action: 'command_line.ended', subject: row.place }
            : {
                action: 'operator_key.revoked',
                subject: actor.id,
                details: { name: row.key_name, id: spacedCode(code) },
              }),
          actor,
        });
        return true;
      }),

    /** Ends the one with this token, as itself, in the name of the person whose acts were its. */
    forget: (token: string): Promise<void> =>
      inTransaction(pool, async (client) => {
        const row = await queriesOn(client)
          .deleteFrom('persons.command_line')
          .where('token', '=', hash('sha256', token))
          .returning(['place', 'person_id', 'expires_at'])
          .executeTakeFirst();
        // One that was never allowed, or is over, ends nothing.
        if (row === undefined || row.person_id === null || row.expires_at <= now()) return;
        await appendAudit(client, surroundings, {
          orgId: SERVICE_CHAIN,
          action: 'command_line.ended',
          actor: { kind: 'operator', id: row.person_id, address: row.place },
          subject: row.place,
        });
      }),
  };
}

function commandLineOf(row: Selectable<Database['persons.command_line']>): CommandLine {
  return {
    code: row.code,
    place: row.place,
    askedAt: row.asked_at.getTime(),
    until: row.expires_at.getTime(),
    allowedAt: row.allowed_at?.getTime() ?? null,
    key: row.key_name === null ? null : { name: row.key_name, days: row.key_days! },
  };
}
