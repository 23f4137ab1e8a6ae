import { spawn } from 'node:child_process';
import { hash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createDirectoryStore } from '#shared/packs/files/directory.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { sample } from '#test/support/depth.ts';
import { createBuilder } from '#test/support/export-runs.ts';
import { ORG, PackLab } from '#test/support/packs.ts';

const database = await createTestDatabase();
const directory = mkdtempSync(join(tmpdir(), 'docket-crash-'));
const packs = join(directory, 'packs');
const lab = new PackLab(database.pool, directory);
const registry = createExportRegistry(database.poolAs('docket_operator'), systemSurroundings);
const actor = { kind: 'operator', id: 'test' } as const;
/** Another builder, which is not killed: in this process, because its start is not what is tried. */
const heir = createBuilder(lab, database.poolAs('docket_exports'), createDirectoryStore(packs));

/** Steps near both ends, where things change hands, and some of the files between, which are alike. */
const placeOf = (nth: number, steps: number): 'begin' | 'end' | 'between' | undefined => {
  if (nth <= 6) return 'begin';
  if (nth > steps - 8) return 'end';
  return nth % 25 === 0 ? 'between' : undefined;
};

interface Ending {
  signal: NodeJS.Signals | null;
  steps: number;
}

function crash(exportId: string, nth: number): Promise<Ending> {
  const script = new URL('export-crashing.ts', import.meta.url).pathname;
  const args = [script, database.url, lab.keysDir, packs, exportId, String(nth)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (_code, signal) => resolve({ signal, steps: Number(output) }));
  });
}

let size: number;
beforeAll(async () => {
  const degraded = await lab.issue(50, 'degraded');
  await lab.integrate();
  await lab.revise(degraded.slice(0, 9));
  await lab.issue(50);
  size = await lab.integrate();
});

it(
  'a pack is whole or not there, and comes out the same, when its builder is killed at any step [evidence.crash]',
  { timeout: 300_000 },
  async () => {
    const range = { firstIndex: 0, lastIndex: size - 12, checkpointSize: size };
    const { sizeBytes, sha256 } = await lab.pack(join(directory, 'expected.zip'), range);
    const smooth = await registry.create(ORG, range, actor);
    const { steps } = await crash(smooth.id, Infinity);
    expect(steps).toBeGreaterThan(100);
    await registry.delete(ORG, smooth.id, actor);
    const tried = Array.from({ length: steps }, (_, i) => i + 1).filter((nth) =>
      placeOf(nth, steps),
    );
    for (const nth of sample(tried, (step) => placeOf(step, steps)!)) {
      const { id } = await registry.create(ORG, range, actor);
      expect((await crash(id, nth)).signal, `step ${nth}`).toBe('SIGKILL');
      const after = await registry.get(ORG, id);
      // Under the final name there is all of it or nothing; what is called ready is there.
      const named = readdirSync(packs).includes(`${id}.zip`);
      if (named) expect(hash('sha256', readFileSync(join(packs, `${id}.zip`)))).toBe(sha256);
      if (after?.status === 'ready') expect(named, `step ${nth}`).toBe(true);
      if (after?.status === 'running') {
        await database.pool.query(
          `update export set run_at = now() - interval '1 minute' where id = $1`,
          [id],
        );
      }
      await heir.run(id);
      const record = await registry.get(ORG, id);
      expect(record, `step ${nth}`).toMatchObject({ status: 'ready', sizeBytes, sha256 });
      expect(hash('sha256', readFileSync(join(packs, `${id}.zip`)))).toBe(sha256);
      expect(readdirSync(packs).filter((name) => name.endsWith('.partial'))).toEqual([]);
      await registry.delete(ORG, id, actor);
    }
  },
);
