import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forAll } from '#test/support/for-all.ts';
import { cosign, makeWitness, witnessKey } from '#test/support/witness-key.ts';
import {
  checkCosignature,
  formatAddCheckpoint,
  parseTreeSize,
  parseWitnessKey,
  readCosignature,
  verifyCosignature,
  type Witness,
} from '#shared/ledger/cosignatures.ts';
import { formatSignature, MalformedLedgerText, ML_DSA_44_TYPE } from '#shared/ledger/notes.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const TEXT = 'gateway.example/anchor\n7\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
const { privateKey, ...witness } = makeWitness('witness.example/w1');
/** A line as a witness answers it. */
const line = (text: string, time: number, of: Witness = witness): string =>
  formatSignature(cosign(of, privateKey, text, time));

const codeOf = (read: () => unknown): string => thrownBy(MalformedLedgerText, read)?.code ?? 'read';

describe('a witness’s verifier key', () => {
  it('a witness’s verifier key reads back as it was written', () => {
    expect(parseWitnessKey(witnessKey(witness))).toMatchObject(witness);
  });

  it('a verifier key is refused when its id, type or name do not fit', () => {
    const good = witnessKey(witness);
    const [name, id, key] = [
      good.split('+')[0],
      good.split('+')[1],
      good.split('+').slice(2).join('+'),
    ];
    for (const bad of [
      `${name}+00000000+${key}`,
      `other+${id}+${key}`,
      `${name}+${id}`,
      `${name}+${id}+AAAA`,
      `+${id}+${key}`,
      `a b+${id}+${key}`,
      '',
    ]) {
      expect(
        codeOf(() => parseWitnessKey(bad)),
        bad,
      ).toBe('verifier_key');
    }
  });
});

describe('a cosignature', () => {
  it('the witness’s own cosignature is found among others, with its time', () => {
    const own = line(TEXT, 1_790_000_000);
    const others = line(TEXT, 5, { ...witness, name: 'witness.example/other' });
    const read = readCosignature(others + own, TEXT, witness, verifyCosignature);
    expect(read.time).toBe(1_790_000_000);
    expect(formatSignature(read.line)).toBe(own);
  });

  it('a cosignature of another tree head, time, key or name is refused', () => {
    const answer = line(TEXT, 7);
    expect(codeOf(() => readCosignature(answer, `${TEXT}x\n`, witness, verifyCosignature))).toBe(
      'cosignature_wrong',
    );
    const other = { ...witness, publicKey: new Uint8Array(32).fill(9) };
    expect(codeOf(() => readCosignature(answer, TEXT, other, verifyCosignature))).toBe(
      'cosignature_missing',
    );
    expect(codeOf(() => readCosignature('', TEXT, witness, verifyCosignature))).toBe(
      'cosignature_missing',
    );
    expect(codeOf(() => readCosignature(answer.trimEnd(), TEXT, witness, verifyCosignature))).toBe(
      'cosignature_lines',
    );
  });

  it('one by ML-DSA-44 is over name, time, log, size and root', () => {
    const { privateKey: own, ...postQuantum } = makeWitness('witness.example/w1', ML_DSA_44_TYPE);
    expect(parseWitnessKey(witnessKey(postQuantum))).toMatchObject(postQuantum);
    const cosigned = cosign(postQuantum, own, TEXT, 1_790_000_000);
    const check = (text: string, of: Witness = postQuantum) =>
      checkCosignature(cosigned, text, of, verifyCosignature);
    expect(check(TEXT)).toBe(1_790_000_000);
    const other = TEXT.replace('anchor', 'another');
    const long = `${'x'.repeat(256)}\n${TEXT.split('\n').slice(1).join('\n')}`;
    for (const text of [
      other,
      TEXT.replace('7', '8'),
      TEXT.replace('Cs', 'Ds'),
      `${TEXT}x\n`,
      long,
    ]) {
      expect(
        codeOf(() => check(text)),
        text,
      ).toBe('cosignature_wrong');
    }
    expect(codeOf(() => check(TEXT, { ...postQuantum, name: 'w.example' }))).toBe(
      'cosignature_wrong',
    );
  });

  it('no answer of a witness crashes the parser', () => {
    forAll(
      [
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `— ${text}\n`),
        ),
      ],
      (answer) => {
        expect(codeOf(() => readCosignature(answer, TEXT, witness, verifyCosignature))).not.toBe(
          'read',
        );
      },
    );
  });
});

describe('add-checkpoint', () => {
  it('a request to a witness is written as C2SP tlog-witness has it', () => {
    const hash = new Uint8Array(32).fill(1);
    expect(formatAddCheckpoint(3, [hash], `${TEXT}\n— x AAAA\n`)).toBe(
      `old 3\n${Buffer.from(hash).toString('base64')}\n\n${TEXT}\n— x AAAA\n`,
    );
    expect(formatAddCheckpoint(0, [], 'note')).toBe('old 0\n\nnote');
  });

  it('a witness that has seen another size answers with it', () => {
    expect(parseTreeSize('17\n')).toBe(17);
    for (const bad of ['17', '017\n', '-1\n', '', '\n', '1e3\n'])
      expect(parseTreeSize(bad)).toBe(null);
  });
});
