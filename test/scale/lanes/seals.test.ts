import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Reply } from '#shared/lanes/messages.ts';
import { libsodium } from '#shared/kernel/primitives/libsodium.ts';
import { type LaneKeys, SALT_BYTES, SealProblem, Seals } from '#shared/lanes/seals.ts';
import {
  decodeBatch,
  decodeInferenceEntry,
  encodeBatch,
  encodeEntryWithBodyApart,
  encodeInferenceEntry,
} from '#shared/lanes/wire-format.ts';
import { packAnswer, unpackAnswer } from '#shared/lanes/stored-answer.ts';
import { admissionRequest } from '#test/support/lanes.ts';
import { newLaneKey, testSeals } from '#test/support/seals.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { forAll } from '#test/support/for-all.ts';

const KEY = newLaneKey();
const INBOX = 'inbox:api-1';
const fail = (error: unknown): never => {
  throw error;
};
const codeOf = (act: () => unknown): string => {
  try {
    act();
    return 'opened';
  } catch (error) {
    return error instanceof SealProblem ? error.code : String(error);
  }
};

describe('a sealed value', () => {
  it('a sealed value opens as it was, in the place it was sealed for and in no other', () => {
    forAll([fc.string({ unit: anyCharacter }), fc.string(), fc.string()], (text, place, other) => {
      fc.pre(place !== other);
      const sealed = testSeals().seal(text, place);
      const wellFormed = Buffer.from(text).toString();
      expect(testSeals().open(sealed, place)).toBe(wellFormed);
      expect(codeOf(() => testSeals().open(sealed, other))).toBe('broken');
    });
  });

  it('a sealed value of which one bit was changed does not open', () => {
    const sealed = testSeals().sealBytes('the prompt', 'here');
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Buffer.from(sealed);
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(codeOf(() => testSeals().openBytes(changed, 'here'))).not.toBe('opened');
    }
    expect(codeOf(() => testSeals().openBytes(sealed.subarray(0, 20), 'here'))).toBe('broken');
  });

  it('libsodium and OpenSSL seal in one form: each opens what the other sealed, up to, at and beyond every limit', async () => {
    const keys = (): LaneKeys => ({ sealing: KEY, all: [KEY] });
    const bySodium = new Seals(keys, randomBytes(SALT_BYTES));
    const byOpenSsl = new Seals(keys, randomBytes(SALT_BYTES), null);
    expect(libsodium).not.toBeNull();
    const texts = [
      '',
      'a',
      'é'.repeat(21_845),
      'a'.repeat(21_846),
      'é'.repeat(32_768),
      `${'é'.repeat(32_768)}a`,
    ];
    for (const text of [...texts, 'a'.repeat(200_000)]) {
      for (const place of ['', 'p', 'p'.repeat(21_846)]) {
        for (const [one, other] of [
          [bySodium, byOpenSsl],
          [byOpenSsl, bySodium],
        ] as const) {
          const bytes = Buffer.from(text);
          for (const sealed of [
            one.sealBytes(text, place),
            one.sealBytes(bytes, place),
            await one.sealBytesInTurns(bytes, place),
          ]) {
            expect(sealed.length).toBe(bytes.length + 43);
            expect(other.openBytes(sealed, place).equals(bytes)).toBe(true);
            expect((await other.openBytesInTurns(sealed, place)).equals(bytes)).toBe(true);
          }
          expect(other.open(one.seal(text, place), place)).toBe(text);
          expect(other.open(one.seal(bytes, place), place)).toBe(text);
          expect(codeOf(() => other.open(one.seal(text, place), `${place}q`))).toBe('broken');
        }
      }
    }
  });

  it('a value opens as it was though something is sealed while its key is looked up', () => {
    let meanwhile = (): void => {};
    const seals = new Seals(() => {
      meanwhile();
      return { sealing: KEY, all: [KEY] };
    }, randomBytes(SALT_BYTES));
    const sealed = seals.seal('first', 'p');
    const other = testSeals(KEY);
    meanwhile = () => other.seal('other', 'p');
    expect(seals.open(sealed, 'p')).toBe('first');
  });

  it('what one call has sealed or opened is not changed by the next', () => {
    const seals = testSeals();
    const [one, two] = [seals.sealBytes('first', 'p'), seals.sealBytes('other', 'p')];
    const [first, other] = [seals.openBytes(one, 'p'), seals.openBytes(two, 'p')];
    expect([first.toString(), other.toString()]).toEqual(['first', 'other']);
  });

  it('no two sealed values share a nonce under one key, in one process or in two', () => {
    const [one, two] = [testSeals(), testSeals()];
    const heads = Array.from({ length: 1_000 }, () => [one, two])
      .flat()
      .map((seals) => seals.sealBytes('x', 'p').toString('hex', 0, 27));
    expect(new Set(heads).size).toBe(heads.length);
  });

  it('after a rotation the new key seals, and what the old one sealed opens until that one is deleted', () => {
    const [old, young] = [newLaneKey(), newLaneKey()];
    const sealed = testSeals(old).seal('in flight', 'p');
    expect(testSeals(young, old).open(sealed, 'p')).toBe('in flight');
    expect(codeOf(() => testSeals(young).open(sealed, 'p'))).toBe('unknown_key');
    expect(testSeals(young).open(testSeals(young, old).seal('new', 'p'), 'p')).toBe('new');
  });

  it('what is not sealed does not open, as text or as bytes, small or large', async () => {
    expect(codeOf(() => testSeals().open('{"model":"m"}', 'p'))).toBe('broken');
    expect(codeOf(() => testSeals().openBytes(Buffer.from('{"a":1}'), 'p'))).toBe('broken');
    const large = testSeals().openBytesInTurns(Buffer.alloc(1_500_000, ' '), 'p');
    await expect(large).rejects.toMatchObject({ code: 'broken' });
  });
});

