import { describe, expect, it } from 'vitest';
import type { PublishedHead } from '#shared/ledger/checkpoints.ts';
import { MalformedLedgerText, signerOf } from '#shared/ledger/notes.ts';
import {
  checkSuccession,
  formatLoss,
  generationAt,
  lossWords,
  type LossStatement,
  outsideOf,
  parseLoss,
  parseLossText,
  signedLoss,
} from '#shared/ledger/losses.ts';
import { logOfTree, treeOrigin } from '#shared/ledger/origins.ts';
import { checkSignaturesOf, makeCheckpointSigner } from '#test/support/ledger.ts';

const root = (byte: number): Uint8Array => Uint8Array.from(Buffer.alloc(32, byte));
const LOG = 'gateway.example/log/org_a';
const LOSS: LossStatement = {
  log: LOG,
  generation: 2,
  previous: 1,
  published: { size: 1_234, root: root(1), generation: 1 },
  kept: { size: 1_200, root: root(2) },
  at: '2026-11-20T09:38:07.412Z',
  actor: 'operator:ada',
  reason: 'the disk failed — twice',
};

describe('the statement of a loss [survives.declared-loss]', () => {
  it('reads back as it was written, is signed under the name of its log, and says itself in a sentence', () => {
    const signer = makeCheckpointSigner();
    const { note, statement } = parseLoss(signedLoss(LOSS, signer));
    expect(statement).toEqual(LOSS);
    expect(note.signatures[0]?.name).toBe(`${LOG}/loss`);
    expect(signerOf(note, checkSignaturesOf([signer.publicKey]))).toEqual(signer.publicKey);
    expect(lossWords(LOSS)).toBe(
      'of 1,234 entries published, those after the first 1,200 are lost: declared on 20 Nov 2026, 09:38 UTC by operator:ada (the disk failed — twice)',
    );
    const unknown = { ...LOSS, published: { ...LOSS.published, root: null } };
    expect(parseLossText(formatLoss(unknown))).toEqual(unknown);
  });

  it.each<[string, Partial<LossStatement>]>([
    ['keeps all that was published', { kept: { size: 1_234, root: root(2) } }],
    ['opens the tree that it closes', { generation: 1 }],
    [
      'closes a tree behind the one that it opens',
      { published: { ...LOSS.published, generation: 2 } },
    ],
    ['has a reason of two lines', { reason: 'one\ntwo' }],
    ['has no reason', { reason: '' }],
    ['has a reason that turns the direction of text', { reason: 'a\u202Eb' }],
    ['is of no time', { at: '2026-02-30T09:38:07.412Z' }],
    ['has a time in another form', { at: '2026-11-20T09:38:07Z' }],
    ['has a root of 31 bytes', { kept: { size: 1, root: new Uint8Array(31) } }],
    ['has a size that is no whole number', { kept: { size: 1.5, root: root(2) } }],
    ['is of a log with a newline in its name', { log: 'a\nb' }],
  ])('is not written when it %s', (_what, change) => {
    expect(() => formatLoss({ ...LOSS, ...change })).toThrow(MalformedLedgerText);
  });

  it('is not read with a line more, a line less or a leading zero', () => {
    const text = formatLoss(LOSS);
    const others = [`${text}more\n`, text.slice(0, -1), text.replace('1200', '01200'), ''];
    for (const other of others) expect(() => parseLossText(other)).toThrow(MalformedLedgerText);
  });
});

it('leads from the first tree of a log to the one that is named, none left out and none of another log', () => {
  const second = { ...LOSS, generation: 4, previous: 2, kept: { size: 1_250, root: root(3) } };
  const later = { ...second, published: { size: 1_300, root: root(4), generation: 2 } };
  expect(() => checkSuccession([], LOG, 1)).not.toThrow();
  expect(() => checkSuccession([LOSS, later], LOG, 4)).not.toThrow();
  for (const [statements, generation] of [
    [[], 2],
    [[LOSS], 1],
    [[later], 4],
    [[later, LOSS], 2],
    [[LOSS, LOSS], 2],
    [[LOSS, { ...later, kept: LOSS.kept, log: 'other' }], 4],
    [[LOSS, { ...later, kept: { size: 1_199, root: root(2) } }], 4],
  ] as const) {
    expect(() => checkSuccession(statements, LOG, generation)).toThrow(MalformedLedgerText);
  }
  const at = [0, 1_200, 1_201, 1_250, 1_251].map((size) => generationAt([LOSS, later], size));
  expect(at).toEqual([1, 1, 2, 2, 4]);
});

it('names trees so that no two have one name', () => {
  expect(treeOrigin(LOG, 1)).toBe(LOG);
  expect(logOfTree(treeOrigin(LOG, 12))).toEqual({ log: LOG, generation: 12 });
  for (const odd of [`${LOG}/1`, `${LOG}/02`, `${LOG}/x`, LOG]) {
    expect(logOfTree(odd)).toEqual({ log: odd, generation: 1 });
  }
});

it('settles what a statement names, and nothing that was published later', () => {
  const seen = (head: Partial<PublishedHead>, declared: LossStatement | null | undefined) =>
    outsideOf({ size: 1_234, root: root(1), ...head }, declared);
  const free = { head: null, contradiction: null };
  expect(outsideOf(undefined, LOSS)).toEqual(free);
  expect(seen({}, LOSS)).toEqual(free);
  expect(seen({ size: 1_210 }, LOSS)).toEqual(free);
  const own = { size: 1_234, root: root(1), generation: 2 };
  expect(outsideOf(own, LOSS)).toEqual({ head: own, contradiction: null });
  for (const [head, declared] of [
    [{ size: 1_235 }, LOSS],
    [{ root: root(9) }, LOSS],
    [{ generation: 2 }, undefined],
    [{ generation: 3 }, LOSS],
    [{}, null],
  ] as const) {
    expect(seen(head, declared).contradiction).toEqual(expect.any(String));
  }
});
