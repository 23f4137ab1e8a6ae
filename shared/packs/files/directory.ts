import { createReadStream } from 'node:fs';
import { access, constants, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import type { ObjectKind, ObjectStore, ObjectUpload } from '#shared/kernel/object-store.ts';

/** An export's id or a digest: nothing that could lead out of the directory. */
const KEY = /^[A-Za-z0-9_-]{1,64}$/;

export const PACK: ObjectKind = { suffix: '.zip', contentType: 'application/zip' };

/** Objects in a directory that every process of the deployment can reach. */
export function createDirectoryStore(
  directory: string,
  { suffix }: Pick<ObjectKind, 'suffix'> = PACK,
): ObjectStore {
  const pathOf = (key: string): string => {
    if (!KEY.test(key)) throw new RangeError('not the key of an object');
    return join(directory, key + suffix);
  };
  /** Unfinished objects of a key. Their names begin with a dot, so that they are not taken for whole ones. */
  const unfinished = async (key: string): Promise<string[]> => {
    const names = await readdir(directory).catch(ifMissing([] as string[]));
    const start = `.${key}.`;
    return names.filter((name) => name.startsWith(start)).map((name) => join(directory, name));
  };
  return {
    async create(key) {
      const path = pathOf(key);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      for (const left of await unfinished(key)) await rm(left, { force: true });
      return writeTo(join(directory, `.${key}.${randomBytes(6).toString('hex')}.partial`), path);
    },
    async read(key, { start, end }) {
      const file = await open(pathOf(key), 'r').catch(ifMissing(null));
      // Of a directory that is not there, because its volume is not, nothing is known.
      if (file === null) await access(directory);
      return file === null ? null : createReadStream('', { fd: file, start, end });
    },
    async size(key) {
      return (await stat(pathOf(key)).catch(ifMissing(null)))?.size ?? null;
    },
    async delete(key) {
      await rm(pathOf(key), { force: true });
      for (const left of await unfinished(key)) await rm(left, { force: true });
    },
    async check() {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await access(directory, constants.W_OK);
    },
  };
}

async function writeTo(partial: string, path: string): Promise<ObjectUpload> {
  const file = await open(partial, 'wx', 0o600);
  return {
    async write(bytes) {
      await file.writeFile(bytes);
    },
    async commit() {
      // The bytes are on disk before the name is, and the name before anyone is told.
      await file.sync();
      await file.close();
      await rename(partial, path);
      const directory = await open(join(path, '..'), 'r');
      await directory.sync().finally(() => directory.close());
    },
    async abort() {
      await file.close();
      await rm(partial, { force: true });
    },
  };
}

function ifMissing<T>(value: T): (error: unknown) => T {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return value;
    throw error;
  };
}
