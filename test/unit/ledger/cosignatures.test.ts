import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { witnessKey } from '#test/support/witness-key.ts';
import { verifyEd25519 } from '#shared/receipts/signing/key-objects.ts';
import {
  cosignedMessage,
  formatAddCheckpoint,
  parseTreeSize,
  parseWitnessKey,
  readCosignature,
} from '#shared/ledger/cosignatures.ts';
import {
  COSIGNATURE_TYPE,
  formatSignature,
  MalformedLedgerText,
  noteKeyHash,
} from '#shared/ledger/notes.ts';

const TEXT = 'gateway.example/anchor\n7\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n';
const pair = generateKeyPairSync('ed25519');
const publicKey = pair.publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
const witness = { name: 'witness.example/w1', publicKey: new Uint8Array(publicKey) };
/** A line as a witness answers it. */
function cosign(text: string, time: number, name = witness.name): string {
  const signature = Buffer.alloc(72);
  signature.writeBigUInt64BE(BigInt(time));
  sign(null, cosignedMessage(text, time), pair.privateKey).copy(signature, 8);
  const keyHash = noteKeyHash(name, publicKey, COSIGNATURE_TYPE);
  return formatSignature({ name, keyHash, signature });
}

const codeOf = (read: () => unknown): string => {
  try {
    read();
  } catch (error) {
    if (error instanceof MalformedLedgerText) return error.code;
    throw error;
  }
  return 'read';
};

describe('a witness’s verifier key', () => {
  it('a witness’s verifier key reads back as it was written', () => {
    expect(parseWitnessKey(witnessKey(witness))).toEqual(witness);
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
    const others = cosign(TEXT, 5, 'witness.example/other');
    const read = readCosignature(
      others + cosign(TEXT, 1_790_000_000),
      TEXT,
      witness,
      verifyEd25519,
    );
    expect(read.time).toBe(1_790_000_000);
    expect(formatSignature(read.line)).toBe(cosign(TEXT, 1_790_000_000));
  });

  it('a cosignature of another tree head, time, key or name is refused', () => {
    const [line] = [cosign(TEXT, 7)];
    expect(codeOf(() => readCosignature(line, `${TEXT}x\n`, witness, verifyEd25519))).toBe(
      'cosignature_wrong',
    );
    const other = { ...witness, publicKey: new Uint8Array(32).fill(9) };
    expect(codeOf(() => readCosignature(line, TEXT, other, verifyEd25519))).toBe(
      'cosignature_missing',
    );
    expect(codeOf(() => readCosignature('', TEXT, witness, verifyEd25519))).toBe(
      'cosignature_missing',
    );
    expect(codeOf(() => readCosignature(line.trimEnd(), TEXT, witness, verifyEd25519))).toBe(
      'cosignature_lines',
    );
  });

  it('no answer of a witness crashes the parser', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((text) => `— ${text}\n`),
        ),
        (answer) => {
          expect(codeOf(() => readCosignature(answer, TEXT, witness, verifyEd25519))).not.toBe(
            'read',
          );
        },
      ),
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
