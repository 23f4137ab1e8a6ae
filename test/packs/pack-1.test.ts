/** Packs that were sealed as pack format 1 stay good for ever: a frozen corpus, made by the last release that did. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { verifyPack as verifyInNode } from '#cli/verify/library.ts';
import { verifyPack } from '#cli/verify/verify-pack.ts';
import { verifyWithPython } from '#test/support/pack-script.ts';

const CORPUS = join(import.meta.dirname, '../vectors/pack-1');
const TRUST = join(CORPUS, 'did.json');

describe('a pack of pack format 1 with receipts of format 2', () => {
  it.for(['whole', 'range'])('%s: both verifiers find it good', async (name) => {
    const path = join(CORPUS, `${name}.zip`);
    const didJson = readFileSync(TRUST, 'utf8');
    const found = await verifyPack(path, { didJson, now: Date.now() });
    expect([found.code, found.message]).toEqual(['good', expect.anything()]);
    expect(found.seal?.credentialSubject.format).toBe('docket-evidence-pack/1');
    const python = await verifyWithPython(path, TRUST);
    expect([python.code, python.output]).toEqual([0, expect.stringMatching(/^GOOD {2}/)]);
  });

  it('trust in a form that is not known is no trust: nothing is judged', async () => {
    const path = join(CORPUS, 'whole.zip');
    const didJson = readFileSync(TRUST, 'utf8');
    const judged = (trust: unknown) => verifyInNode(path, { trust: trust as never });
    expect((await judged({ didJson, source: 'did.json' })).verdict).toBe('good');
    for (const trust of [didJson, { did: didJson }, JSON.parse(didJson) as object]) {
      expect(await judged(trust)).toMatchObject({ verdict: 'cannot_judge', exitCode: 2 });
    }
  });
});
