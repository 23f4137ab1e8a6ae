import { type Insertable, type Selectable, sql } from 'kysely';
import type { Pool, PoolClient } from 'pg';
import { limitsOf } from '#shared/accounts/account.ts';
import { type Actor, AllowanceLost, type AuditAction } from '#shared/accounts/audit/entry.ts';
import { negotiatedLimitsOf } from '#shared/accounts/postgres/accounts.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';
import { queueKeyMail } from '#shared/accounts/postgres/mail.ts';
import { recordEvent } from '#shared/accounts/postgres/events.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import type { Page, PageRequest } from '#shared/kernel/page.ts';
import type { Rate } from '#shared/kernel/plan.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { keyset, pageOf } from '#shared/kernel/postgres/page.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { isActOf, type Person } from '#shared/persons/roles.ts';
import { isScope } from '../credential.ts';
import { auditDetailsOf, displayText } from '../describe.ts';
import { displayOf, generateKey, hashKey, withoutKeys } from '../format.ts';
import { restorableUntil, restore, revoke } from '../lifecycle.ts';
import type { KeyRecord } from '../record.ts';
import {
  ACTIVE_KEYS_MAX,
  checkLeakRestorer,
  checkName,
  checkRestorable,
  checkRevoker,
  grantKey,
  grantPlayground,
  grantSuccessor,
  grantTerms,
  type GrantTerms,
  type KeyGrant,
  type KeyRequest,
  noPlayground,
  ofPlayground,
} from '../rules.ts';

/** A key at the only moment its plaintext is known. */
export interface IssuedKey {
  key: KeyRecord;
  /** The bearer secret. Shown once, never stored. */
  plaintext: string;
}

/** What every key begins with tells nothing. */
const HEAD_LENGTH_MIN = 5;
/** Who finds more has to ask for more characters. */
const FOUND_MAX = 50;
/** The newest keys of an organisation, which a search looks through in some ten milliseconds. */
export const SEARCHED_MAX = 10_000;

/** Playgrounds that are named: those of a large team. */
const PLAYGROUNDS_MAX = 100;
/** Of a hash that is random in place of that of a secret. */
const HASH_BYTES = 32;
/** What would be shown of a secret where there is none. */
const NO_SECRET = { head: '(no key)', tail: 'none' } as const;

/** Why a key is revoked. That it leaked is a choice of the one who revokes it, never read from the words. */
interface Revocation {
  reason?: string | undefined;
  leaked?: boolean | undefined;
}

export type KeyRegistry = ReturnType<typeof createKeyRegistry>;

/**
 * The keys of organisations, in PostgreSQL. Each act is one transaction with its audit entry and letter, and
 * takes its locks in one order (account, key, audit chain), so that two acts never wait for each other in a
 * circle. Refusals are Faults.
 */
