/** A pack with more derivations than it has lineage documents. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { fieldLines } from '#cli/print.ts';
import { packSaid } from '#cli/verify/pack-words.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { PackLab } from '#test/support/packs.ts';
import { ForgedPack } from './tampering.ts';

const { FEW } = vi.hoisted(() => ({ FEW: 2 as number }));
vi.mock(import('#shared/packs/layout.ts'), async (importOriginal) => {
  const layout = await importOriginal();
  return { ...layout, LINEAGE_DOCUMENTS_MAX: FEW as typeof layout.LINEAGE_DOCUMENTS_MAX };
});

const SCRIPT = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;
const DRIVER = `
import sys
sys.path.insert(0, sys.argv[1])
import verify
verify.LINEAGE_MAX = ${FEW}
sys.exit(verify.main(sys.argv[2:]))
`;

it('what is declared for receipts without a lineage document is named by page and both verifiers', async () => {
  const { pool } = await createTestDatabase();
  const directory = mkdtempSync(join(tmpdir(), 'docket-many-'));
  const lab = new PackLab(pool, directory);
  for (const batch of [8, 16]) {
    lab.footprint = { ref: 'llama-3.1-8b', batch };
    await lab.issue(1);
  }
  lab.footprint = { ref: 'llama-3.1-8b', batch: 8, precision: 'int4' };
  await lab.issue(1);
  const size = await lab.integrate();
  const [path, trust] = [join(directory, 'pack.zip'), join(directory, 'did.json')];
  await lab.pack(path, { firstIndex: 0, lastIndex: size - 1, checkpointSize: size });
  const pack = new ForgedPack(path);
  expect(pack.seal().credentialSubject.lineage).toMatchObject({ documents: FEW, undescribed: 1 });
  const didJson = lab.documents.didDocument();
  writeFileSync(trust, didJson);

  const verdict = await verifyPack(path, { didJson, now: Date.now() });
  expect([verdict.code, verdict.message]).toEqual(['good', expect.any(String)]);
  const { facts, details } = packSaid(verdict, { trusted: '', file: path, script: '' });
  const theirs = execFileSync('python3', ['-c', DRIVER, dirname(SCRIPT), path, '--trust', trust], {
    env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
    encoding: 'utf8',
  });
  const words =
    '5 inputs by the word of the operator; evidence is named for none; for 5 there is none: “batch of llama-3.1-8b”, “precision of llama-3.1-8b”, “pue of example”';
  for (const said of [fieldLines(facts) + fieldLines(details), theirs]) {
    expect(said).toContain(words);
  }
  expect(pack.text('data/report/report.html')).toContain(
    'Precision of the weights</th><td class="words">llama-3.1-8b</td><td class="words">int4</td>',
  );
});
