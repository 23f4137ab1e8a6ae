/** Large packs are judged by threads, shard by shard. Here shards are small, so that a test has several. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { tablePath } from '#shared/packs/layout.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { isDeep } from '#test/support/depth.ts';
import { PackLab } from '#test/support/packs.ts';
import { ForgedPack } from './tampering.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-threads-'));
const lab = new PackLab(database.pool, directory);
const pack = join(directory, 'pack.zip');
/** Above the number from which threads are used, and in more shards than there are threads. */
const RECEIPTS = 2_500;
const SHARD_LINES = 300;

beforeAll(async () => {
  await lab.issue(RECEIPTS / 2);
  const degraded = await lab.issue(20, 'degraded');
  await lab.integrate();
  await lab.revise(degraded);
  await lab.issue(RECEIPTS / 2);
  const size = await lab.integrate();
  const range = { firstIndex: 7, lastIndex: size - 5, checkpointSize: size };
  await lab.pack(join(directory, 'one-shard.zip'), range);
  // The same lines, cut into more files: what the ledger and the signatures say stays as it is.
  const forged = new ForgedPack(join(directory, 'one-shard.zip'));
  split(forged);
  forged.repair(lab.signer('packs'));
  await forged.write(pack);
});

/** Cuts the one shard, its list of revised entries and its table into several. */
function split(forged: ForgedPack): void {
  const name = forged.shard('receipts');
  const list = forged.shard('superseded');
  const lines = forged.text(name).trimEnd().split('\n');
  const superseded = forged.text(list).trimEnd().split('\n');
  const [head = '', ...rows] = forged.text(tablePath(name)).trimEnd().split('\r\n');
  forged.files.delete(tablePath(name));
  forged.files.delete(name);
  forged.files.delete(list);
  for (let at = 0; at < lines.length; at += SHARD_LINES) {
    const first = String(7 + at).padStart(12, '0');
    const end = 7 + at + SHARD_LINES;
    const within = superseded.filter((line) => {
      const { index } = JSON.parse(line) as { index: number };
      return index >= 7 + at && index < end;
    });
    if (within.length > 0) forged.set(`data/superseded/${first}.ndjson`, `${within.join('\n')}\n`);
    const part = lines.slice(at, at + SHARD_LINES);
    forged.set(`data/receipts/${first}.ndjson`, `${part.join('\n')}\n`);
    const table = [head, ...rows.slice(at, at + SHARD_LINES)];
    forged.set(tablePath(`data/receipts/${first}.ndjson`), `${table.join('\r\n')}\r\n`);
  }
}

const judge = (path: string, onProgress?: (done: number, total: number) => void) =>
  verifyPack(path, {
    didJson: lab.documents.didDocument(),
    now: Date.now(),
    ...(onProgress === undefined ? {} : { onProgress }),
  });

describe('a pack of many shards', () => {
  it('is good, and says how far it is', async () => {
    const seen: [number, number][] = [];
    const verdict = await judge(pack, (done, total) => seen.push([done, total]));
    expect(verdict).toMatchObject({ verdict: 'good', code: 'good' });
    const total = seen[0]![1];
    expect(seen.at(-1)).toEqual([total, total]);
    expect(seen.map(([done]) => done)).toEqual(
      seen.map(([done]) => done).toSorted((a, b) => a - b),
    );
  });

  it.each(isDeep ? [0, 4, 8] : [8])('is bad when one receipt of shard %i is', async (shard) => {
    const forged = new ForgedPack(pack);
    const names = [...forged.files.keys()].filter((name) => name.startsWith('data/receipts/'));
    forged.lines(names[shard]!, (lines) =>
      lines.with(17, lines[17]!.replace('"attempts":1', '"attempts":2')),
    );
    forged.repair(lab.signer('packs'));
    const path = join(directory, `bad-${shard}.zip`);
    await forged.write(path);
    const verdict = await judge(path);
    expect(verdict).toMatchObject({
      verdict: 'bad',
      code: 'receipt_invalid',
      place: `entry ${7 + shard * SHARD_LINES + 17}`,
    });
  });

  it('is bad when two shards change places', async () => {
    const forged = new ForgedPack(pack);
    const [, second, third] = [...forged.files.keys()].filter((name) =>
      name.startsWith('data/receipts/'),
    );
    const bytes = forged.files.get(second!)!;
    forged.set(second!, forged.files.get(third!)!);
    forged.set(third!, bytes);
    forged.repair(lab.signer('packs'));
    const path = join(directory, 'swapped.zip');
    await forged.write(path);
    expect((await judge(path)).verdict).toBe('bad');
  });
});
