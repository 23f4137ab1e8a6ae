import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Fault } from '#shared/kernel/errors.ts';
import { printable } from '#shared/kernel/plain-text.ts';
import type { ListedEntity, ListSource } from '../listed.ts';
import { readOfacAliases, readOfacCsv, readOpenSanctions } from './csv-lists.ts';
import { XML_LISTS, type XmlListFormat } from './xml-lists.ts';
import { readXmlRecords } from './xml-records.ts';

/** The root element or the header line stands within the first kilobytes. */
const HEAD_BYTES = 8_192;

/** A file that has been recognised and can be read. */
export interface SanctionsFile {
  source: ListSource;
  /** Hex SHA-256 of the file: its version. */
  version: string;
  /** Parties with at least one name. Well-formedness is only known at the end. */
  entities(): AsyncIterable<ListedEntity>;
  /** What the list says of its date; known when the entities have been read. */
  publishedOn(): string | null;
}

/**
 * Recognises a published list by its content and opens it.
 * @param aliasPath OFAC's `alt.csv`, which belongs to `sdn.csv`.
 * @throws Fault `invalid_file` when it is none of the known formats.
 */
export async function openSanctionsFile(path: string, aliasPath?: string): Promise<SanctionsFile> {
  const head = await readHead(path);
  const version = await digestOf(aliasPath === undefined ? [path] : [path, aliasPath]);
  const root = /<(?:[\w.-]+:)?([A-Za-z_][\w.-]*)[\s>/]/.exec(withoutProlog(head))?.[1];
  const format = XML_LISTS.find((candidate) => candidate.root === root);
  if (format !== undefined) return xmlFile(format, path, version);
  if (/^\uFEFF?"?id"?,"?schema"?,"?name"?,/.test(head)) {
    return {
      source: 'opensanctions',
      version,
      entities: () => named(readOpenSanctions(textOf(path))),
      publishedOn: () => null,
    };
  }
  if (/^\uFEFF?\d+\s*,\s*"/.test(head)) {
    return {
      source: 'ofac_sdn',
      version,
      entities: () => named(readOfac(path, aliasPath)),
      publishedOn: () => null,
    };
  }
  throw new Fault('invalid_file', {
    message:
      'Not a list that is known here: OFAC SDN (XML, CSV), EU or UN consolidated XML, OpenSanctions targets.simple.csv.',
  });
}

function xmlFile(format: XmlListFormat, path: string, version: string): SanctionsFile {
  let published: string | null = null;
  async function* entities(): AsyncGenerator<ListedEntity> {
    for await (const record of readXmlRecords(textOf(path), format.records)) {
      published ??= format.publishedOn(record);
      const entity = format.entityOf(record);
      if (entity !== null) yield entity;
    }
  }
  return {
    source: format.source,
    version,
    entities: () => named(entities()),
    publishedOn: () => published,
  };
}

async function* readOfac(path: string, aliasPath?: string): AsyncGenerator<ListedEntity> {
  const aliases = aliasPath === undefined ? new Map() : await readOfacAliases(textOf(aliasPath));
  yield* readOfacCsv(textOf(path), aliases);
}

/** Names that are empty are left out, and parties without an id or a name with them. */
async function* named(entities: AsyncIterable<ListedEntity>): AsyncGenerator<ListedEntity> {
  for await (const entity of readable(entities)) {
    const names = entity.names.filter(({ name }) => name.trim() !== '');
    if (entity.id !== '' && names.length > 0) yield { ...entity, names };
  }
}

/** Parsers say at which line a file is broken. */
async function* readable(entities: AsyncIterable<ListedEntity>): AsyncGenerator<ListedEntity> {
  try {
    yield* entities;
  } catch (cause) {
    throw new Fault('invalid_file', {
      message: `The file cannot be read to its end: ${printable((cause as Error).message)
        .replace(/\.$/, '')
        .slice(0, 300)}.`,
      cause,
    });
  }
}

function textOf(path: string): AsyncIterable<string> {
  return createReadStream(path, { encoding: 'utf8' }) as AsyncIterable<string>;
}

async function readHead(path: string): Promise<string> {
  const file = await open(path, 'r').catch((cause: unknown) => {
    throw new Fault('invalid_file', { message: 'The file cannot be read.', cause });
  });
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(HEAD_BYTES) });
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function digestOf(paths: readonly string[]): Promise<string> {
  const digest = createHash('sha256');
  for (const path of paths) for await (const chunk of createReadStream(path)) digest.update(chunk);
  return digest.digest('hex');
}

/** Declarations and comments come before the root element. */
function withoutProlog(head: string): string {
  return head.replaceAll(/<\?[\s\S]*?\?>|<!--[\s\S]*?-->|<![^>]*>/g, '');
}
