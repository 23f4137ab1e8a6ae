import type { Pool, PoolClient } from 'pg';
import { limitsOf } from '#shared/accounts/account.ts';
import type { Actor, AuditDetails } from '#shared/accounts/audit/entry.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { isId } from '#shared/kernel/ids.ts';
import { displayOf, generateKey, hashKey } from '../format.ts';
import { requireRotatable, restore, revoke } from '../lifecycle.ts';
import type { KeyRecord } from '../record.ts';
import {
  ACTIVE_KEYS_MAX,
  checkScopes,
  grantKey,
  type GrantTerms,
  type KeyGrant,
  type KeyRequest,
} from '../rules.ts';
import { successorOf } from '../rotation.ts';
import type { IssuedKey, KeyRegistry } from '../port-keys.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import { appendAudit } from '#shared/accounts/postgres/audit-append.ts';
import { expireDueKeys, purgeDueKeys, warnOfExpiry } from './deadlines.ts';
import { queueKeyMail } from '#shared/accounts/postgres/mail-events.ts';
import { findKeyByHash, findKey, keyOf, KEY_COLUMNS, listKeys } from './read.ts';
import { negotiatedLimitsOf, type AccountRow } from '#shared/accounts/postgres/schema.ts';
import { type KeyRow } from './rows.ts';

/**
 * Keys in PostgreSQL. Every act takes its locks in one order (account, key, audit chain),
 * so that two acts never wait for each other in a circle.
 */
export function createKeyRegistry(pool: Pool, surroundings: Surroundings): KeyRegistry {
  const context = { pool, surroundings };
  return {
    issue: (orgId, request, actor) =>
      inTransaction(pool, async (client) => {
        const terms = await lockTerms(client, context, orgId, actor);
        const grant = grantKey(request, terms);
        return insertKey(client, context, { orgId, grant, predecessor: null, actor });
      }),
    list: (request) => listKeys(pool, request),
    get: (orgId, keyId) => findKey(pool, orgId, keyId),
    rotate: (orgId, keyId, request, actor) =>
      inTransaction(pool, (client) => rotateKey(client, context, { orgId, keyId, request, actor })),
    revoke: (orgId, keyId, actor, reason) =>
      inTransaction(pool, (client) => revokeKey(client, context, { orgId, keyId, actor, reason })),
    restore: (orgId, keyId, actor, reason) =>
      inTransaction(pool, (client) => restoreKey(client, context, { orgId, keyId, actor, reason })),
    findByHash: (hash) => findKeyByHash(pool, hash),
    expireDue: (limit) => expireDueKeys(pool, surroundings, limit),
    warnExpiring: (limit) => warnOfExpiry(pool, surroundings, limit),
    purgeDue: (limit) => purgeDueKeys(pool, surroundings, limit),
  };
}

interface Context {
  pool: Pool;
  surroundings: Surroundings;
}

interface KeyAct {
  orgId: string;
  keyId: string;
  actor: Actor;
  reason?: string | undefined;
}

async function rotateKey(
  client: PoolClient,
  context: Context,
  act: KeyAct & { request: Partial<KeyRequest> },
): Promise<IssuedKey> {
  const terms = await lockTerms(client, context, act.orgId, act.actor);
  const predecessor = await lockKey(client, act);
  requireRotatable(predecessor, terms.now);
  const grant = grantKey(successorOf(predecessor, act.request, terms), terms);
  return insertKey(client, context, {
    orgId: act.orgId,
    grant,
    predecessor,
    actor: act.actor,
  });
}

async function revokeKey(client: PoolClient, context: Context, act: KeyAct): Promise<KeyRecord> {
  const { surroundings } = context;
  if (act.actor.kind === 'key' && act.actor.id === act.keyId) {
    throw new Fault('invalid_key', { message: 'A key cannot revoke itself.' });
  }
  const key = revoke(await lockKey(client, act), surroundings.now());
  await writeState(client, key);
  await record(client, surroundings, { ...act, action: 'key.revoked', key });
  return key;
}

async function restoreKey(client: PoolClient, context: Context, act: KeyAct): Promise<KeyRecord> {
  const terms = await lockTerms(client, context, act.orgId, act.actor);
  const key = restore(await lockKey(client, act), terms.now);
  // Bringing an administrator back is granting one: the same rule holds.
  if (key.scopes.includes('admin:keys')) checkScopes(['admin:keys'], terms);
  await writeState(client, key);
  await record(client, context.surroundings, { ...act, action: 'key.restored', key });
  return key;
}

interface Birth {
  orgId: string;
  grant: KeyGrant;
  predecessor: KeyRecord | null;
  actor: Actor;
}

