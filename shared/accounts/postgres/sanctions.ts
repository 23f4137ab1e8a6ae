import { sql, type Selectable } from 'kysely';
import type { Pool } from 'pg';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { execute, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { type Actor, SERVICE_CHAIN } from '../audit/entry.ts';
import type {
  ChangedParties,
  ImportedList,
  ListedEntity,
  ListedName,
  ListPreview,
  ListUpload,
  ListVersion,
  NamedParty,
  StagedList,
} from '../sanctions/listed.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { appendAudit } from './audit.ts';

/** Names written with one statement. */
const BATCH = 2_000;

/** Lists that wait at once: one of each source, and another try. */
const STAGED_MAX = 8;
/** A list that was not made current by then was forgotten: the next one has come out. */
const STAGED_MS = DAY_MS;
/** Parties of each kind of change that a person is shown. */
const PARTIES_SHOWN = 50;

/** Lists shown: a list a day for almost three years. */
const LISTS_MAX = 1_000;

export type SanctionsStore = ReturnType<typeof createSanctionsStore>;

/** The sanctions lists with their versions, in PostgreSQL. */
export function createSanctionsStore(pool: Pool, surroundings: Surroundings) {
  const db = queriesOn(pool);
  return {
    /**
     * Stores a list and makes it its source's current one, all or nothing. The version that is current
     * already changes nothing. Throws `invalid_file` for a list without names.
     */
    import: (
      upload: ListUpload,
      importedBy: Actor,
    ): Promise<{ list: ImportedList; isNew: boolean }> =>
      inTransaction(pool, (client) => importList(client, surroundings, upload, importedBy)),

    /** Newest first. */
    async lists(): Promise<ImportedList[]> {
      const rows = await db
        .selectFrom('sanctions_list')
        .selectAll()
        .where('staged_at', 'is', null)
        .orderBy('id', 'desc')
        .limit(LISTS_MAX)
        .execute();
      return rows.map(listOf);
    },

    /**
     * Stores a list that is not to be current yet, all or nothing, and returns its id. Throws `invalid_file` for one that is
     * known, or has no names.
     */
    stage: (upload: ListUpload, uploadedBy: Actor): Promise<string> =>
      inTransaction(pool, (client) => stageList(client, surroundings, upload, uploadedBy)),

    /** The lists that wait, newest first. */
    async staged(): Promise<StagedList[]> {
      const current = new Map(
        (await this.currentVersions()).map(({ source, version }) => [source, version]),
      );
      const rows = await db
        .selectFrom('sanctions_list')
        .selectAll()
        .where('staged_at', 'is not', null)
        .orderBy('id', 'desc')
        .execute();
      return rows.map((row) => stagedOf(row, current.get(row.source) ?? null));
    },

    /**
     * Makes a list that waits its source's current one. Throws `invalid_file` for one that does not wait any more, or was not
     * compared with the list that is current now.
     */
    apply: (id: string, by: Actor): Promise<ImportedList> =>
      inTransaction(pool, (client) => applyList(client, surroundings, id, by)),

    /** Deletes a list that waits; false where there is none. */
    async discard(id: string): Promise<boolean> {
      const [row] = await queryRows(pool, DISCARD, [id]);
      return row?.discarded === true;
    },

    /** Deletes the lists that have waited for a day. */
    async discardOld(): Promise<void> {
      await execute(pool, DISCARD_OLD, [new Date(surroundings.now() - STAGED_MS)]);
    },

    /** Parties that a list has and the current one of its source has not, the other way round, and those with other names. */
    async changes(
      id: string,
      against: string | null,
    ): Promise<Pick<ListPreview, 'added' | 'removed' | 'renamed'>> {
      const rows = await queryRows(pool, CHANGES, [id, against, PARTIES_SHOWN]);
      const of = (change: string): ChangedParties => {
        const some = rows.filter((row) => row.change === change);
        const first: NamedParty[] = some.map(({ id: party, name, programme }) => ({
          id: party,
          name,
          programme,
        }));
        return { count: Number(some[0]?.parties ?? 0), first };
      };
      return { added: of('added'), removed: of('removed'), renamed: of('renamed') };
    },

    async notePreview(id: string, preview: ListPreview): Promise<void> {
      await db
        .updateTable('sanctions_list')
        .set({ preview: JSON.stringify(preview) })
        .where('id', '=', id)
        .where('staged_at', 'is not', null)
        .execute();
    },

    /** Versions of the current lists, in the order of their sources. */
    currentVersions: (): Promise<ListVersion[]> =>
      db
        .selectFrom('sanctions_list')
        .select(['source', 'version'])
        .where('current', '=', true)
        .orderBy('source')
        .execute(),

    /** All names of these versions. */
    async namesOf(versions: readonly ListVersion[]): Promise<ListedName[]> {
      if (versions.length === 0) return [];
      const rows = await db
        .selectFrom('sanctions_list as l')
        .innerJoin('sanctions_name as n', 'n.list_id', 'l.id')
        .select(['l.source', 'n.entity_id', 'n.name', 'n.kind', 'n.weak', 'n.programme'])
        .where((eb) =>
          eb.or(versions.map(({ source, version }) => eb.and({ 'l.source': source, version }))),
        )
        .execute();
      return rows.map(({ entity_id: entityId, ...rest }) => ({ ...rest, entityId }));
    },
  };
}

async function importList(
  client: Queryable,
  surroundings: Surroundings,
  upload: ListUpload,
  importedBy: Actor,
): Promise<{ list: ImportedList; isNew: boolean }> {
  const db = queriesOn(client);
  const { source, version } = upload;
  await holdSource(client, source);
  const known = await db
    .selectFrom('sanctions_list')
    .selectAll()
    .where('source', '=', source)
    .where('version', '=', version)
    .executeTakeFirst();
  if (known?.current === true) return { list: listOf(known), isNew: false };
  const id = known?.id ?? (await insertList(client, surroundings, upload, importedBy));
  return { list: await makeCurrent(client, surroundings, { id, source }, importedBy), isNew: true };
}

/** Puts a list in the place of its source's current one, and writes that down. The source is held. */
async function makeCurrent(
  client: Queryable,
  surroundings: Surroundings,
  { id, source }: Pick<Selectable<Database['sanctions_list']>, 'id' | 'source'>,
  importedBy: Actor,
): Promise<ImportedList> {
  const db = queriesOn(client);
  await db
    .updateTable('sanctions_list')
    .set({ current: false })
    .where('source', '=', source)
    .where('current', '=', true)
    .execute();
  // One that has waited is imported now, by the one who has seen what it changes.
  const imported = { imported_by: importedBy.id, imported_at: new Date(surroundings.now()) };
  await db
    .updateTable('sanctions_list')
    .set({ ...imported, staged_at: null, preview: null })
    .where('id', '=', id)
    .where('staged_at', 'is not', null)
    .execute();
  const row = await db
    .updateTable('sanctions_list')
    .set({ current: true })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow();
  const list = listOf(row);
  await appendAudit(client, surroundings, {
    orgId: SERVICE_CHAIN,
    action: 'sanctions.imported',
    actor: importedBy,
    subject: source,
    details: { version: list.version, entities: list.entities, names: list.names },
  });
  return list;
}

/** Imports of one source take turns; each sees what the one before has made current. */
async function holdSource(client: Queryable, source: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtext(${`sanctions ${source}`}))`.execute(
    queriesOn(client),
  );
}

const refused = (message: string): Fault => new Fault('invalid_file', { message });

async function stageList(
  client: Queryable,
  surroundings: Surroundings,
  upload: ListUpload,
  uploadedBy: Actor,
): Promise<string> {
  const db = queriesOn(client);
  const { source, version } = upload;
  await holdSource(client, source);
  const known = await db
    .selectFrom('sanctions_list')
    .select(['current', 'staged_at'])
    .where('source', '=', source)
    .where('version', '=', version)
    .executeTakeFirst();
  if (known?.current === true) throw refused('This version is current already.');
  if (known !== undefined && known.staged_at !== null) {
    throw refused('This version was uploaded already, and waits below.');
  }
  if (known !== undefined) {
    throw refused(
      'This version was current before. docket sanctions import makes it current again.',
    );
  }
  const waiting = await db
    .selectFrom('sanctions_list')
    .select('id')
    .where('staged_at', 'is not', null)
    .limit(STAGED_MAX)
    .execute();
  if (waiting.length >= STAGED_MAX) {
    throw refused(`At most ${STAGED_MAX} lists wait at once. Make one current, or discard one.`);
  }
  return insertList(client, surroundings, upload, uploadedBy, new Date(surroundings.now()));
}

async function applyList(
  client: Queryable,
  surroundings: Surroundings,
  id: string,
  by: Actor,
): Promise<ImportedList> {
  const db = queriesOn(client);
  const staged = db
    .selectFrom('sanctions_list')
    .selectAll()
    .where('id', '=', id)
    .where('staged_at', 'is not', null);
  const found = await staged.executeTakeFirst();
  if (found === undefined) throw refused('This list does not wait any more.');
  await holdSource(client, found.source);
  const row = await staged.forUpdate().executeTakeFirst();
  if (row === undefined) throw refused('This list does not wait any more.');
  const current = await db
    .selectFrom('sanctions_list')
    .select('version')
    .where('source', '=', row.source)
    .where('current', '=', true)
    .executeTakeFirst();
  // What was shown was another change.
  if (stagedOf(row, current?.version ?? null).preview === null) {
    throw refused('Another list has become current meanwhile. This one is compared anew.');
  }
  return makeCurrent(client, surroundings, row, by);
}

const DISCARD = statement(
  { discarded: 'bool' },
  'select discard_sanctions_list($1::bigint) as discarded',
);
const DISCARD_OLD = statement(
  {},
  'select discard_sanctions_list(id) from sanctions_list where staged_at < $1',
);

/** Of each kind of change the first parties by their ids, with how many there are. */
const CHANGES = statement(
  { change: 'text', parties: 'int8', id: 'text', name: 'text', programme: 'text' },
  `with new as (
     select entity_id, min(programme) as programme, array_agg(distinct name order by name) as names,
       (array_agg(name order by ordinal))[1] as name
     from sanctions_name where list_id = $1::bigint group by entity_id),
   old as (
     select n.entity_id, min(n.programme) as programme, array_agg(distinct n.name order by n.name) as names,
       (array_agg(n.name order by n.ordinal))[1] as name
     from sanctions_name n join sanctions_list l on l.id = n.list_id
     join sanctions_list asked on asked.id = $1::bigint and asked.source = l.source
     where l.version = $2::text group by n.entity_id),
   each as (
     select coalesce(new.entity_id, old.entity_id) as id, coalesce(new.name, old.name) as name,
       coalesce(new.programme, old.programme) as programme,
       case when old.entity_id is null then 'added' when new.entity_id is null then 'removed' else 'renamed' end as change
     from new full join old on old.entity_id = new.entity_id
     where new.names is distinct from old.names),
   counted as (
     select each.*, count(*) over (partition by change) as parties,
       row_number() over (partition by change order by id) as place from each)
   select change, parties, id, name, programme from counted where place <= $3::int order by change, place`,
);

function stagedOf(row: Selectable<Database['sanctions_list']>, current: string | null): StagedList {
  const preview = row.preview as ListPreview | null;
  return {
    id: row.id,
    source: row.source,
    version: row.version,
    fileName: row.file_name,
    publishedOn: row.published_on,
    entities: row.entities,
    names: row.names,
    uploadedBy: row.imported_by,
    uploadedAt: row.staged_at!.getTime(),
    preview: preview?.against === current ? preview : null,
  };
}

/** Stores a list that is not known yet, not current, and returns its id. */
async function insertList(
  client: Queryable,
  surroundings: Surroundings,
  upload: ListUpload,
  importedBy: Actor,
  stagedAt: Date | null = null,
): Promise<string> {
  const db = queriesOn(client);
  const { id } = await db
    .insertInto('sanctions_list')
    .values({
      source: upload.source,
      version: upload.version,
      file_name: upload.fileName,
      entities: 0,
      names: 0,
      imported_by: importedBy.id,
      imported_at: new Date(surroundings.now()),
      staged_at: stagedAt,
    })
    .returning('id')
    .executeTakeFirstOrThrow();
  const counts = await insertNames(client, id, upload.entities);
  // A list without names is a broken download, and would clear every applicant.
  if (counts.names === 0) throw invalidParam('file', 'The list holds no names.');
  await db
    .updateTable('sanctions_list')
    .set({ ...counts, published_on: upload.publishedOn() })
    .where('id', '=', id)
    .execute();
  return id;
}

interface NameRow {
  entity: ListedEntity;
  /** Which of the entity's names. */
  index: number;
  /** Which name of the list. */
  ordinal: number;
}

async function insertNames(
  client: Queryable,
  listId: string,
  entities: AsyncIterable<ListedEntity>,
): Promise<{ entities: number; names: number }> {
  const counts = { entities: 0, names: 0 };
  let batch: NameRow[] = [];
  for await (const entity of entities) {
    counts.entities += 1;
    for (const index of entity.names.keys()) {
      batch.push({ entity, index, ordinal: counts.names });
      counts.names += 1;
    }
    if (batch.length >= BATCH) {
      await insertBatch(client, listId, batch);
      batch = [];
    }
  }
  await insertBatch(client, listId, batch);
  return counts;
}

/** Arrays of arrays do not travel through `unnest`; the countries go as one text and are split there. */
async function insertBatch(
  client: Queryable,
  listId: string,
  batch: readonly NameRow[],
): Promise<void> {
  const names = batch.map(({ entity, index }) => entity.names[index]!);
  await client.query(
    `insert into sanctions_name (list_id, entity_id, ordinal, name, kind, weak, programme, countries)
     select $1, entity_id, ordinal, name, kind, weak, programme, string_to_array(countries, ';')
     from unnest($2::text[], $3::integer[], $4::text[], $5::text[], $6::boolean[], $7::text[], $8::text[])
       as n (entity_id, ordinal, name, kind, weak, programme, countries)`,
    [
      listId,
      batch.map(({ entity }) => entity.id),
      batch.map(({ ordinal }) => ordinal),
      names.map(({ name }) => name.replaceAll('\0', '')),
      batch.map(({ entity }) => entity.kind),
      names.map(({ weak }) => weak),
      batch.map(({ entity }) => entity.programme),
      batch.map(({ entity }) => entity.countries.join(';')),
    ],
  );
}

function listOf(row: Selectable<Database['sanctions_list']>): ImportedList {
  return {
    source: row.source,
    version: row.version,
    fileName: row.file_name,
    publishedOn: row.published_on,
    entities: row.entities,
    names: row.names,
    importedBy: row.imported_by,
    importedAt: row.imported_at.getTime(),
    current: row.current,
  };
}
