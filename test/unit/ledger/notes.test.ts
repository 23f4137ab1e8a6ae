import { createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  formatCheckpoint,
  parseCheckpoint,
  parseCheckpointText,
} from '#shared/ledger/checkpoints.ts';
import { leafHash } from '#shared/ledger/hashing.ts';
import {
  formatNote,
  MalformedLedgerText,
  NOTE_BYTES_MAX,
  noteKeyHash,
  parseNote,
} from '#shared/ledger/notes.ts';
import { formatProof, parseProof, proofHolds } from '#shared/ledger/proof-text.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const root = leafHash(Uint8Array.of(1, 2, 3));
const line = {
  name: 'example.com/log/org_1',
  keyHash: Uint8Array.of(1, 2, 3, 4),
  signature: new Uint8Array(64).fill(7),
};
const text = formatCheckpoint({ origin: line.name, size: 1, root, extensions: [] });
const note = formatNote({ text, signatures: [line] });
const proof = formatProof({ index: 0, hashes: [], checkpoint: note });

const refusal = (run: () => unknown): string =>
  thrownBy(MalformedLedgerText, run)?.code ?? 'accepted';

describe('signed notes', () => {
  it('the example of C2SP signed-note is read, empty line in the text included', () => {
    const example =
      'Ognuno sta solo sul cuor della terra\ntrafitto da un raggio di sole:\n\ned è subito sera.\n\n' +
      '— quasimodo.example/salvatore NnugSzTjtVAewIS+Z/iJhUPeFDkO/5QQ2i5ddnGITLlC+EhfLW9oJKONrMouFSQU0xMcXxj99ihAQwaqP3ZekRwNtIc=\n';
    const { text: read, signatures } = parseNote(example);
    expect(read.endsWith('ed è subito sera.\n')).toBe(true);
    expect(read).toContain('sole:\n\ned');
    expect(signatures).toHaveLength(1);
    expect(signatures[0]!.name).toBe('quasimodo.example/salvatore');
    expect(signatures[0]!.signature).toHaveLength(64);
    expect(formatNote({ text: read, signatures })).toBe(example);
    expect(parseNote(new TextEncoder().encode(example))).toEqual({ text: read, signatures });
  });

  it('the key hash of a published verifier key is derived', () => {
    // The Go checksum database: sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8
    const publicKey = Buffer.from(
      'Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8',
      'base64',
    ).subarray(1);
    expect(Buffer.from(noteKeyHash('sum.golang.org', publicKey)).toString('hex')).toBe('033de0ae');
  });

  it('a note is signed over what a verifier checks', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const signature = sign(null, Buffer.from(text), privateKey);
    const read = parseNote(formatNote({ text, signatures: [{ ...line, signature }] }));
    const key = createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }));
    expect(verify(null, Buffer.from(read.text), key, read.signatures[0]!.signature)).toBe(true);
  });

  it.each([
    ['no blank line', note.replace('\n\n', '\n'), 'note_blank_line'],
    ['no signature', `${text}\n`, 'note_signatures'],
    ['no last newline', note.slice(0, -1), 'note_signatures'],
    ['hyphen for dash', note.replace('—', '-'), 'note_signature'],
    ['two spaces', note.replace('— ', '—  '), 'note_signature'],
    ['plus in name', note.replace('— example', '— exam+ple'), 'note_signature'],
    ['no-break space in name', note.replace('— example', '— exam\u00a0ple'), 'note_signature'],
    ['bad base64', note.replace(/.=\n$/, '*=\n'), 'note_signature'],
    // 68 bytes end in two unused bits, so four texts decode alike; only one of them is base64.
    ['second base64 form', note.replace('wc=\n', 'wd=\n'), 'note_signature'],
    ['carriage return', note.replace('\n\n', '\r\n\n'), 'not_utf8'],
    ['tab', note.replace('1\n', '1\t\n'), 'not_utf8'],
    ['NUL', `\u0000${note}`, 'not_utf8'],
    ['lone surrogate', `\ud800${note}`, 'not_utf8'],
    ['too long', 'x'.repeat(NOTE_BYTES_MAX + 1), 'too_long'],
    ['too long in bytes alone', '€'.repeat(NOTE_BYTES_MAX / 2), 'too_long'],
    ['too many signatures', note + '— a AAAAAAA=\n'.repeat(64), 'note_signatures'],
    ['trailing garbage', `${note}x`, 'note_signatures'],
  ])('a note with %s is refused', (_what, hostile, code) => {
    expect(refusal(() => parseNote(hostile))).toBe(code);
  });

  it('a note that is not UTF-8 is refused', () => {
    expect(refusal(() => parseNote(Uint8Array.of(0xc0, 0x80)))).toBe('not_utf8');
  });
});

