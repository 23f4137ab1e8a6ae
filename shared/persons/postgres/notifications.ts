import { sql } from 'kysely';
import type { Pool } from 'pg';
import type { Page } from '#shared/kernel/page.ts';
import { keyset, pageOf } from '#shared/kernel/postgres/page.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { type Notification, UNREAD_MAX } from '../notifications.ts';

/** Whose events are read, and by whom. */
interface Reader {
  orgId: string;
  personId: string;
}

/** Behind all ids of events. */
const LAST_ID = 'evt_~';

/** What organisations are told, for their members. */
export function createNotifications(pool: Pool) {
  const db = queriesOn(pool);
  return {
    /**
     * How many events this member has not seen; at most `UNREAD_MAX` are counted. Every page asks: the range and the order are
     * those of the index of organisations, so that no statistics make PostgreSQL look through what others were told.
     */
    async unread({ orgId, personId }: Reader): Promise<number> {
      const seen = db
        .selectFrom('persons.membership')
        .select('seen_event')
        .where('person_id', '=', personId)
        .where('org_id', '=', orgId);
      const unseen = db
        .selectFrom('event')
        .select('id')
        .where(sql<boolean>`(org_id, id) > (${orgId}, (${seen}))`)
        .where(sql<boolean>`(org_id, id) <= (${orgId}, ${LAST_ID})`)
        .orderBy('org_id')
        .orderBy('id')
        .limit(UNREAD_MAX);
      const { unread } = await db
        .selectFrom(unseen.as('unseen'))
        .select(({ fn }) => fn.countAll<string>().as('unread'))
        .executeTakeFirstOrThrow();
      return Number(unread);
    },

    /** Newest first; those of one type where one is named. */
    async list(
      { orgId, personId }: Reader,
      asked: { type: string | undefined; after: string | undefined; limit: number },
    ): Promise<Page<Notification>> {
      const page = { limit: asked.limit, after: asked.after, order: 'desc' } as const;
      const all = db
        .selectFrom('event as e')
        .innerJoin('persons.membership as m', 'm.org_id', 'e.org_id')
        .select(['e.id', 'e.type', 'e.data', 'e.at'])
        .select(sql<boolean>`e.id > m.seen_event`.as('is_new'))
        .where('e.org_id', '=', orgId)
        .where('m.person_id', '=', personId);
      const some = asked.type === undefined ? all : all.where('e.type', '=', asked.type);
      const rows = await keyset(some, 'e.id', page).execute();
      return pageOf(rows, page, ({ id, type, data, at, is_new }) => ({
        id,
        type,
        data,
        at: at.getTime(),
        isNew: is_new,
      }));
    },

    /** Notes that a member has seen the events up to this one. What was committed after a later one stands in the list, as seen. */
    async see({ orgId, personId }: Reader, through: string): Promise<void> {
      const newest = db
        .selectFrom('event')
        .select(({ fn }) => fn.max('id').as('id'))
        .where('org_id', '=', orgId)
        .where('id', '<=', through);
      await db
        .updateTable('persons.membership')
        .set({ seen_event: sql<string>`greatest(seen_event, ${newest})` })
        .where('person_id', '=', personId)
        .where('org_id', '=', orgId)
        .execute();
    },
  };
}
