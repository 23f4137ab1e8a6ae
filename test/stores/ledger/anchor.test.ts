import { beforeEach, describe, expect, it } from 'vitest';
import { type AnchorChoice, createAnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createLedgerReader } from '#shared/ledger/postgres/reader.ts';
import { parseAnchorEntry } from '#shared/ledger/anchor-entries.ts';
import {
  type AnchoredHead,
  checkAnchorProof,
  formatAnchorProof,
  parseAnchorProof,
} from '#shared/ledger/anchor-proof.ts';
import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { HEADS_SLOTS } from '#shared/ledger/heads-tree.ts';
import { MalformedLedgerText, signerOf } from '#shared/ledger/notes.ts';
import { ANCHOR_LOG } from '#shared/ledger/origins.ts';
import { ANCHOR_ORIGIN, createAnchorWriter, knownKeys } from '#test/support/anchor.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import {
  checkSignaturesOf,
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';

let database: TestDatabase;
let worker: ReturnType<TestDatabase['poolAs']>;
let reader: ReturnType<typeof createAnchorReader>;
let writer = createAnchorWriter();
const signer = makeCheckpointSigner();
let memory = makeCheckpointMemory();

beforeEach(async () => {
  database = await createTestDatabase();
  worker = database.poolAs('docket_ledger', 4);
  reader = createAnchorReader(database.poolAs('docket_api', 2));
  writer = createAnchorWriter();
  memory = makeCheckpointMemory();
});

/** Lets a log grow and signs it. */
async function grow(orgId: string, count: number): Promise<void> {
  await submitReceipts(database.pool, makeReceipts(orgId, count));
  await integrateAll(worker);
  await publishCheckpoints(worker, { signer, memory, originOf, limit: 100, intervalMs: 0 });
}

async function proofOf(orgId: string, choice?: AnchorChoice): Promise<AnchoredHead> {
  const proof = await reader.proof(orgId, choice);
  return checkAnchorProof(proof!);
}

