/** A pack with more derivations than it has lineage documents. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fieldLines } from '#cli/print.ts';
import { packSaid } from '#cli/verify/pack-words.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { LINEAGE_DOCUMENTS_MAX } from '#shared/packs/layout.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { PackLab } from '#test/support/packs.ts';
import { ForgedPack } from './tampering.ts';

const SCRIPT = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;

it(
  'what is declared for receipts without a lineage document is named by both verifiers',
  { timeout: 600_000 },
  async () => {
    const { pool } = await createTestDatabase();
    const directory = mkdtempSync(join(tmpdir(), 'docket-many-'));
    const lab = new PackLab(pool, directory);
    for (let batch = 1; batch <= LINEAGE_DOCUMENTS_MAX; batch += 1) {
      lab.footprint = { ref: 'llama-3.1-8b', batch };
      await lab.issue(1);
    }
    lab.footprint = { ref: 'llama-3.1-8b', batch: 8, precision: 'int4' };
    await lab.issue(1);
    const size = await lab.integrate();
    const [path, trust] = [join(directory, 'pack.zip'), join(directory, 'did.json')];
    await lab.pack(path, { firstIndex: 0, lastIndex: size - 1, checkpointSize: size });
    const pack = new ForgedPack(path);
    const { lineage } = pack.seal().credentialSubject;
    expect(lineage).toMatchObject({ documents: LINEAGE_DOCUMENTS_MAX, undescribed: 1 });
    const didJson = lab.documents.didDocument();
    writeFileSync(trust, didJson);

    const verdict = await verifyPack(path, { didJson, now: Date.now() });
    expect([verdict.code, verdict.message]).toEqual(['good', expect.any(String)]);
    const { facts, details } = packSaid(verdict, { trusted: '', file: path, script: '' });
    const theirs = execFileSync('python3', [SCRIPT, path, '--trust', trust], {
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: '1' },
      encoding: 'utf8',
    });
    for (const said of [fieldLines(facts) + fieldLines(details), theirs]) {
      expect(said).toContain('“precision of llama-3.1-8b”');
    }
  },
);
