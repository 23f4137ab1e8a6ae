import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { writeExclusively } from '#shared/kernel/files/write-exclusively.ts';

it('a file is written whole, for this user alone, and the second writer of a name changes nothing', () => {
  const root = mkdtempSync(join(tmpdir(), 'docket-exclusively-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const path = join(root, 'keys', 'a.key');
  expect(writeExclusively(path, Buffer.alloc(32, 7))).toBe(true);
  expect(writeExclusively(path, 'another')).toBe(false);
  expect(readFileSync(path)).toEqual(Buffer.alloc(32, 7));
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(root, 'keys')).mode & 0o777).toBe(0o700);
  expect(readdirSync(join(root, 'keys'))).toEqual(['a.key']);
});
