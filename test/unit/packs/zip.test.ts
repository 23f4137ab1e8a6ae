import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PackProblem } from '#shared/packs/problem.ts';
import { isSafePath, parseDirectory, parseTail } from '#shared/packs/zip/directory.ts';
import {
  centralHeader,
  endRecords,
  LOCAL_BYTES,
  localHeader,
  TAIL_BYTES,
  type ZipEntry,
} from '#shared/packs/zip/headers.ts';
import { runs } from '#test/support/depth.ts';
import { forAll, forAllAsync } from '#test/support/for-all.ts';
import { ArchiveWriter } from '#workers/exports/archive.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const anyName = fc.stringMatching(
  /^[a-z0-9_-][a-z0-9._-]{0,12}(\/[a-z0-9_-][a-z0-9._-]{0,12}){0,3}$/,
);
const anyFiles = fc.uniqueArray(fc.tuple(anyName, fc.uint8Array({ maxLength: 300 })), {
  selector: ([name]) => name,
  maxLength: 12,
});

async function archiveOf(files: readonly (readonly [string, Uint8Array])[]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  const writer = new ArchiveWriter(
    async (bytes) => void chunks.push(Uint8Array.from(bytes)),
    'top',
  );
  for (const [name, bytes] of files) await writer.add(name, bytes);
  const { sizeBytes } = await writer.finish();
  const archive = Buffer.concat(chunks);
  expect(archive.length).toBe(sizeBytes);
  return archive;
}

function read(archive: Uint8Array): ZipEntry[] {
  const directory = parseTail(archive.subarray(-TAIL_BYTES), archive.length);
  return parseDirectory(
    archive.subarray(directory.offset, directory.offset + directory.size),
    directory,
  );
}

describe('an archive', () => {
  it('an archive reads back as it was written, and ends where its files end', async () => {
    await forAllAsync([anyFiles], { numRuns: runs(50) }, async (files) => {
      const archive = await archiveOf(files);
      const entries = read(archive);
      expect(entries.map(({ name }) => name)).toEqual(files.map(([name]) => `top/${name}`));
      for (const [i, entry] of entries.entries()) {
        const start = entry.offset + LOCAL_BYTES + entry.name.length;
        const bytes = archive.subarray(start, start + entry.size);
        expect(bytes.equals(Buffer.from(files[i]![1]))).toBe(true);
        expect(entry.crc32).toBe(crc32(bytes));
      }
    });
  });

  it('an archive with one bit of its directory changed is another list of files, or none', async () => {
    const archive = await archiveOf([
      ['a.txt', Buffer.from('one')],
      ['b/c.txt', Buffer.from('two')],
      ['b/d.txt', Buffer.alloc(0)],
    ]);
    const expected = JSON.stringify(read(archive));
    const { offset } = parseTail(archive.subarray(-TAIL_BYTES), archive.length);
    for (let bit = offset * 8; bit < archive.length * 8; bit += 1) {
      const changed = Buffer.from(archive);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      let seen: string | null = null;
      thrownBy(PackProblem, () => (seen = JSON.stringify(read(changed))));
      expect(seen, `bit ${bit}`).not.toBe(expected);
    }
  });

  it('an archive of any bytes is refused or read, and never crashes its reader', () => {
    forAll([fc.uint8Array({ minLength: TAIL_BYTES, maxLength: 600 })], (bytes) => {
      thrownBy(PackProblem, () => read(bytes));
    });
  });

  it('an archive may be larger than four gigabytes, with files beyond', () => {
    const size = 3_000_000_000;
    const names = ['top/a', 'top/b', 'top/c'];
    let offset = 0;
    const entries = names.map((name) => {
      const entry = { name, size, crc32: 7, offset };
      offset += LOCAL_BYTES + name.length + size;
      return entry;
    });
    const central = Buffer.concat(entries.map(centralHeader));
    const tail = endRecords({ entries: 3, offset, size: central.length });
    const directory = parseTail(tail, offset + central.length + TAIL_BYTES);
    expect(parseDirectory(central, directory)).toEqual(entries);
  });
});

describe('a header', () => {
  it('a header of an archive has the published form', () => {
    const header = Buffer.from(localHeader({ name: 'a', size: 5, crc32: 0x01020304 }));
    expect(header.toString('hex')).toBe(
      '504b0304' +
        '0a00' +
        '0000' +
        '0000' +
        '0000' +
        '2100' +
        '04030201' +
        '05000000' +
        '05000000' +
        '0100' +
        '0000' +
        '61',
    );
  });
});

describe('a path', () => {
  it.each(['a', 'a/b.txt', 'data/receipts/000000000000.ndjson', '_x/-y/z..z'])(
    '%s is a path in an archive',
    (path) => {
      expect(isSafePath(path)).toBe(true);
    },
  );

  it.each([
    '',
    '/',
    '/a',
    'a/',
    'a//b',
    '.',
    '..',
    '../a',
    'a/../b',
    './a',
    'a/.',
    'a/..',
    'a\\b',
    'C:a',
    'a\0',
    'a b',
    'ä',
    '.hidden',
    'a/.git',
    'x'.repeat(256),
  ])('%j is not a path in an archive', (path) => {
    expect(isSafePath(path)).toBe(false);
  });
});
