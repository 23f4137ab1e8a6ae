/** The documented example is a real receipt: readers try it with their own tools, so it must stay true. */
import { multihashOf } from '#shared/kernel/multihash.ts';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { exampleDid, exampleReceipt, freshPage } from '#dev/example-receipt.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { requestDigest } from '#shared/receipts/digest.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import { verifyReceipt as judge } from '#cli/verify/library.ts';

const read = (path: string): Buffer => readFileSync(new URL(`../../../${path}`, import.meta.url));
const example = (name: string): Buffer => read(`test/vectors/receipt/${name}`);
const receipt = JSON.parse(example('receipt.json').toString());

describe('the example of docs/receipts.md', () => {
  it('is good, and in canonical form', () => {
    const keys = trustedKeysOf(example('did.json').toString());
    const verdict = verifyReceipt(example('receipt.json'), keys, Date.parse(receipt.validFrom));
    expect(verdict).toMatchObject({ code: 'good', canonical: example('receipt.json').toString() });
  });

  it('is good for docket verify too, which holds it against itself and the record that it names', async () => {
    const text = (name: string): string => example(name).toString();
    const options = {
      trust: { didJson: text('did.json'), source: 'did.json', isChosen: true },
      derivation: { file: 'derivation.json', text: text('derivation.json') },
    };
    const judgement = await judge(example('receipt.json'), options);
    expect(judgement).toMatchObject({ verdict: 'good' });
  });

  it('is what the code issues today, to the byte', () => {
    expect(example('receipt.json').toString()).toBe(exampleReceipt());
    expect(JSON.parse(example('did.json').toString())).toEqual(exampleDid());
    expect(freshPage(read('docs/receipts.md').toString())).toBe(
      read('docs/receipts.md').toString(),
    );
  });

  it('is what the page shows', () => {
    const shown = /```json\n(.*?)```/s.exec(read('docs/receipts.md').toString())?.[1];
    expect(JSON.parse(shown ?? 'null')).toEqual(receipt);
  });

  it.each([
    ['requestDigest', 'request.json'],
    ['responseDigest', 'answer.json'],
  ])('%s is over %s', (field, file) => {
    const { salt, [field]: digest } = receipt.credentialSubject;
    expect(digest).toBe(multihashOf(requestDigest(salt.slice(1), example(file)), field));
  });
});