async function insertKey(client: PoolClient, context: Context, birth: Birth): Promise<IssuedKey> {
  const { surroundings } = context;
  const { grant, predecessor, orgId } = birth;
  const plaintext = generateKey((size) => surroundings.randomBytes(size));
  const id = surroundings.newId('key');
  const display = displayOf(plaintext);
  const { rows } = await client.query<KeyRow>(
    `insert into api_key (id, org_id, name, hash, head, tail, scopes, requests_per_second,
       burst, lineage_id, predecessor_id, created_at, expires_at)
     values ($1, $2, $3, decode($4, 'hex'), $5, $6, $7, $8, $9, $10, $11, $12, $13)
     returning ${KEY_COLUMNS}`,
    [
      id,
      orgId,
      grant.name,
      hashKey(plaintext),
      display.head,
      display.tail,
      grant.scopes,
      grant.limit?.requestsPerSecond ?? null,
      grant.limit?.burst ?? null,
      predecessor?.lineageId ?? id,
      predecessor?.id ?? null,
      new Date(surroundings.now()),
      grant.expiresAt === null ? null : new Date(grant.expiresAt),
    ],
  );
  const key = keyOf(rows[0]!);
  const action = predecessor === null ? 'key.issued' : 'key.rotated';
  await record(client, surroundings, { actor: birth.actor, action, key });
  return { key, plaintext };
}

/** Locks the account against changes of state and plan, and checks that it may have one more key. */
async function lockTerms(
  client: PoolClient,
  context: Context,
  orgId: string,
  actor: Actor,
): Promise<GrantTerms> {
  const { rows } = await client.query<
    Pick<
      AccountRow,
      'state' | 'plan' | 'requests_per_second' | 'burst' | 'requests_per_day' | 'concurrent_streams'
    > & { active_keys: string }
  >(
    `select a.state, a.plan, a.requests_per_second, a.burst, a.requests_per_day, a.concurrent_streams,
       (select count(*) from (select from api_key k where k.org_id = a.id
          and k.state = 'active' limit $2)) as active_keys
     from account a where a.id = $1 for no key update of a`,
    [orgId, ACTIVE_KEYS_MAX],
  );
  const row = rows[0];
  if (row === undefined) throw new Fault('organisation_not_found');
  if (row.state === 'suspended') {
    throw new Fault('customer_suspended');
  }
  if (row.state !== 'active') {
    throw new Fault('invalid_account_state', {
      message: `Keys need an active account; this one is ${row.state}.`,
    });
  }
  if (Number(row.active_keys) >= ACTIVE_KEYS_MAX) {
    throw invalidParam('key', `An organisation can have ${ACTIVE_KEYS_MAX} active keys at most.`);
  }
  return {
    plan: row.plan,
    limits: limitsOf({ plan: row.plan, negotiatedLimits: negotiatedLimitsOf(row) }),
    grantor: actor.kind === 'key' ? 'key' : 'person',
    now: context.surroundings.now(),
  };
}

/** Someone else's key and no key are the same answer. */
async function lockKey(client: Queryable, act: KeyAct): Promise<KeyRecord> {
  if (!isId('key', act.keyId)) throw new Fault('key_not_found');
  const { rows } = await client.query<KeyRow>(
    `select ${KEY_COLUMNS} from api_key where id = $1 and org_id = $2 for update`,
    [act.keyId, act.orgId],
  );
  if (rows[0] === undefined) throw new Fault('key_not_found');
  return keyOf(rows[0]);
}

async function writeState(client: Queryable, key: KeyRecord): Promise<void> {
  await client.query('update api_key set state = $2, revoked_at = $3 where id = $1', [
    key.id,
    key.state,
    key.revokedAt === null ? null : new Date(key.revokedAt),
  ]);
}

interface KeyEvent {
  actor: Actor;
  action: string;
  key: KeyRecord;
  reason?: string | undefined;
}

/** The log keeps what a key was called and allowed, never its hash: it must tell the story after the purge. */
async function record(
  client: Queryable,
  surroundings: Surroundings,
  event: KeyEvent,
): Promise<void> {
  const { key } = event;
  const display = `${key.display.head}…${key.display.tail}`;
  const details: AuditDetails = {
    name: key.name,
    display,
    scopes: key.scopes,
    lineage_id: key.lineageId,
    ...(key.predecessorId === null ? {} : { predecessor_id: key.predecessorId }),
    ...(key.expiresAt === null ? {} : { expires_at: new Date(key.expiresAt).toISOString() }),
  };
  await appendAudit(client, surroundings, {
    orgId: key.orgId,
    action: event.action,
    actor: event.actor,
    subject: key.id,
    details,
    ...(event.reason === undefined ? {} : { reason: event.reason }),
  });
  await queueKeyMail(client, surroundings, {
    key: { orgId: key.orgId, name: key.name, display },
    action: event.action,
    actor: event.actor,
  });
}