export function createKeyRegistry(pool: Pool, surroundings: Surroundings) {
  const inAct = <T>(work: (within: Within) => Promise<T>): Promise<T> =>
    inTransaction(pool, (client) => work({ client, surroundings }));
  return {
    issue: (orgId: string, request: KeyRequest, actor: Actor): Promise<IssuedKey> =>
      inAct(async (within) => {
        const grant = grantKey(request, await lockTerms(within, orgId, actor));
        return issueKey(within, { orgId, grant, predecessor: null, actor });
      }),

    /**
     * The hash of the key by which the playground of a person counts in an organisation; the key is made when there is none. Each
     * person has one in each organisation, and no more: two requests at once are given the same.
     * @throws Fault when there is no playground, and when the account is given no keys; AllowanceLost without a role for it
     */
    async playground(orgId: string, person: Player, actor: Actor): Promise<string> {
      const found = await playgroundHash(pool, orgId, person);
      if (found !== undefined) return found;
      return inAct(async (within) => {
        const { account, now } = await lockAccount(within, orgId);
        const made = await playgroundHash(within.client, orgId, person);
        if (made !== undefined) return made;
        if (!account.playground) throw noPlayground();
        await holdPlayer(within.client, orgId, person);
        // However many keys programs have: of these there are no more than members.
        const terms = grantTerms({ ...account, activeKeys: 0 }, actor, now);
        const grant = grantPlayground(person, terms);
        const hash = Buffer.from(surroundings.randomBytes(HASH_BYTES));
        const stored = { hash, ...NO_SECRET, playground_of: person.id };
        await insertKey(within, { orgId, grant, predecessor: null, actor }, stored);
        return hash.toString('hex');
      });
    },

    /** The keys by which playgrounds of an organisation count, or did, newest first; the newest hundred. */
    async playgrounds(orgId: string): Promise<KeyRecord[]> {
      const rows = await keysOn(pool)
        .where('org_id', '=', orgId)
        .where('playground_of', 'is not', null)
        .orderBy('id', 'desc')
        .limit(PLAYGROUNDS_MAX)
        .execute();
      return rows.map(keyOf);
    },

    /** Issues a successor in the same lineage. The predecessor stays active until it is revoked. */
    rotate: (
      orgId: string,
      keyId: string,
      request: Partial<KeyRequest>,
      actor: Actor,
    ): Promise<IssuedKey> =>
      inAct(async (within) => {
        const terms = await lockTerms(within, orgId, actor);
        const predecessor = await lockKey(within, orgId, keyId);
        const grant = grantSuccessor(predecessor, request, terms);
        return issueKey(within, { orgId, grant, predecessor, actor });
      }),

    /** A key that is not active any more, and leaked, is marked so. */
    async revoke(
      orgId: string,
      keyId: string,
      actor: Actor,
      { reason, leaked = false }: Revocation = {},
    ): Promise<KeyRecord> {
      checkRevoker(keyId, actor);
      return inAct(async (within) => {
        const before = await lockKey(within, orgId, keyId);
        const key = revoke(before, surroundings.now(), leaked);
        await writeState(within, key);
        const action = key.state === before.state ? 'key.leaked' : 'key.revoked';
        await record(within, key, { action, actor, reason });
        return key;
      });
    },

    restore: (orgId: string, keyId: string, actor: Actor, reason?: string): Promise<KeyRecord> =>
      inAct(async (within) => {
        const terms = await lockTerms(within, orgId, actor);
        const before = await lockKey(within, orgId, keyId);
        const key = restore(before, terms.now);
        checkRestorable(key, terms);
        checkLeakRestorer(before, actor, reason);
        await writeState(within, key);
        await record(within, key, { action: 'key.restored', actor, reason });
        return key;
      }),

    /** Calls a key by another name, also one that is revoked or has expired; the former name stays in the audit log. */
    rename: (orgId: string, keyId: string, typed: string, actor: Actor): Promise<KeyRecord> =>
      inAct(async (within) => {
        const before = await lockKey(within, orgId, keyId);
        const key = { ...before, name: checkName(typed) };
        if (key.name === before.name) return key;
        await queriesOn(within.client)
          .updateTable('api_key')
          .set({ name: key.name })
          .where('id', '=', key.id)
          .execute();
        await appendAudit(within.client, surroundings, {
          orgId,
          action: 'key.renamed',
          actor,
          subject: key.id,
          details: { before: before.name, name: key.name },
        });
        return key;
      }),

    /** A page of an organisation's keys, without those of playgrounds. Ids sort by time, so it follows the index on (org_id, id). */
    async list(request: PageRequest & { orgId: string }): Promise<Page<KeyRecord>> {
      const { after, orgId } = request;
      if (after !== undefined && !isId('key', after)) throw new Fault('invalid_after');
      const query = keysOn(pool).where('org_id', '=', orgId).where('playground_of', 'is', null);
      return pageOf(await keyset(query, 'id', request).execute(), request, keyOf);
    },

    async get(orgId: string, keyId: string): Promise<KeyRecord> {
      if (!isId('key', keyId)) throw new Fault('key_not_found');
      const row = await keysOn(pool)
        .where('id', '=', keyId)
        .where('org_id', '=', orgId)
        .executeTakeFirst();
      if (row === undefined) throw new Fault('key_not_found');
      return keyOf(row);
    },

    /** A key of any organisation, for support. */
    async find(keyId: string): Promise<KeyRecord> {
      if (!isId('key', keyId)) throw new Fault('key_not_found');
      const row = await keysOn(pool).where('id', '=', keyId).executeTakeFirst();
      if (row === undefined) throw new Fault('key_not_found');
      return keyOf(row);
    },

    /** The newest key that succeeds this one and is active; null when there is none. */
    async successor(orgId: string, keyId: string): Promise<KeyRecord | null> {
      const row = await keysOn(pool)
        .where('org_id', '=', orgId)
        .where('predecessor_id', '=', keyId)
        .where('state', '=', 'active')
        .orderBy('id', 'desc')
        .limit(1)
        .executeTakeFirst();
      return row === undefined ? null : keyOf(row);
    },

    /**
     * Keys of an organisation by a part of their name, in any case, by what they begin with, or by their last characters, newest
     * first: of the newest ten thousand, those that were revoked included.
     */
    async search(
      orgId: string,
      { name, head, tail, limit }: { name: string; head?: string; tail?: string; limit: number },
    ): Promise<KeyRecord[]> {
      const newest = queriesOn(pool)
        .selectFrom('api_key')
        .select(KEY_COLUMNS)
        .where('org_id', '=', orgId)
        .where('playground_of', 'is', null)
        .orderBy('id', 'desc')
        .limit(SEARCHED_MAX);
      const rows = await queriesOn(pool)
        .selectFrom(newest.as('newest'))
        .select(KEY_COLUMNS)
        .where((eb) =>
          eb.or([
            sql<boolean>`position(lower(${name}::text) in lower(name)) > 0`,
            ...(head === undefined ? [] : [eb('head', '=', head)]),
            ...(tail === undefined ? [] : [eb('tail', '=', tail)]),
          ]),
        )
        .orderBy('id', 'desc')
        .limit(limit)
        .execute();
      return rows.map(keyOf);
    },

    /** Keys that begin as they are shown, with more than what all of them begin with, newest first: for support, of any organisation. */
    async findByHead(head: string): Promise<KeyRecord[]> {
      if (head.length < HEAD_LENGTH_MIN) return [];
      const rows = await keysOn(pool)
        .where('playground_of', 'is', null)
        .where('head', 'like', `${head.slice(0, 8).replaceAll(/[\\%_]/g, '\\$&')}%`)
        .orderBy('id', 'desc')
        .limit(FOUND_MAX)
        .execute();
      return rows.map(keyOf);
    },

    /** Finds a key that has leaked by its hash (hex), for support. Null when there is none. */
    async findByHash(hash: string): Promise<KeyRecord | null> {
      const row = await keysOn(pool)
        .where('hash', '=', Buffer.from(hash, 'hex'))
        .executeTakeFirst();
      return row === undefined ? null : keyOf(row);
    },
  };
}

