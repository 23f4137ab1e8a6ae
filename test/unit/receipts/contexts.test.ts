import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONTEXT_NAMES, contextDocument } from '#shared/packs/files/contexts.ts';
import {
  knownContextDigest,
  RECEIPT_CONTEXT_NAME,
  VC_CONTEXT_DIGEST,
  VC_CONTEXT_URL,
} from '#shared/receipts/context.ts';
import { offline } from '#test/support/linked-data.ts';
import { issuer } from './samples.ts';

const folder = new URL('../../../shared/receipts/contexts/', import.meta.url);
const files = readdirSync(folder).filter(
  (name) => name.endsWith('.jsonld') && !name.endsWith('-shapes.jsonld'),
);

describe('contexts are content-addressed', () => {
  it.each(files.filter((name) => name.startsWith('docket-')))(
    '%s is what its name says; a changed context needs a new name',
    (name) => {
      const bytes = readFileSync(new URL(name, folder));
      const digests = [hash('sha256', bytes), hash('sha256', bytes, 'base64url')];
      expect(digests.filter((digest) => name.includes(`-${digest}.`))).toHaveLength(1);
    },
  );

  it('the base context is the one that the W3C recommendation states', () => {
    expect(hash('sha256', contextDocument('credentials-v2.jsonld')!)).toBe(
      '59955ced6697d61e03f2b2556febe5308ab16842846f5b586d7f1f7adec92734',
    );
    expect(knownContextDigest(VC_CONTEXT_URL)).toBe(VC_CONTEXT_DIGEST);
  });

  it('every file is registered, and every registered file is there', () => {
    expect(files.toSorted()).toEqual(CONTEXT_NAMES.toSorted());
    for (const name of CONTEXT_NAMES)
      expect(JSON.parse(contextDocument(name)!.toString())).toHaveProperty('@context');
    expect(CONTEXT_NAMES).toContain(RECEIPT_CONTEXT_NAME);
  });

  it('a receipt cites contexts that are shipped', async () => {
    for (const url of issuer.contexts) expect(await offline(url)).toBeDefined();
  });

  it.each(['', '../contexts.ts', 'contexts.ts', '__proto__', 'docket-receipt-0.jsonld'])(
    '%j is no context',
    (name) => {
      expect(contextDocument(name)).toBeUndefined();
    },
  );

  it.each([
    'https://gateway.example/contexts/docket-receipt-' + '0'.repeat(64) + '.jsonld',
    `https://gateway.example/contexts/${RECEIPT_CONTEXT_NAME}?v=2`,
    `https://gateway.example/contexts/${RECEIPT_CONTEXT_NAME}#x`,
    `https://gateway.example/${RECEIPT_CONTEXT_NAME}`,
  ])('%s is not the address of one', (url) => {
    expect(knownContextDigest(url)).toBeUndefined();
  });
});
