import { beforeAll, describe, expect, it } from 'vitest';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { parseAnchorEntry } from '#shared/ledger/anchor-entries.ts';
import {
  type AnchoredHead,
  checkAnchorProof,
  parseAnchorProof,
} from '#shared/ledger/anchor-proof.ts';
import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { leafHash, splitHashes } from '#shared/ledger/hashing.ts';
import { parseProof, proofHolds } from '#shared/ledger/proof-text.ts';
import { rangeHash } from '#shared/ledger/tiles.ts';
import { createAnchorWriter, knownKeys } from '#test/support/anchor.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';
import { type EdgeAnswer, openEdge } from '#test/support/app.ts';

const database = await createTestDatabase();
const worker = database.poolAs('docket_ledger', 2);
const edge = await openEdge(database.poolAs('docket_api'));
const key = edge.keyFor('org_a');
const writer = createAnchorWriter();
const keys = knownKeys();
const signer = makeCheckpointSigner();
const memory = makeCheckpointMemory();

async function epoch(orgId: string): Promise<void> {
  await submitReceipts(database.pool, makeReceipts(orgId, 1));
  await integrateAll(worker);
  await publishCheckpoints(worker, { signer, memory, originOf, limit: 10, intervalMs: 0 });
  await writer.turn(worker, { keys });
}

const get = (path: string, asking: string | null = null): Promise<EdgeAnswer> =>
  edge.ask('GET', path.startsWith('/anchor') ? path : `/v1${path}`, asking);
const shown = ({ text }: EdgeAnswer): AnchoredHead => checkAnchorProof(parseAnchorProof(text));

describe('before anything is anchored', () => {
  it('before anything is anchored, proofs, checkpoint and tiles are 404, and there are no key events', async () => {
    expect((await get('/ledger/anchor', key)).json().error.code).toBe('anchor_proof_not_found');
    expect((await get('/anchor/checkpoint')).json().error.code).toBe('checkpoint_not_found');
    expect((await get('/anchor/tile/0/000.p/1')).json().error.code).toBe('tile_not_found');
    expect((await get('/ledger/key-events')).json()).toEqual({ object: 'list', data: [] });
  });
});

describe('once it is', () => {
  beforeAll(async () => {
    for (const orgId of ['org_a', 'org_b', 'org_a']) await epoch(orgId);
  });

  it('GET /ledger/anchor 200: a proof leads from the caller’s own checkpoint to the anchor', async () => {
    const answer = await get('/ledger/anchor', key);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(shown(answer)).toMatchObject({
      head: { origin: originOf('org_a'), size: 2 },
      index: keys.length + 2,
      anchor: { size: keys.length + 3 },
    });
    const other = await get('/ledger/anchor', edge.keyFor('org_b'));
    expect(shown(other).head).toMatchObject({ origin: originOf('org_b'), size: 1 });
    expect(shown(await get('/ledger/anchor?head_size_max=1', key)).head.size).toBe(1);
    const pinned = `/ledger/anchor?before=${keys.length + 1}&anchor_size=${keys.length + 2}`;
    expect(shown(await get(pinned, key))).toMatchObject({
      index: keys.length,
      anchor: { size: keys.length + 2 },
    });
  });

  it('GET /ledger/anchor 401, 403, 404 and 400', async () => {
    expect((await get('/ledger/anchor')).status).toBe(401);
    const other = edge.keyFor('org_a', ['inference:write']);
    expect((await get('/ledger/anchor', other)).json().error.code).toBe('insufficient_scope');
    const none = await get('/ledger/anchor', edge.keyFor('org_new'));
    expect([none.status, none.json().error.code]).toEqual([404, 'anchor_proof_not_found']);
    expect((await get('/ledger/anchor?attested=true', key)).status).toBe(404);
    for (const [query, code] of [
      ['before=-1', 'invalid_before'],
      ['head_size_max=x', 'invalid_head_size_max'],
      ['anchor_size=1.5', 'invalid_anchor_size'],
      ['attested=maybe', 'invalid_attested'],
    ]) {
      const answer = await get(`/ledger/anchor?${query}`, key);
      expect([answer.status, answer.json().error.code]).toEqual([400, code]);
    }
  });

  it('GET /ledger/key-events 200: everyone gets each event with its text and proof', async () => {
    const answer = await get('/ledger/key-events');
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    const { data } = answer.json();
    expect(data).toHaveLength(keys.length);
    for (const [i, event] of (data as Record<string, string>[]).entries()) {
      expect(event).toMatchObject({ index: i, event: 'added', from: null, key: keys[i]!.key });
      expect(parseAnchorEntry(event['entry']!)).toMatchObject({
        at: event['at'],
        purpose: keys[i]!.purpose,
      });
      expect(proofHolds(parseProof(event['proof']!), leafHash(Buffer.from(event['entry']!)))).toBe(
        true,
      );
    }
  });

  it('GET /anchor 200: anyone can rebuild the root of the C2SP log from its entries', async () => {
    const note = await get('/anchor/checkpoint');
    expect(note.headers['content-type']).toBe('text/plain; charset=utf-8');
    const { checkpoint } = parseCheckpoint(note.text);
    const bundle = await get(`/anchor/tile/entries/000.p/${checkpoint.size}`);
    const leaves: Uint8Array[] = [];
    for (let at = 0; at < bundle.bytes.length; at += 2 + bundle.bytes.readUInt16BE(at)) {
      const end = at + 2 + bundle.bytes.readUInt16BE(at);
      leaves.push(leafHash(bundle.bytes.subarray(at + 2, end)));
    }
    const tile = await get(`/anchor/tile/0/000.p/${checkpoint.size}`);
    expect(splitHashes(tile.bytes)).toEqual(leaves);
    expect(rangeHash({ start: 0, end: checkpoint.size }, () => tile.bytes)).toEqual(
      Buffer.from(checkpoint.root),
    );
    expect((await get(`/anchor/tile/0/000.p/${checkpoint.size + 1}`)).status).toBe(404);
    expect((await get('/anchor/tile/nonsense')).status).toBe(404);
  });
});
