import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { demandFile } from '#cli/input.ts';
import type { PackBytes } from './pack-file.ts';

/** An archive on disk. */
export interface ArchiveFile extends PackBytes {
  close(): void;
}

/** Opens an archive; its size is that of now. @throws Error when it is missing, or no file */
export function openArchive(path: string): ArchiveFile {
  demandFile(path);
  const fd = openSync(path, 'r');
  return {
    size: fstatSync(fd).size,
    read: (offset, into) => readSync(fd, into, 0, into.length, offset),
    close: () => closeSync(fd),
  };
}
