import { hash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAnchorEntry, parseAnchorEntry } from '#shared/ledger/anchor-entries.ts';
import {
  dueKeyEvents,
  judgeKey,
  type KeyEvent,
  keyIntervals,
  type KnownKey,
  multikeyOf,
  type PlacedKeyEvent,
} from '#shared/ledger/key-events.ts';
import { MalformedLedgerText } from '#shared/ledger/notes.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const AT = '2026-11-20T09:38:04.123Z';

function keyOf(seed: number) {
  const publicKey = hash('sha256', String(seed), 'buffer');
  const jwk = `{"crv":"Ed25519","kty":"OKP","x":"${publicKey.toString('base64url')}"}`;
  const key = `did:web:gateway.example#${hash('sha256', jwk, 'base64url')}`;
  return { key, publicKey };
}

const added = (seed: number): KeyEvent => {
  const { key, publicKey } = keyOf(seed);
  const publicKeyMultibase = multikeyOf(publicKey);
  return { type: 'key', event: 'added', at: AT, key, purpose: 'receipts', publicKeyMultibase };
};
const retired = (seed: number): KeyEvent => ({
  type: 'key',
  event: 'retired',
  at: AT,
  key: keyOf(seed).key,
  purpose: 'receipts',
});
const compromised = (seed: number, from: number): KeyEvent => ({
  type: 'key',
  event: 'compromised',
  at: AT,
  key: keyOf(seed).key,
  purpose: 'receipts',
  from,
});
const placed = (...events: [number, KeyEvent][]): PlacedKeyEvent[] =>
  events.map(([index, event]) => ({ index, event }));

/** How key 1 is judged at each of these places. */
function standings(events: PlacedKeyEvent[], at: (number | null)[]): string[] {
  const interval = keyIntervals(events).get(keyOf(1).key);
  return at.map((anchoredAt) => judgeKey(interval, 'receipts', anchoredAt));
}

describe('the interval of a key', () => {
  it('the interval of a key begins where it was added', () => {
    expect(standings(placed([4, added(1)]), [3, 4, 5, 1_000, null])).toEqual([
      'not_added_yet',
      'good',
      'good',
      'good',
      'good',
    ]);
  });

  it('a retired key is good for what was anchored before, not for what is later or not anchored', () => {
    const events = placed([0, added(1)], [9, retired(1)]);
    expect(standings(events, [1, 8, 9, 10, null])).toEqual([
      'good',
      'good',
      'retired',
      'retired',
      'retired',
    ]);
  });

  it('a compromised key is good up to where the compromise is from, though that was found out later', () => {
    const events = placed([0, added(1)], [9, retired(1)], [30, compromised(1, 6)]);
    expect(standings(events, [5, 6, 8, 9, 40, null])).toEqual([
      'good',
      'compromised',
      'compromised',
      'compromised',
      'compromised',
      'compromised',
    ]);
  });

  it('a later compromise can shorten the interval of a key, never lengthen it', () => {
    const later = placed([0, added(1)], [30, compromised(1, 6)], [31, compromised(1, 20)]);
    expect(standings(later, [5, 6, 20])).toEqual(['good', 'compromised', 'compromised']);
    const earlier = placed([0, added(1)], [30, compromised(1, 20)], [31, compromised(1, 6)]);
    expect(standings(earlier, [5, 6, 20])).toEqual(['good', 'compromised', 'compromised']);
  });

  it('the interval of a key is of one key and one purpose', () => {
    const intervals = keyIntervals(placed([0, added(1)], [1, added(2)]));
    expect(judgeKey(intervals.get(keyOf(3).key), 'receipts', 5)).toBe('unknown_key');
    expect(judgeKey(intervals.get(keyOf(1).key), 'packs', 5)).toBe('wrong_purpose');
    expect(intervals.get(keyOf(2).key)).toMatchObject({
      addedAt: 1,
      publicKey: new Uint8Array(keyOf(2).publicKey),
    });
  });

  it.each([
    ['added twice', placed([0, added(1)], [1, added(1)])],
    ['retired unknown', placed([0, retired(1)])],
    ['retired twice', placed([0, added(1)], [1, retired(1)], [2, retired(1)])],
    ['compromised unknown', placed([0, compromised(1, 0)])],
    ['of another purpose', placed([0, added(1)], [1, { ...retired(1), purpose: 'packs' }])],
    ['out of order', placed([5, added(1)], [5, added(2)])],
  ])('a log of key events that contradicts itself is refused: %s', (_what, events) => {
    expect(() => keyIntervals(events)).toThrow(MalformedLedgerText);
  });
});

