import { sql, type Selectable } from 'kysely';
import type { Pool } from 'pg';
import { invalidParam } from '#shared/kernel/errors.ts';
import type { Database } from '#shared/kernel/postgres/database.ts';
import { queriesOn } from '#shared/kernel/postgres/queries.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { type Actor, SERVICE_CHAIN } from '../audit/entry.ts';
import type {
  ImportedList,
  ListedEntity,
  ListedName,
  ListUpload,
  ListVersion,
} from '../sanctions/listed.ts';
import { appendAudit } from './audit.ts';

/** Names written with one statement. */
const BATCH = 2_000;

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
        .orderBy('id', 'desc')
        .limit(LISTS_MAX)
        .execute();
      return rows.map(listOf);
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
  // Two imports of one source take turns; the second sees what the first has made current.
  await sql`select pg_advisory_xact_lock(hashtext(${`sanctions ${source}`}))`.execute(db);
  const known = await db
    .selectFrom('sanctions_list')
    .selectAll()
    .where('source', '=', source)
    .where('version', '=', version)
    .executeTakeFirst();
  if (known?.current === true) return { list: listOf(known), isNew: false };
  await db
    .updateTable('sanctions_list')
    .set({ current: false })
    .where('source', '=', source)
    .where('current', '=', true)
    .execute();
  const id = known?.id ?? (await insertList(client, surroundings, upload, importedBy));
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
    details: { version, entities: list.entities, names: list.names },
  });
  return { list, isNew: true };
}

/** Stores a list that is not known yet, not current, and returns its id. */
async function insertList(
  client: Queryable,
  surroundings: Surroundings,
  upload: ListUpload,
  importedBy: Actor,
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
