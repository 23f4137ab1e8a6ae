/** Packs name those that were sealed before them, by what the exports process remembers. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openArchive } from '#cli/verify/archive-file.ts';
import { openPack } from '#cli/verify/pack-file.ts';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { REPORT_STATEMENT, SEAL } from '#shared/packs/layout.ts';
import { parseSeal } from '#shared/packs/seal.ts';
import { parseStatement } from '#shared/packs/report/statement.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { openExportEdge } from '#test/support/export-edge.ts';
import { SCRIPT_GOOD, verifyWithPython } from '#test/support/pack-script.ts';

const { ask, create, builder, directory, lab } = await openExportEdge();
const trust = join(directory, 'did.json');
writeFileSync(trust, lab.documents.didDocument());

/** Fetches a pack as its owner does. */
async function fetched(id: string) {
  const path = join(directory, `${id}.zip`);
  writeFileSync(path, (await ask('GET', `/exports/${id}/download`)).rawPayload);
  const archive = openArchive(path);
  const pack = openPack(archive);
  const [seal, stated] = [SEAL, REPORT_STATEMENT].map((name) => Buffer.from(pack.read(name)));
  archive.close();
  return {
    path,
    digest: multihashOfContent(seal!),
    totals: parseSeal(seal!.toString(), SEAL).credentialSubject.totals,
    earlier: parseStatement(stated!.toString()).earlier,
  };
}

it('a pack names the nearest before its range that was sealed when it was asked for, with seal and figures, and docket reconcile finds them so', async () => {
  const asked = { first_index: 30, last_index: 39 };
  const beforeAny = await create(asked);
  const ids = [await create({ first_index: 0, last_index: 9 })];
  for (const range of [
    [8, 19],
    [10, 19],
    [15, 19],
  ]) {
    ids.push(await create({ first_index: range[0], last_index: range[1] }));
  }
  for (const id of [...ids, beforeAny]) await builder.run(id);
  const [first, longest] = await Promise.all(ids.slice(0, 2).map(fetched));
  const later = await create({ first_index: 20, last_index: 29 });
  await builder.run(later);
  const pack = await fetched(later);
  expect(pack.earlier.map(({ seal }) => seal)).toEqual([longest!.digest]);
  expect(pack.earlier[0]).toMatchObject({ firstIndex: 8, lastIndex: 19, covered: 12 });
  expect(pack.earlier[0]!.amounts.energy.value).toBe(longest!.totals.result[0]!.value);
  expect(first!.earlier).toEqual([]);
  expect((await fetched(beforeAny)).earlier).toEqual([]);
  expect((await verifyWithPython(pack.path, trust)).output).toMatch(SCRIPT_GOOD);
  const args = ['reconcile', longest!.path, pack.path, '--trust', trust];
  const laid = await runDocket(args);
  expect(laid).toMatchObject({ code: 0, stderr: '' });
  expect(laid.stdout).toContain('entries 8 to 19: its seal and figures are as named');
  const alone = await runDocket(['reconcile', pack.path, '--trust', trust]);
  expect(alone.stdout).toContain('entries 8 to 19: it was not given');
});
