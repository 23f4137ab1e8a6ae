import type { PoolClient } from 'pg';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { appendAudit } from './audit.ts';

/** Why a person's playground ends, or all of an organisation's. */
type End = { orgId: string; personId?: string; actor: Actor; reason: string };

/**
 * Revokes the keys by which the playground of a person counts in an organisation, or the playgrounds of all. It is part of the
 * act that takes the playground away, whose own entry says who may do that, and is to come before that entry: keys are locked
 * before the audit chain.
 */
export async function endPlaygrounds(
  client: PoolClient,
  surroundings: Surroundings,
  { orgId, personId, actor: { allowedBy: _allowedBy, ...actor }, reason }: End,
): Promise<void> {
  const db = queriesOn(client);
  const active = db
    .selectFrom('api_key')
    .select('id')
    .where('org_id', '=', orgId)
    .where('state', '=', 'active')
    .where('playground_of', 'is not', null);
  const theirs = personId === undefined ? active : active.where('playground_of', '=', personId);
  const keys = await theirs.orderBy('id').forUpdate().execute();
  if (keys.length === 0) return;
  await db
    .updateTable('api_key')
    .set({ state: 'revoked', revoked_at: new Date(surroundings.now()) })
    .where(
      'id',
      'in',
      keys.map(({ id }) => id),
    )
    .execute();
  for (const { id } of keys)
    await appendAudit(client, surroundings, {
      orgId,
      action: 'key.revoked',
      actor,
      subject: id,
      reason,
    });
}
