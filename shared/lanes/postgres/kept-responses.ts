import type { Pool } from 'pg';
import { now, queriesOn } from '#shared/kernel/postgres/queries.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';

/** A response as it rests in PostgreSQL. */
export interface KeptRow {
  orgId: string;
  /** `resp_…` */
  id: string;
  /** The response that it goes on from. */
  previous: string | null;
  sealed: Uint8Array;
  /** The ids of the items of its output that lead to it by no name of ours. */
  items?: readonly string[];
}

/** Which responses items are of. */
export interface ItemsWanted {
  /** The ids of responses, by the ids of items that were made here. */
  responses: readonly string[];
  /** The ids of items that servers have named. */
  items: readonly string[];
  /** Responses that are read already. */
  except: readonly string[];
}

/** What is read of it. */
export type ChainRow = Pick<KeptRow, 'id' | 'previous'> & { sealed: Buffer };

/** What a conversation is read for. */
export type ChainUse = 'go on' | 'list';

/** How far back a conversation is followed: turns, and bytes as they are kept. */
export interface ChainBounds {
  turnsMax: number;
  bytesMax: number;
}

/** From the response that is named to the one that began the conversation. */
const CHAIN = `with recursive chain as (
    select id, previous, bytes::bigint as total, 1 as turn
    from kept_response where org_id = $1 and id = $2`;

/** Those that were renewed in the last minute are left alone, and so are those that another request renews now. */
const RENEWED = `held as (
    select k.id from kept_response k join chain c on k.id = c.id
    where k.org_id = $1 and k.expires_at < now() + interval '23 hours 59 minutes'
    order by k.id for no key update of k skip locked),
  renewed as (
    update kept_response k set expires_at = now() + interval '24 hours'
    from held h where k.org_id = $1 and k.id = h.id)`;

/** One more than the bounds allow is read, so that they can be told to have been exceeded. */
const readChain = (more: string) =>
  statement(
    { id: 'text', previous: 'text?', sealed: 'bytea?' },
    `${CHAIN} and expires_at > now()
    union all
    select k.id, k.previous, c.total + k.bytes, c.turn + 1
    from chain c join kept_response k on k.org_id = $1 and k.id = c.previous
    where c.turn <= $3 and c.total <= $4)
  ${more}
  select c.id, c.previous, case when c.turn <= $3 and c.total <= $4 then k.sealed end as sealed
  from chain c join kept_response k on k.org_id = $1 and k.id = c.id
  order by c.turn desc`,
  );
const LIST_CHAIN = readChain('');
const GO_ON_FROM_CHAIN = readChain(`, ${RENEWED}`);

/**
 * The account is held until this is committed, so that nothing is kept after it was switched off. What it goes on from is
 * renewed: a conversation lives as long as its newest response.
 */
const KEEP = statement(
  { id: 'text' },
  `${CHAIN.replace('$2', '$3')}
    union all
    select k.id, k.previous, c.total + k.bytes, c.turn + 1
    from chain c join kept_response k on k.org_id = $1 and k.id = c.previous
    where c.turn <= $5),
  ${RENEWED},
  open as (
    select id from account where id = $1 and keep_responses and state = 'active' for share)
  insert into kept_response (org_id, id, previous, sealed, items, expires_at)
  select id, $2, $3, $4, $6::text[], now() + interval '24 hours' from open
  where $3::text is null or exists (select from chain where id = $3)
  returning id`,
);

/**
 * The responses of items, each once, and renewed. An item that two responses have by one name, as servers give that count
 * from 1, is found by it in neither: it may be of another conversation. One more than the bound allows has no content.
 */
const OF_ITEMS = statement(
  { id: 'text', sealed: 'bytea?' },
  `with named as (
    select id from kept_response where org_id = $1 and id = any($2::text[]) and expires_at > now()
    union
    select found.id from unnest($3::text[]) as wanted (item)
    cross join lateral (
      select min(k.id) as id from (
        select id from kept_response
        where org_id = $1 and items @> array[wanted.item] and expires_at > now() limit 2) k
      having count(*) = 1) found),
  chain as (
    select k.id, sum(k.bytes) over (order by k.id) as total
    from named n join kept_response k on k.org_id = $1 and k.id = n.id
    where k.id <> all($4::text[])),
  ${RENEWED}
  select c.id, case when c.total <= $5::bigint then k.sealed end as sealed
  from chain c join kept_response k on k.org_id = $1 and k.id = c.id
  order by c.id`,
);

