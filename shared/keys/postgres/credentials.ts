import type { Pool } from 'pg';
import { limitsOf } from '#shared/accounts/account.ts';
import type { Credential } from '../credential.ts';
import { scopesOnPlan } from '../rules.ts';
import type { CredentialSource, KeyUseStore } from '../port-credentials.ts';
import { negotiatedLimitsOf } from '#shared/accounts/postgres/schema.ts';
import { keyLimitOf, type CredentialRow } from './rows.ts';

/** One look-up in the unique index on the hash per key, however many are asked for. */
const FIND_BY_HASHES = `
  select encode(k.hash, 'hex') as hash, k.id as key_id, k.org_id, k.state as key_state,
    k.expires_at, k.scopes, k.requests_per_second as key_requests_per_second, k.burst as key_burst,
    a.state as account_state, a.plan, a.requests_per_second, a.burst, a.requests_per_day,
    a.concurrent_streams
  from api_key k join account a on a.id = k.org_id
  where k.hash = any($1::bytea[])`;

/** Credentials from PostgreSQL. The statement is prepared once per connection. */
export function createCredentialSource(pool: Pool): CredentialSource {
  return {
    async findByHashes(hashes) {
      const { rows } = await pool.query<CredentialRow>({
        name: 'credentials-by-hash',
        text: FIND_BY_HASHES,
        values: [hashes.map((hash) => Buffer.from(hash, 'hex'))],
      });
      return new Map(rows.map((row) => [row.hash, credentialOf(row)]));
    },
  };
}

function credentialOf(row: CredentialRow): Credential {
  return {
    keyId: row.key_id,
    orgId: row.org_id,
    keyState: row.key_state,
    expiresAt: row.expires_at?.getTime() ?? null,
    scopes: scopesOnPlan(row.scopes, row.plan),
    plan: row.plan,
    accountState: row.account_state,
    limits: limitsOf({ plan: row.plan, negotiatedLimits: negotiatedLimitsOf(row) }),
    keyLimit: keyLimitOf(row.key_requests_per_second, row.key_burst),
  };
}

/**
 * Writes times of last use. Rows are locked in the order of their ids and rows that are busy are
 * skipped: neither two processes writing at once nor a revocation under way can end in a deadlock,
 * and a skipped time is followed by a later one.
 */
export function createKeyUseStore(pool: Pool): KeyUseStore {
  return {
    async recordUses(uses) {
      await pool.query(
        `with used as (select id, at from unnest($1::text[], $2::timestamptz[]) as u (id, at)),
           held as (select k.id from api_key k join used u using (id)
             where k.last_used_at is null or k.last_used_at < u.at
             order by k.id for no key update of k skip locked)
         update api_key k set last_used_at = u.at
         from used u join held h using (id) where k.id = u.id`,
        [[...uses.keys()], [...uses.values()].map((at) => new Date(at))],
      );
    },
  };
}
