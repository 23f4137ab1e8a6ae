import type { Pool } from 'pg';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import type { DeclarationDraft } from '../account.ts';

/** Declarations that are being filled in, in PostgreSQL. Declaring deletes the draft. */
export function createDrafts(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  return {
    async read(orgId: string): Promise<DeclarationDraft | null> {
      const row = await db
        .selectFrom('declaration_draft')
        .select('draft')
        .where('org_id', '=', orgId)
        .executeTakeFirst();
      return row === undefined ? null : (row.draft as DeclarationDraft);
    },

    async write(orgId: string, draft: DeclarationDraft): Promise<void> {
      const filled = {
        draft: JSON.stringify(draft),
        updated_at: new Date(surroundings.now()),
      };
      await db
        .insertInto('declaration_draft')
        .values({ org_id: orgId, ...filled })
        .onConflict((conflict) => conflict.column('org_id').doUpdateSet(filled))
        .execute();
    },
  };
}