/** An item as it is found: by its own organisation. */
function placed(orgId: string, item: string): string {
  return `${orgId}/${item}`;
}

/** Kept responses, with the rights of `docket_api`. */
export function createKeptResponses(pool: Pool) {
  const db = queriesOn(pool);
  /** One that has not expired. */
  const kept = (orgId: string, id: string) =>
    db
      .selectFrom('kept_response')
      .where('org_id', '=', orgId)
      .where('id', '=', id)
      .where('expires_at', '>', now);
  return {
    /** Keeps a response; false where its organisation has none kept, or what it goes on from is gone. */
    async keep(
      { orgId, id, previous, sealed, items = [] }: KeptRow,
      turnsMax: number,
    ): Promise<boolean> {
      const found = items.length === 0 ? null : items.map((item) => placed(orgId, item));
      const values = [orgId, id, previous, Buffer.from(sealed), turnsMax, found];
      return (await queryRows(pool, KEEP, values)).length === 1;
    },
    /**
     * The conversation that ends with a response, oldest first; nothing where that response is not kept. To go on from it
     * renews it, to list it does not. Of what is beyond the bounds there is one row without content.
     */
    async chain(
      orgId: string,
      id: string,
      use: ChainUse,
      { turnsMax, bytesMax }: ChainBounds,
    ): Promise<(Omit<ChainRow, 'sealed'> & { sealed: Buffer | null })[]> {
      const chain = use === 'go on' ? GO_ON_FROM_CHAIN : LIST_CHAIN;
      return queryRows(pool, chain, [orgId, id, turnsMax, bytesMax]);
    },
    /** The responses that items are of, as far as they are kept; beyond the bound without content. Renews them. */
    async ofItems(
      orgId: string,
      { responses, items, except }: ItemsWanted,
      bytesMax: number,
    ): Promise<{ id: string; sealed: Buffer | null }[]> {
      const wanted = items.map((item) => placed(orgId, item));
      return queryRows(pool, OF_ITEMS, [orgId, responses, wanted, except, bytesMax]);
    },
    /** Null when it has expired or never was. */
    async read(orgId: string, id: string): Promise<ChainRow | null> {
      const query = kept(orgId, id).select(['id', 'previous', 'sealed']);
      return (await query.executeTakeFirst()) ?? null;
    },
    async has(orgId: string, id: string): Promise<boolean> {
      return (await kept(orgId, id).select('id').executeTakeFirst()) !== undefined;
    },
    /** Deletes a response; false when it was not there. */
    async drop(orgId: string, id: string): Promise<boolean> {
      const { numDeletedRows } = await db
        .deleteFrom('kept_response')
        .where('org_id', '=', orgId)
        .where('id', '=', id)
        .where('expires_at', '>', now)
        .executeTakeFirstOrThrow();
      return numDeletedRows === 1n;
    },
    /** What an organisation has kept. */
    async bytesOf(orgId: string): Promise<number> {
      const { bytes } = await db
        .selectFrom('kept_response')
        .select(({ fn }) => fn.sum<string | null>('bytes').as('bytes'))
        .where('org_id', '=', orgId)
        .executeTakeFirstOrThrow();
      return Number(bytes ?? 0);
    },
  };
}

/** Deletes at most `limit` responses whose time is over, with the rights of `docket_housekeeping`. Returns how many. */
export async function dropExpiredResponses(pool: Pool, limit: number): Promise<number> {
  const { numDeletedRows } = await queriesOn(pool)
    .deleteFrom('kept_response')
    .where((eb) =>
      eb(
        eb.refTuple('org_id', 'id'),
        'in',
        eb
          .selectFrom('kept_response')
          .select(['org_id', 'id'])
          .where('expires_at', '<=', now)
          .orderBy('expires_at')
          .limit(limit)
          .$asTuple('org_id', 'id'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
