import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { Form } from '../forms.ts';
import { PageError } from '../page-error.ts';

/** Of all files of a form: they fit where /tmp is 64 MiB of memory, as in the Helm chart. */
export const FILE_BYTES_MAX = 48 * 1024 * 1024;
/** A form with files is one of ours: a token, and two files. */
const LIMITS = {
  fields: 4,
  fieldSize: 4_096,
  files: 2,
  fileSize: FILE_BYTES_MAX + 1,
  parts: 6,
  headerPairs: 20,
} as const;

/** A file as it was sent, by its path on this machine. */
export interface UploadedFile {
  path: string;
  name: string;
}

/**
 * Reads a form with files, which are written into `directory` as they come, so that none is in memory whole.
 * @param accept throws where the form is not to be taken; it is asked before the first byte of a file is written
 * @throws PageError for a form that cannot be read, or is too large
 */
export async function readUpload(
  { raw, headers }: FastifyRequest,
  directory: string,
  accept: (form: Form) => Promise<void>,
): Promise<ReadonlyMap<string, UploadedFile>> {
  const fields = new URLSearchParams();
  const files = new Map<string, UploadedFile>();
  let accepted: Promise<void> | undefined;
  let bytes = 0;
  const bounded = async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      bytes += chunk.length;
      if (bytes > FILE_BYTES_MAX) throw tooLarge();
      yield chunk;
    }
  };
  const keep = async (name: string, content: Readable, fileName: string): Promise<void> => {
    await (accepted ??= accept(new Form(fields)));
    const path = join(directory, name === 'aliases' ? 'aliases' : 'list');
    await pipeline(content, bounded, createWriteStream(path, { mode: 0o600, flags: 'wx' }));
    // A browser sends an empty part for a field in which no file was chosen.
    if (fileName !== '') files.set(name, { path, name: fileName });
  };
  const writing: Promise<void>[] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      const parser = parserOf(headers as BusboyHeaders);
      parser.on('field', (name, value) => fields.append(name, value));
      parser.on('file', (name, content, fileName) => {
        const kept = keep(name, content, fileName ?? '');
        writing.push(kept);
        kept.catch(reject);
      });
      parser.once('finish', resolve);
      parser.once('error', () => reject(unreadable()));
      raw.once('error', reject);
      raw.pipe(parser);
    });
    await Promise.all(writing);
  } catch (error) {
    // The rest is read and forgotten, so that its sender gets to read why; the time of a request bounds it.
    raw.unpipe();
    raw.resume();
    throw error;
  }
  await (accepted ?? accept(new Form(fields)));
  return files;
}

function parserOf(headers: BusboyHeaders): InstanceType<typeof Busboy> {
  try {
    return new Busboy({ headers, limits: LIMITS });
  } catch {
    // A boundary is missing, or the like.
    throw unreadable();
  }
}

const unreadable = (): PageError =>
  new PageError(400, 'This could not be read', 'Go back and send the form again.');

const tooLarge = (): PageError =>
  new PageError(
    413,
    'The file is too large',
    `Nothing was kept of it: what is uploaded here has at most ${FILE_BYTES_MAX / 1_048_576} MiB here. docket sanctions import takes larger ones.`,
  );