/** The transaction of an act, and the clock and ids that it uses. */
export interface Within {
  client: PoolClient;
  surroundings: Surroundings;
}

/** Locks the account against changes of state and plan. */
async function lockAccount({ client, surroundings }: Within, orgId: string) {
  const account = await queriesOn(client)
    .selectFrom('account')
    .select([
      'state',
      'plan',
      'playground',
      'requests_per_second',
      'burst',
      'requests_per_day',
      'concurrent_streams',
    ])
    .where('id', '=', orgId)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (account === undefined) throw new Fault('organisation_not_found');
  const { state, plan, playground } = account;
  const limits = limitsOf({ plan, negotiatedLimits: negotiatedLimitsOf(account) });
  return { account: { state, plan, playground, limits }, now: surroundings.now() };
}

/** The same, and asks whether it may have one more key. */
async function lockTerms(within: Within, orgId: string, actor: Actor): Promise<GrantTerms> {
  const { account, now } = await lockAccount(within, orgId);
  const db = queriesOn(within.client);
  const active = await db
    .selectFrom(
      db
        .selectFrom('api_key')
        .select('id')
        .where('org_id', '=', orgId)
        .where('state', '=', 'active')
        .where('playground_of', 'is', null)
        // Counting further would change nothing.
        .limit(ACTIVE_KEYS_MAX)
        .as('active'),
    )
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .executeTakeFirstOrThrow();
  return grantTerms({ ...account, activeKeys: Number(active.count) }, actor, now);
}

/** The person whose playground it is. */
type Player = Pick<Person, 'id' | 'name'>;

async function playgroundHash(
  on: Queryable,
  orgId: string,
  { id }: Player,
): Promise<string | undefined> {
  const row = await queriesOn(on)
    .selectFrom('api_key')
    .select('hash')
    .where('org_id', '=', orgId)
    .where('playground_of', '=', id)
    .where('state', '=', 'active')
    .executeTakeFirst();
  return row?.hash.toString('hex');
}

/** Holds a person's part in an organisation: who takes it away meanwhile waits, and finds the key that goes with it. */
async function holdPlayer(client: PoolClient, orgId: string, { id }: Player): Promise<void> {
  const part = await queriesOn(client)
    .selectFrom('persons.membership')
    .select('role')
    .where('org_id', '=', orgId)
    .where('person_id', '=', id)
    .forShare()
    .executeTakeFirst();
  if (part === undefined || !isActOf(part.role, 'use the playground'))
    throw new AllowanceLost(part === undefined);
}

/**
 * Someone else's key and no key are the same answer. One of a playground is made and ended with that.
 * @throws Fault `key_not_found`, and `key_state_conflict` for one of a playground
 */
async function lockKey({ client }: Within, orgId: string, keyId: string): Promise<KeyRecord> {
  if (!isId('key', keyId)) throw new Fault('key_not_found');
  const row = await keysOn(client)
    .where('id', '=', keyId)
    .where('org_id', '=', orgId)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new Fault('key_not_found');
  if (row.playground_of !== null) throw ofPlayground();
  return keyOf(row);
}

interface Birth {
  orgId: string;
  grant: KeyGrant;
  predecessor: KeyRecord | null;
  actor: Actor;
}