describe('checkpoints', () => {
  it('the example of C2SP tlog-checkpoint is read', () => {
    const { checkpoint } = parseCheckpoint(
      'example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n\n' +
        '— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n',
    );
    expect(checkpoint).toMatchObject({
      origin: 'example.com/behind-the-sofa',
      size: 20_852_163,
      extensions: [],
    });
  });

  it.each([
    ['no origin', '\n1\nAAAA\n', 'checkpoint_origin'],
    ['leading zero', text.replace('\n1\n', '\n01\n'), 'checkpoint_size'],
    ['sign', text.replace('\n1\n', '\n+1\n'), 'checkpoint_size'],
    ['huge size', text.replace('\n1\n', '\n9007199254740992\n'), 'checkpoint_size'],
    ['no size', `${line.name}\n`, 'checkpoint_size'],
    ['no root', `${line.name}\n1\n`, 'checkpoint_root'],
    ['short root', `${line.name}\n1\nAAAA\n`, 'checkpoint_root'],
    ['empty extension', `${text}\n`, 'checkpoint_extension'],
    ['no newline', text.slice(0, -1), 'checkpoint_end'],
  ])('a checkpoint with %s is refused', (_what, hostile, code) => {
    expect(refusal(() => parseCheckpointText(hostile))).toBe(code);
  });

  it('a checkpoint that would read back as something else is not written', () => {
    expect(refusal(() => formatCheckpoint({ origin: 'a\n2', size: 1, root, extensions: [] }))).toBe(
      'checkpoint_line',
    );
    expect(refusal(() => formatCheckpoint({ origin: '', size: 1, root, extensions: [] }))).toBe(
      'checkpoint_origin',
    );
    expect(refusal(() => formatCheckpoint({ origin: 'a', size: -1, root, extensions: [] }))).toBe(
      'checkpoint_size',
    );
    expect(refusal(() => formatCheckpoint({ origin: 'a', size: 1, root, extensions: [''] }))).toBe(
      'checkpoint_extension',
    );
  });

  it('a checkpoint reads back as it was written', () => {
    const origin = fc.stringMatching(/^[a-z0-9./_-]{1,40}$/);
    const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
    const extensions = fc.array(fc.stringMatching(/^[!-~]{1,20}$/), { maxLength: 3 });
    forAll([origin, fc.nat(), hash, extensions], (name, size, each, more) => {
      const checkpoint = { origin: name, size, root: each, extensions: more };
      const read = parseCheckpointText(formatCheckpoint(checkpoint));
      expect({ ...read, root: [...read.root] }).toEqual({ ...checkpoint, root: [...each] });
    });
  });
});

describe('proof texts', () => {
  it('a proof in the form of C2SP tlog-proof is read, extra data included', () => {
    const full = formatProof({
      index: 5,
      hashes: [root, root],
      checkpoint: note,
      extra: Uint8Array.of(9),
    });
    expect(full.split('\n').slice(0, 3)).toEqual([
      'c2sp.org/tlog-proof@v1',
      'extra CQ==',
      'index 5',
    ]);
    const read = parseProof(full);
    expect(read).toMatchObject({ index: 5, checkpoint: note });
    expect(read.hashes).toHaveLength(2);
    expect([...read.extra!]).toEqual([9]);
    expect(formatProof(read)).toBe(full);
  });

  it('a proof holds for the leaf it is about and for no other', () => {
    expect(proofHolds(parseProof(proof), root)).toBe(true);
    expect(proofHolds(parseProof(proof), leafHash(Uint8Array.of(4)))).toBe(false);
  });

  it.each([
    ['another header', proof.replace('@v1', '@v2'), 'proof_header'],
    ['nothing', '', 'proof_header'],
    ['no index', proof.replace('index 0\n', ''), 'proof_index'],
    ['leading zero', proof.replace('index 0', 'index 00'), 'proof_index'],
    ['bad extra', proof.replace('index', 'extra !\nindex'), 'proof_index'],
    ['bad path', proof.replace('index 0\n', 'index 0\nAAAA\n'), 'proof_path'],
    [
      'a path without end',
      proof.replace(
        'index 0\n',
        `index 0\n${'A'.repeat(43)}=\n`.repeat(1) + `${'A'.repeat(43)}=\n`.repeat(63),
      ),
      'proof_path',
    ],
    ['no checkpoint', proof.slice(0, proof.indexOf('\n\n') + 2), 'note_blank_line'],
  ])('a proof with %s is refused', (_what, hostile, code) => {
    expect(refusal(() => parseProof(hostile))).toBe(code);
  });

  it('a proof with any cut or changed byte is read or refused, and never crashes its reader', () => {
    const source = Buffer.from(proof);
    for (let i = 0; i < source.length; i += 1) {
      expect(refusal(() => parseProof(source.subarray(0, i)))).not.toMatch(/^threw|^accepted/);
      for (const byte of [0, 10, 32, 43, 48, 128, 255]) {
        const bent = Buffer.from(source);
        bent[i] = byte;
        expect(refusal(() => parseProof(bent))).not.toMatch(/^threw/);
      }
    }
    forAll([fc.oneof(fc.string(), fc.string({ unit: anyCharacter }))], (junk) => {
      expect(refusal(() => parseProof(`c2sp.org/tlog-proof@v1\nindex 0\n${junk}`))).not.toMatch(
        /^threw/,
      );
      expect(refusal(() => parseNote(junk))).not.toMatch(/^threw/);
      expect(refusal(() => parseCheckpointText(junk))).not.toMatch(/^threw/);
    });
  });
});