describe('what is still to be written about keys', () => {
  const known = (state: KnownKey['state']): KnownKey[] => [
    { ...keyOf(1), purpose: 'receipts', state, since: state === 'active' ? null : 5 },
  ];
  const eventsFor = (events: PlacedKeyEvent[], state: KnownKey['state']): string[] =>
    dueKeyEvents(keyIntervals(events), known(state)).map(({ event }) => event);

  it('key events that are due lead from what the log says to what the owner knows', () => {
    expect(eventsFor([], 'next')).toEqual(['added']);
    expect(eventsFor([], 'active')).toEqual(['added']);
    expect(eventsFor([], 'retired')).toEqual(['added', 'retired']);
    expect(eventsFor([], 'revoked')).toEqual(['added', 'compromised']);
    expect(eventsFor(placed([0, added(1)]), 'active')).toEqual([]);
    expect(eventsFor(placed([0, added(1)]), 'retired')).toEqual(['retired']);
    expect(eventsFor(placed([0, added(1)], [1, retired(1)]), 'retired')).toEqual([]);
    expect(eventsFor(placed([0, added(1)], [1, retired(1)]), 'revoked')).toEqual(['compromised']);
    expect(eventsFor(placed([0, added(1)], [1, compromised(1, 0)]), 'revoked')).toEqual([]);
  });
});

describe('entries of the anchor log', () => {
  it.each([
    added(1),
    retired(1),
    compromised(1, 17),
    { type: 'heads', at: AT, root: hash('sha256', 'x', 'buffer') } as const,
  ])('an entry of the anchor log reads back as it was written: %o', (entry) => {
    const text = formatAnchorEntry(entry);
    expect(JSON.parse(text)).toMatchObject({ type: entry.type, at: AT });
    expect(formatAnchorEntry(parseAnchorEntry(text))).toBe(text);
    expect(parseAnchorEntry(new TextEncoder().encode(text))).toEqual(parseAnchorEntry(text));
  });

  it('an entry of the anchor log has one form: any other text is refused', () => {
    const text = formatAnchorEntry(added(1));
    for (const other of [
      ` ${text}`,
      `${text}\n`,
      text.replace('"type":"key"', '"type":"key","x":1'),
      text.replace('receipts', 'everything'),
      text.replace('z6Mk', 'z6Mj'),
      text.replace('.123Z', 'Z'),
      text.replace(/#.{3}/, '#AAA'),
      formatAnchorEntry(compromised(1, 17)).replace('17', '-1'),
      formatAnchorEntry(compromised(1, 17)).replace('17', '1.5'),
      'null',
      '[]',
      '',
    ]) {
      expect(() => parseAnchorEntry(other), other).toThrow(MalformedLedgerText);
    }
  });

  it('entries of the anchor log never crash their parser', () => {
    const fields = fc.record(
      Object.fromEntries(
        [
          'type',
          'at',
          'event',
          'from',
          'key',
          'purpose',
          'publicKeyMultibase',
          'root',
          'slots',
        ].map((name) => [
          name,
          fc.oneof(fc.constantFrom('key', 'heads', 'added', AT), fc.jsonValue()),
        ]),
      ),
      { requiredKeys: [] },
    );
    const texts = fc.oneof(
      fc.string(),
      fields.map((value) => JSON.stringify(value)),
    );
    forAll([texts], (text) => {
      thrownBy(MalformedLedgerText, () => parseAnchorEntry(text));
    });
  });
});