describe('what is sealed', () => {
  const { entry } = admissionRequest();

  it('a body opens with its own head only: not with another organisation, model or request in it', async () => {
    const { text } = encodeInferenceEntry(testSeals(), entry, '{"secret":1}');
    const changes = [{ orgId: 'org_b' }, { model: 'other' }, { id: 'req_other' }, { inbox: 'b' }];
    for (const change of changes) {
      const body = text.slice(text.indexOf('\n'));
      const { sealed, place } = decodeInferenceEntry(
        JSON.stringify({ ...entry, ...change }) + body,
      );
      expect(codeOf(() => testSeals().open(sealed!, place))).toBe('broken');
    }
    const large = Buffer.alloc(2_500_000, 'secret');
    const head = { ...entry, bodyRef: 'k' };
    const { text: headText, apart } = await encodeEntryWithBodyApart(testSeals(), head, large);
    const { place: own } = decodeInferenceEntry(headText);
    expect(testSeals().openBytes(apart!, own).equals(large)).toBe(true);
    const { place } = decodeInferenceEntry(JSON.stringify({ ...entry, bodyRef: 'k', orgId: 'o' }));
    expect(codeOf(() => testSeals().openBytes(apart!, place))).toBe('broken');
  });

  it('a stored answer opens under its own name only', async () => {
    const name = { claim: '{s0}:idem:org_a:d', requestId: 'req_1', delivery: 1 };
    const packed = await packAnswer(testSeals(), name, { frames: '', last: '{}' });
    const others = [{ claim: '{s0}:idem:org_b:d' }, { requestId: 'req_2' }, { delivery: 2 }];
    for (const other of others) {
      const opened = unpackAnswer(testSeals(), { ...name, ...other }, packed);
      await expect(opened).rejects.toMatchObject({ code: 'broken' });
    }
  });

  it('a large stored answer is waited with before it is in memory, however small it was packed; a small one is not', async () => {
    const name = { claim: '{s0}:idem:org_a:d', requestId: 'req_1', delivery: 1 };
    const large = { frames: '', last: 'x'.repeat(8 * 1024 * 1024) };
    const packed = await packAnswer(testSeals(), name, large);
    expect(packed.length).toBeLessThan(64 * 1024);
    const full = () => Promise.reject(new Error('no room'));
    await expect(unpackAnswer(testSeals(), name, packed, full)).rejects.toThrow('no room');
    expect(await unpackAnswer(testSeals(), name, packed, () => Promise.resolve())).toEqual(large);
    const small = { frames: 'f', last: '{}' };
    const packedSmall = await packAnswer(testSeals(), name, small);
    expect(await unpackAnswer(testSeals(), name, packedSmall, full)).toEqual(small);
  });

  const head = (seq: number) => ({ id: `req_${seq}`, attempt: 1, seq });
  const replies: { reply: Reply; payload: string }[] = [
    { reply: { ...head(1), kind: 'frames' }, payload: 'data: {"é":"\u{1f600}"}\n\n' },
    { reply: { ...head(2), kind: 'answer' }, payload: '{"secret":"zebra"}' },
    {
      reply: { ...head(3), kind: 'error', error: { code: 'upstream_error', message: 'zebra' } },
      payload: '',
    },
    { reply: { id: 'req_4', attempt: 1, kind: 'receipt' }, payload: '{"receipt":1}' },
    { reply: { id: 'req_5', kind: 'settled' }, payload: '' },
  ];

  it('what one turn tells a process comes as it was, and shows neither answer nor error on its way', () => {
    const text = encodeBatch(testSeals(), INBOX, replies);
    expect(text).not.toContain('zebra');
    expect(decodeBatch(testSeals(), INBOX, text, fail)).toEqual(replies);
  });

  it('replies for one process do not open in the inbox of another', () => {
    const text = encodeBatch(testSeals(), INBOX, replies);
    const problems: unknown[] = [];
    const got = decodeBatch(testSeals(), 'inbox:api-2', text, (error) => problems.push(error));
    expect(problems).toMatchObject([{ code: 'broken' }]);
    expect(JSON.stringify(got)).not.toContain('zebra');
  });

  it('when the key is lost, each request that was to be answered fails with a reason, and no receipt is invented', () => {
    const text = encodeBatch(testSeals(newLaneKey()), INBOX, replies);
    const got = decodeBatch(testSeals(newLaneKey()), INBOX, text, () => {});
    expect(got.map(({ reply }) => [reply.id, reply.kind])).toEqual([
      ['req_1', 'error'],
      ['req_2', 'error'],
      ['req_3', 'error'],
      ['req_5', 'settled'],
    ]);
    expect(got[0]!.reply).toMatchObject({ attempt: 1, seq: 1, error: { code: 'internal_error' } });
  });
});
