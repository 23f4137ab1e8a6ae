import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { describe, expect, it } from 'vitest';
import { FROZEN_FACTOR_SETS, FROZEN_METHODOLOGIES } from '#shared/methodology/frozen.ts';
import { shippedFactorSets } from '#shared/methodology/files/load.ts';
import { FACTOR_SET, METHODOLOGIES as methodologies, METHODOLOGY, request } from './fixtures.ts';

const sha256 = (text: string): string => hash('sha256', text, 'base64url');

describe('what was released stays as it was', () => {
  // Once frozen, these lines are only ever added to: a change that makes one fail then needs a new version instead.
  it.each([
    ['docket-1', '1.0.0', 'cos28WbbpcI7TvWKreEra87vZFEh7FQHsFzmmdvUq14'],
    ['ecologits-0.11.2', '1.0.0', 'vq24KkqvFV0So6Ps7lPtXHZIPzvenZNEGwuURjo0pWo'],
  ])('%s %s', (id, version, digest) => {
    const document = methodologies.methodologyDocument(id, version)!;
    expect(document.digest).toBe(digest);
    expect(sha256(document.text)).toBe(digest);
  });

  it.each([['2026-11', 'CrU_fTf3gLI2-JMOApm_WJHGtm181mOnSbjxukiDlIM']])(
    'factor set %s',
    (version, digest) => {
      const file = shippedFactorSets().find((each) => each.version === version)!;
      expect(sha256(canonicalize(file.read())!)).toBe(digest);
      expect(FROZEN_FACTOR_SETS).toContainEqual({ version, digest });
    },
  );
});

describe('a methodology document', () => {
  it.each(FROZEN_METHODOLOGIES)(
    'of $id is canonical and says what it is made of',
    ({ id, version }) => {
      const { text, title } = methodologies.methodologyDocument(id, version)!;
      const content = JSON.parse(text) as Record<string, unknown>;
      expect(canonicalize(content)).toBe(text);
      expect(content).toMatchObject({ schema: 'docket-methodology/1', id, version, title });
      for (const part of [
        'formulas',
        'constants',
        'sources',
        'limits',
        'changelog',
        'arithmetic',
      ]) {
        expect(content, part).toHaveProperty(part);
      }
    },
  );

  it('cites nothing that it does not list', () => {
    for (const { id, version } of FROZEN_METHODOLOGIES) {
      const { text } = methodologies.methodologyDocument(id, version)!;
      const content = JSON.parse(text) as {
        sources: { id: string }[];
        constants: Record<string, { sources: string[] }>;
      };
      const listed = content.sources.map((source) => source.id);
      for (const { sources } of Object.values(content.constants)) {
        expect(listed).toEqual(expect.arrayContaining(sources));
      }
    }
  });

  it('of docket-1 holds the factor set whole, under the digest that it states', () => {
    const { text } = methodologies.methodologyDocument('docket-1', '1.0.0')!;
    const { factor_set: set } = JSON.parse(text) as {
      factor_set: { digest: string; version: string; content: object };
    };
    expect(set.content).toEqual(FACTOR_SET);
    expect(sha256(canonicalize(set.content)!)).toBe(set.digest);
  });
});

describe('the registry', () => {
  it('lists every methodology once', () => {
    const listed = methodologies.listMethodologies();
    expect(listed.map(({ id, version }) => `${id} ${version}`)).toEqual([
      'docket-1 1.0.0',
      'ecologits-0.11.2 1.0.0',
    ]);
  });

  it('computes receipts with docket-1, and cites the document that it serves', () => {
    const { methodology } = methodologies.current.estimate(request());
    expect(methodology).toEqual({ id: 'docket-1', version: '1.0.0', digest: METHODOLOGY.digest });
    const served = methodologies.methodologyDocument(methodology.id, methodology.version)!;
    expect(served.digest).toBe(methodology.digest);
    expect(methodologies.methodology('docket-1', '1.0.0')).toBe(methodologies.current);
  });

  it('knows nothing of what was never released', () => {
    expect(methodologies.methodologyDocument('docket-1', '9.9.9')).toBeUndefined();
    expect(methodologies.methodologyDocument('__proto__', '1.0.0')).toBeUndefined();
    expect(methodologies.methodology('ecologits-0.11.2', '1.0.0')).toBeUndefined();
  });
});