const countOf = async (table: string): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*)::int as n from ${table}`,
  );
  return rows[0]!.n;
};

describe('anchoring', () => {
  it('the anchor leads every organisation from its newest checkpoint to the signed anchor checkpoint', async () => {
    const keys = knownKeys();
    await grow('org_a', 3);
    await grow('org_b', 300);
    const { heads, keyEvents, halted } = await writer.turn(worker, { keys });
    expect(halted).toBe(null);
    expect(keyEvents.map(({ index, event }) => [index, event.event])).toEqual(
      keys.map((_, index) => [index, 'added']),
    );
    expect(heads).toEqual({ index: keys.length, organisations: 2 });
    for (const [orgId, size] of [
      ['org_a', 3],
      ['org_b', 300],
    ] as const) {
      const text = formatAnchorProof((await reader.proof(orgId))!);
      const parsed = parseAnchorProof(text);
      expect(formatAnchorProof(parsed)).toBe(text);
      const shown = checkAnchorProof(parsed);
      expect(shown.head).toMatchObject({ origin: originOf(orgId), size });
      expect(shown.index).toBe(keys.length);
      expect(shown.anchor).toMatchObject({ origin: ANCHOR_ORIGIN, size: keys.length + 1 });
      const byAnchor = checkSignaturesOf([signer.publicKey, writer.signer.publicKey]);
      expect(signerOf(shown.anchorNote, byAnchor)).toBe(writer.signer.publicKey);
      expect(signerOf(shown.headNote, byAnchor)).toBe(signer.publicKey);
    }
    expect(await reader.proof('org_none')).toBe(null);
  });

  it('the anchor gets no entry while nothing is new, and at most one in an epoch', async () => {
    await grow('org_a', 1);
    expect((await writer.turn(worker, { epochMs: 60_000 })).heads).not.toBe(null);
    expect((await writer.turn(worker)).heads).toBe(null);
    await grow('org_a', 1);
    expect((await writer.turn(worker, { epochMs: 60_000 })).heads).toBe(null);
    expect((await writer.turn(worker)).heads).toMatchObject({ organisations: 1 });
    expect(await countOf('anchor_entry')).toBe(2);
  });

  it('anchoring goes on when the clock is put back, and the times of entries stay in order', async () => {
    await grow('org_a', 1);
    await writer.turn(worker);
    await database.pool.query(`update ledger_head set integrated_at = now() + interval '1 hour'`);
    await grow('org_a', 1);
    await writer.turn(worker);
    await grow('org_a', 1);
    expect((await writer.turn(worker, { epochMs: 60_000 })).heads).not.toBe(null);
    const { rows } = await database.pool.query<{ body: Buffer }>(
      'select body from anchor_entry order by index',
    );
    const times = rows.map(({ body }) => parseAnchorEntry(body).at);
    expect(times).toEqual(times.toSorted());
  });

  it('workers that anchor at the same time write each entry once', async () => {
    const keys = knownKeys();
    await grow('org_a', 2);
    const results = await Promise.all(
      Array.from({ length: 8 }, () => writer.turn(worker, { keys, epochMs: 60_000 })),
    );
    expect(results.filter(({ heads }) => heads !== null)).toHaveLength(1);
    expect(await countOf('anchor_entry')).toBe(keys.length + 1);
    expect((await proofOf('org_a')).head.size).toBe(2);
  });

  it('an organisation keeps its slot of the heads tree for ever', async () => {
    const orgs = Array.from({ length: 40 }, (_, i) => `org_${i}`);
    for (const org of orgs) await submitReceipts(database.pool, makeReceipts(org, 1));
    await grow('org_0', 1);
    await writer.turn(worker);
    const before = new Map<string, number>();
    for (const org of orgs) before.set(org, (await proofOf(org)).slot);
    expect(new Set(before.values()).size).toBe(orgs.length);
    expect(Math.max(...before.values())).toBeLessThan(HEADS_SLOTS);
    await grow('org_new', 1);
    await writer.turn(worker);
    for (const org of orgs) expect((await proofOf(org)).slot).toBe(before.get(org));
    for (const statement of [
      'update anchor_slot set slot = slot + 1',
      'delete from anchor_slot',
      'truncate anchor_slot',
      'update anchor_entry set index = index + 1',
      'delete from anchor_head',
      'update anchor_epoch set secret = sha256(secret)',
    ]) {
      await expect(database.pool.query(statement), statement).rejects.toThrow('append-only');
      await expect(worker.query(statement), statement).rejects.toThrow('permission denied');
    }
  });

  it('an anchor proof tells an organisation nothing about the activity of another', async () => {
    await grow('org_a', 1);
    await grow('org_b', 1);
    await writer.turn(worker);
    const first = (await reader.proof('org_a'))!;
    await grow('org_b', 1);
    await writer.turn(worker);
    const other = (await reader.proof('org_a'))!;
    await grow('org_a', 1);
    await writer.turn(worker);
    const own = (await reader.proof('org_a'))!;
    // Every hash on the path is new each time, whichever ledger has grown.
    for (const [older, newer] of [
      [first, other],
      [other, own],
    ] as const) {
      expect(newer.salt).not.toEqual(older.salt);
      newer.path.forEach((hash, height) => expect(hash).not.toEqual(older.path[height]));
      expect(newer.path).toHaveLength(older.path.length);
    }
    expect(JSON.stringify(own)).not.toContain('org_b');
  });
});

describe('an anchor proof', () => {
  it('a proof can be made of any anchored checkpoint, to any later anchor checkpoint', async () => {
    // Anchored: org_a with 1, 2, 4 entries at indexes 0, 1, 3; index 2 is another's doing.
    await grow('org_a', 1);
    await writer.turn(worker);
    await grow('org_a', 1);
    await writer.turn(worker);
    await grow('org_b', 1);
    await writer.turn(worker);
    await grow('org_a', 1);
    await grow('org_a', 1);
    await writer.turn(worker);
    const shown = async (choice: AnchorChoice): Promise<number[] | null> => {
      const proof = await reader.proof('org_a', choice);
      if (proof === null) return null;
      const { head, index, anchor } = checkAnchorProof(proof);
      return [head.size, index, anchor.size];
    };
    expect(await shown({})).toEqual([4, 3, 4]);
    expect(await shown({ headSizeMax: 3 })).toEqual([2, 2, 4]);
    expect(await shown({ headSizeMax: 1 })).toEqual([1, 0, 4]);
    expect(await shown({ before: 2 })).toEqual([2, 1, 4]);
    expect(await shown({ before: 2, anchorSize: 3 })).toEqual([2, 1, 3]);
    expect(await shown({ anchorSize: 1 })).toEqual([1, 0, 1]);
    expect(await shown({ before: 0 })).toBe(null);
    expect(await shown({ anchorSize: 99 })).toBe(null);
    expect(await shown({ attested: true })).toBe(null);
    expect(formatAnchorProof((await reader.proof('org_a', { before: 2, anchorSize: 3 }))!)).toBe(
      formatAnchorProof((await reader.proof('org_a', { before: 2, anchorSize: 3 }))!),
    );
  });

  it('an anchor proof does not hold when a byte of it is changed', async () => {
    await grow('org_a', 5);
    await grow('org_b', 5);
    await writer.turn(worker);
    const proof = (await reader.proof('org_a'))!;
    const flipped = (bytes: Uint8Array): Uint8Array => bytes.map((b, i) => (i === 7 ? b ^ 1 : b));
    const broken = [
      { ...proof, salt: flipped(proof.salt) },
      { ...proof, slot: proof.slot ^ 1 },
      ...proof.path.map((_, at) => ({
        ...proof,
        path: proof.path.map((hash, i) => (i === at ? flipped(hash) : hash)),
      })),
      { ...proof, path: proof.path.slice(1) },
      { ...proof, checkpoint: proof.checkpoint.replace('\n5\n', '\n6\n') },
      { ...proof, entry: proof.entry.replace('Z"', 'z"') },
      { ...proof, proof: proof.proof.replace('index 0', 'index 1') },
    ];
    for (const each of broken) expect(() => checkAnchorProof(each)).toThrow(MalformedLedgerText);
    const text = formatAnchorProof(proof);
    for (let at = 0; at < text.length; at += 97) {
      const cut = text.slice(0, at);
      expect(() => parseAnchorProof(cut)).toThrow(MalformedLedgerText);
    }
  });
});

describe('the anchor log', () => {
  it('readers and workers of organisations’ logs do not meet the anchor log', async () => {
    await grow('org_a', 2);
    await writer.turn(worker, { keys: knownKeys() });
    const published = { signer, memory, originOf, limit: 100, intervalMs: 0 };
    expect(await publishCheckpoints(worker, published)).toEqual({ signed: [], halted: [] });
    const ledger = createLedgerReader(database.poolAs('docket_api', 1));
    expect(
      (await ledger.listEntries({ orgId: 'org_a', limit: 100, order: 'asc' })).items,
    ).toHaveLength(2);
  });

  it('anyone can read the anchor log as C2SP tiles, its entries included', async () => {
    const keys = knownKeys();
    await grow('org_a', 1);
    await writer.turn(worker, { keys });
    const { checkpoint } = parseCheckpoint((await reader.checkpoint())!);
    expect(checkpoint).toMatchObject({ origin: ANCHOR_ORIGIN, size: keys.length + 1 });
    const { size } = checkpoint;
    expect(await reader.size()).toBe(size);
    const bundle = (await reader.tile({ level: 'entries', index: 0, width: size }, size))!;
    const texts: string[] = [];
    for (let at = 0; at < bundle.length;) {
      const length = Buffer.from(bundle).readUInt16BE(at);
      texts.push(Buffer.from(bundle.subarray(at + 2, at + 2 + length)).toString());
      at += 2 + length;
    }
    expect(texts.map((text) => parseAnchorEntry(text).type)).toEqual([
      ...keys.map(() => 'key'),
      'heads',
    ]);
    expect(await reader.tile({ level: 0, index: 0, width: size }, size)).toHaveLength(size * 32);
    expect(await reader.tile({ level: 0, index: 0, width: size + 1 }, size)).toBe(null);
  });

  it('the anchor log is halted, not signed, when it was put back to an older state', async () => {
    await grow('org_a', 1);
    await writer.turn(worker);
    await writer.memory.remember(new Map([[ANCHOR_LOG, { size: 10, root: new Uint8Array(32) }]]));
    await grow('org_a', 1);
    const { halted } = await writer.turn(worker);
    expect(halted).toContain('has 10 entries, the log only 2');
    await grow('org_a', 1);
    expect(await writer.turn(worker)).toEqual({ heads: null, keyEvents: [], halted: null });
    expect((await proofOf('org_a')).head.size).toBe(1);
  });
});
