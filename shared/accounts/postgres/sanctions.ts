import type { Pool, PoolClient } from 'pg';
import { SERVICE_CHAIN, type Actor } from '../audit/entry.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import type { ListedEntity, ListedName } from '../sanctions/listed.ts';
import type { ImportedList, ListUpload, SanctionsStore } from '../sanctions/port-sanctions.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import { appendAudit } from './audit-append.ts';

/** Names written with one statement. */
const BATCH = 2_000;

const LIST_COLUMNS = `source, version, file_name, published_on, entities, names, imported_by,
  imported_at, current`;

interface ListRow {
  source: ImportedList['source'];
  version: string;
  file_name: string;
  published_on: string | null;
  entities: number;
  names: number;
  imported_by: string;
  imported_at: Date;
  current: boolean;
}

/** Sanctions lists in PostgreSQL. */
export function createSanctionsStore(pool: Pool, surroundings: Surroundings): SanctionsStore {
  return {
    import: (upload, importedBy) =>
      inTransaction(pool, (client) => importList(client, surroundings, upload, importedBy)),
    async lists() {
      const { rows } = await pool.query<ListRow>(
        `select ${LIST_COLUMNS} from sanctions_list order by id desc limit 1000`,
      );
      return rows.map(listOf);
    },
    async currentVersions() {
      const { rows } = await pool.query<Pick<ImportedList, 'source' | 'version'>>(
        'select source, version from sanctions_list where current order by source',
      );
      return rows.map(({ source, version }) => ({ source, version }));
    },
    async namesOf(versions) {
      const { rows } = await pool.query<{
        source: ListedName['source'];
        entity_id: string;
        name: string;
        kind: ListedName['kind'];
        weak: boolean;
        programme: string;
      }>(
        `select l.source, n.entity_id, n.name, n.kind, n.weak, n.programme
         from sanctions_list l join sanctions_name n on n.list_id = l.id
         where (l.source, l.version) in (select * from unnest($1::text[], $2::text[]))`,
        [versions.map(({ source }) => source), versions.map(({ version }) => version)],
      );
      return rows.map(({ entity_id: entityId, ...rest }) => ({ ...rest, entityId }));
    },
  };
}

async function importList(
  client: PoolClient,
  surroundings: Surroundings,
  upload: ListUpload,
  importedBy: string,
): Promise<{ list: ImportedList; isNew: boolean }> {
  // Two imports of one source take turns; the second sees what the first has made current.
  await client.query('select pg_advisory_xact_lock(hashtext($1))', [`sanctions ${upload.source}`]);
  const known = await findList(client, upload);
  if (known?.current === true) return { list: listOf(known), isNew: false };
  await client.query('update sanctions_list set current = false where source = $1 and current', [
    upload.source,
  ]);
  const row =
    known === undefined ? await insertList(client, surroundings, upload, importedBy) : known;
  const { rows } = await client.query<ListRow>(
    `update sanctions_list set current = true where source = $1 and version = $2
     returning ${LIST_COLUMNS}`,
    [row.source, row.version],
  );
  const list = listOf(rows[0]!);
  const actor: Actor = { kind: 'operator', id: importedBy };
  await appendAudit(client, surroundings, {
    orgId: SERVICE_CHAIN,
    action: 'sanctions.imported',
    actor,
    subject: list.source,
    details: { version: list.version, entities: list.entities, names: list.names },
  });
  return { list, isNew: true };
}

async function findList(client: Queryable, upload: ListUpload): Promise<ListRow | undefined> {
  const { rows } = await client.query<ListRow>(
    `select ${LIST_COLUMNS} from sanctions_list where source = $1 and version = $2`,
    [upload.source, upload.version],
  );
  return rows[0];
}

async function insertList(
  client: Queryable,
  surroundings: Surroundings,
  upload: ListUpload,
  importedBy: string,
): Promise<Pick<ListRow, 'source' | 'version'>> {
  const { rows } = await client.query<{ id: string }>(
    `insert into sanctions_list (source, version, file_name, entities, names, imported_by, imported_at)
     values ($1, $2, $3, 0, 0, $4, $5) returning id`,
    [upload.source, upload.version, upload.fileName, importedBy, new Date(surroundings.now())],
  );
  const listId = rows[0]!.id;
  const counts = await insertNames(client, listId, upload.entities);
  // An empty list would clear everybody: it is a broken download, not a world without sanctions.
  if (counts.names === 0) throw invalidParam('file', 'The list holds no names.');
  await client.query(
    'update sanctions_list set entities = $2, names = $3, published_on = $4 where id = $1',
    [listId, counts.entities, counts.names, upload.publishedOn()],
  );
  return upload;
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

function listOf(row: ListRow): ImportedList {
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