async function issueKey(within: Within, birth: Birth): Promise<IssuedKey> {
  const plaintext = generateKey((size) => within.surroundings.randomBytes(size));
  const hash = Buffer.from(hashKey(plaintext), 'hex');
  const key = await insertKey(within, birth, { hash, ...displayOf(plaintext) });
  return { key, plaintext };
}

/** What is stored of a key itself. */
type Stored = Pick<Insertable<Database['api_key']>, 'hash' | 'head' | 'tail' | 'playground_of'>;

async function insertKey(
  within: Within,
  { orgId, grant, predecessor, actor }: Birth,
  stored: Stored,
): Promise<KeyRecord> {
  const { client, surroundings } = within;
  const id = surroundings.newId('key');
  const row = await queriesOn(client)
    .insertInto('api_key')
    .values({
      id,
      org_id: orgId,
      name: grant.name,
      ...stored,
      scopes: [...grant.scopes],
      requests_per_second: grant.limit?.requestsPerSecond ?? null,
      burst: grant.limit?.burst ?? null,
      lineage_id: predecessor?.lineageId ?? id,
      predecessor_id: predecessor?.id ?? null,
      created_at: new Date(surroundings.now()),
      expires_at: dateOf(grant.expiresAt),
    })
    .returning(KEY_COLUMNS)
    .executeTakeFirstOrThrow();
  const key = keyOf(row);
  const action = predecessor === null ? 'key.issued' : 'key.rotated';
  await record(within, key, { action, actor });
  return key;
}

async function writeState({ client }: Within, key: KeyRecord): Promise<void> {
  await queriesOn(client)
    .updateTable('api_key')
    .set({ state: key.state, revoked_at: dateOf(key.revokedAt), leaked: key.leaked })
    .where('id', '=', key.id)
    .execute();
}

export interface KeyEvent {
  action: AuditAction;
  actor: Actor;
  reason?: string | undefined;
}

/** Writes the audit entry and the e-mail of what happened to a key. Of one without a secret no e-mail warns. */
export async function record(
  { client, surroundings }: Within,
  key: KeyRecord,
  { action, actor, reason }: KeyEvent,
): Promise<void> {
  const { id, orgId, name, leaked } = key;
  // Who reports a leak writes the key itself into the reason at times; what is written here is kept for good.
  const given = reason ?? actor.reason;
  const why = given === undefined ? undefined : withoutKeys(given);
  await appendAudit(client, surroundings, {
    orgId,
    action,
    actor,
    subject: id,
    details: auditDetailsOf(key),
    ...(why === undefined ? {} : { reason: why }),
  });
  if (key.playgroundOf !== null) return;
  const display = displayText(key.display);
  const until = restorableUntil(key, surroundings.now());
  const named = { orgId, name, display, leaked, restorableUntil: until };
  const told = reason === undefined ? undefined : why;
  await queueKeyMail(client, surroundings, { key: named, action, actor, reason: told });
  if (leaked && (action === 'key.leaked' || action === 'key.revoked')) {
    const leak = { orgId, type: 'key.leaked', data: { key: { id, name, display } } } as const;
    await recordEvent(client, surroundings, leak);
  }
}

/** Everything of a key but its hash. */
export const KEY_COLUMNS = [
  'id',
  'org_id',
  'name',
  'head',
  'tail',
  'state',
  'scopes',
  'playground_of',
  'requests_per_second',
  'burst',
  'lineage_id',
  'predecessor_id',
  'created_at',
  'expires_at',
  'revoked_at',
  'leaked',
  'last_used_at',
] as const;

export type KeyRow = Pick<Selectable<Database['api_key']>, (typeof KEY_COLUMNS)[number]>;

function keysOn(on: Queryable) {
  return queriesOn(on).selectFrom('api_key').select(KEY_COLUMNS);
}

export function keyOf(row: KeyRow): KeyRecord {
  return {
    id: row.id,
    orgId: row.org_id,
    name: row.name,
    display: { head: row.head, tail: row.tail },
    state: row.state,
    scopes: row.scopes.filter(isScope),
    playgroundOf: row.playground_of,
    limit: keyLimitOf(row.requests_per_second, row.burst),
    lineageId: row.lineage_id,
    predecessorId: row.predecessor_id,
    createdAt: row.created_at.getTime(),
    expiresAt: row.expires_at?.getTime() ?? null,
    revokedAt: row.revoked_at?.getTime() ?? null,
    leaked: row.leaked,
    lastUsedAt: row.last_used_at?.getTime() ?? null,
  };
}

/** The two limit columns of a key, or null when it has none of its own. */
export function keyLimitOf(requestsPerSecond: number | null, burst: number | null): Rate | null {
  return requestsPerSecond === null || burst === null ? null : { requestsPerSecond, burst };
}

function dateOf(epochMs: number | null): Date | null {
  return epochMs === null ? null : new Date(epochMs);
}
