import fc from 'fast-check';
import type { Listed } from '#test/support/api-description.ts';
import type { MadeRequest } from './requests.ts';
import { anyCharacter } from '#test/support/any-character.ts';

/** Addresses and queries that no client would write on purpose. */
export function strayed(among: readonly Listed[]): fc.Arbitrary<MadeRequest> {
  const segment = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 30 }).map(encodeURIComponent),
    fc.constantFrom(
      '%',
      '%00',
      '%zz',
      '%c0%af',
      '..',
      '.',
      '',
      '%2e%2e',
      '*',
      ':id',
      '{id}',
      'x'.repeat(3_000),
      '%F0%9F%8C%8A',
      "'--",
      '0',
      'null',
    ),
  );
  const query = fc.array(
    fc.tuple(
      fc.constantFrom(
        'after',
        'limit',
        'order',
        'from',
        'to',
        'kind',
        'tier',
        'actor',
        'model',
        'x',
        'limit[]',
        '__proto__',
      ),
      segment,
    ),
    { maxLength: 4 },
  );
  const method = fc.constantFrom(
    'GET',
    'GET',
    'GET',
    'POST',
    'PUT',
    'PATCH',
    'DELETE',
    'OPTIONS',
    'HEAD',
  );
  return fc
    .record({ listed: fc.constantFrom(...among), segment, query, method, extra: fc.boolean() })
    .map(({ listed, segment: text, query: pairs, method: verb, extra }) => {
      const path = listed.path.replaceAll(/\{\w+\}/g, text) + (extra ? `/${text}` : '');
      const search = pairs.map(([name, value]) => `${name}=${value}`).join('&');
      return {
        kind: 'strayed',
        method: verb,
        path: search === '' ? path : `${path}?${search}`,
        headers: {},
      };
    });
}
