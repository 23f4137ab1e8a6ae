import { beforeAll, describe, expect, it } from 'vitest';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { type Checkpoint, parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { ed25519Verifier } from '#primitives';
import { coseReceiptHolds, parseCoseReceipt } from '#shared/ledger/cose-receipts.ts';
import { type LossStatement, signedLoss } from '#shared/ledger/losses.ts';
import { storeLoss } from '#shared/ledger/postgres/losses.ts';
import { verifyConsistency } from '#shared/ledger/proofs.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  integrateAll,
  leafOf,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
  type SubmittedReceipt,
} from '#test/support/ledger.ts';
import { type EdgeAnswer, openEdge } from '#test/support/app.ts';
import { referenceTile } from '#test/unit/ledger/reference-tree.ts';

const database = await createTestDatabase();
const receipts = database.poolAs('docket_receipts', 1);
const worker = database.poolAs('docket_ledger', 2);
const edge = await openEdge(database.poolAs('docket_api'));
const key = edge.keyFor('org_a');
const stranger = edge.keyFor('org_b');
const SIZE = 515;

const own: SubmittedReceipt[] = [];
let older: Checkpoint;

/** Of the signer that came last. */
let lastKey: Uint8Array;

/** Signs what has grown. */
async function publish(): Promise<void> {
  await integrateAll(worker);
  const signer = makeCheckpointSigner();
  const memory = makeCheckpointMemory();
  const cose = { issuer: 'did:web:gateway.example', kid: 'did:web:gateway.example#heads' };
  lastKey = signer.publicKey;
  await publishCheckpoints(worker, { signer, memory, originOf, cose, limit: 10, intervalMs: 0 });
}

beforeAll(async () => {
  // Integration goes by id.
  own.push(...makeReceipts('org_a', SIZE).toSorted((a, b) => (a.id < b.id ? -1 : 1)));
  for (let i = 7; i < SIZE; i += 100) own[i]!.kind = 'degraded';
  await submitReceipts(receipts, own.slice(0, 300));
  await publish();
  older = parseCheckpoint((await get('/ledger/checkpoint')).text).checkpoint;
  await submitReceipts(receipts, own.slice(300));
  await submitReceipts(receipts, makeReceipts('org_b', 2));
  await publish();
});

const get = (path: string, asking: string | null = key): Promise<EdgeAnswer> =>
  edge.get(path, asking);
const indexes = (answer: EdgeAnswer): number[] =>
  (answer.json().data as { index: number }[]).map(({ index }) => index);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('every path of the ledger', () => {
  const paths = [
    '/ledger/entries',
    '/ledger/checkpoint',
    '/ledger/losses',
    '/ledger/tile/0/000',
    '/ledger/consistency?from=1&to=2',
  ];

  it.each(paths)(
    'a path of the ledger is 401 without a key, 403 without the scope: %s',
    async (path) => {
      expect((await get(path, null)).status).toBe(401);
      const other = edge.keyFor('org_a', ['inference:write', 'admin:keys']);
      expect((await get(path, other)).json().error.code).toBe('insufficient_scope');
    },
  );

  it.each(paths)('an organisation without a log sees nothing of others: %s', async (path) => {
    const answer = await get(path, edge.keyFor('org_new'));
    if (/entries|losses$/.test(path)) expect(answer.json().data).toEqual([]);
    else expect(answer.status).toBe(404);
  });
});

describe('GET /ledger/entries', () => {
  it('GET /ledger/entries 200: lists newest first, with the fields that are promised [operations.receipts]', async () => {
    const answer = await get('/ledger/entries');
    expect(answer.status).toBe(200);
    const page = answer.json();
    expect(indexes(answer)).toEqual(upTo(20).map((i) => SIZE - 1 - i));
    expect(page).toMatchObject({ object: 'list', has_more: true });
    expect(page.first_id).toBe(own[SIZE - 1]!.id);
    expect(page.last_id).toBe(own[SIZE - 20]!.id);
    expect(page.data[0]).toEqual({
      id: own[SIZE - 1]!.id,
      index: SIZE - 1,
      receipt_id: own[SIZE - 1]!.id,
      kind: 'inference',
      leaf_hash: leafOf(own[SIZE - 1]!.body).toString('hex'),
      integrated_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      supersedes: null,
    });
  });

  it('GET /ledger/entries 200: pages lead through the whole log, in either order, each entry once [operations.receipts]', async () => {
    for (const order of ['asc', 'desc']) {
      const seen: number[] = [];
      let after = '';
      for (let more = true; more;) {
        const answer = await get(`/ledger/entries?limit=100&order=${order}${after}`);
        seen.push(...indexes(answer));
        more = answer.json().has_more as boolean;
        after = `&after=${String(answer.json().last_id)}`;
      }
      expect(seen).toEqual(order === 'asc' ? upTo(SIZE) : upTo(SIZE).toReversed());
    }
  });

  it('GET /ledger/entries 200: filters by kind and by the time of integration', async () => {
    const degraded = await get('/ledger/entries?kind=degraded&order=asc');
    expect(indexes(degraded)).toEqual([7, 107, 207, 307, 407, 507]);
    const all = await get('/ledger/entries?limit=1');
    const at = String(all.json().data[0].integrated_at);
    expect(indexes(await get(`/ledger/entries?order=asc&limit=1&from=${at}`))).toEqual([300]);
    expect(indexes(await get(`/ledger/entries?limit=1&to=${at}`))).toEqual([299]);
    expect(indexes(await get('/ledger/entries?from=2100-01-01'))).toEqual([]);
  });

  it.each([
    ['limit=0', 'invalid_limit'],
    ['limit=101', 'invalid_limit'],
    ['order=up', 'invalid_order'],
    ['kind=none', 'invalid_kind'],
    ['from=yesterday', 'invalid_from'],
    ['to=2026-99-99', 'invalid_to'],
    ['after=rcpt_unknown', 'invalid_after'],
  ])('GET /ledger/entries 400 for %s', async (query, code) => {
    const answer = await get(`/ledger/entries?${query}`);
    expect([answer.status, answer.json().error.code]).toEqual([400, code]);
  });

  it('GET /ledger/entries 400 for a cursor of another organisation, as for one that never was', async () => {
    const answer = await get(`/ledger/entries?after=${own[3]!.id}`, stranger);
    expect([answer.status, answer.json().error.code]).toEqual([400, 'invalid_after']);
  });
});

describe('GET /ledger/losses', () => {
  it('GET /ledger/losses 200: what was declared of the caller’s own log, which is nothing in most', async () => {
    expect((await get('/ledger/losses')).json()).toEqual({ object: 'list', data: [] });
    const statement: LossStatement = {
      log: 'gateway.example/log/org_lost',
      generation: 2,
      previous: 1,
      published: { size: 9, root: null, generation: 1 },
      kept: { size: 2, root: Buffer.alloc(32) },
      at: '2026-11-20T09:38:07.412Z',
      actor: 'operator:ada',
      reason: 'a test',
    };
    const note = signedLoss(statement, makeCheckpointSigner());
    await storeLoss(database.pool, 'org_lost', { note, statement });
    expect((await get('/ledger/losses', edge.keyFor('org_lost'))).json()).toEqual({
      object: 'list',
      data: [
        {
          tree: 2,
          published_size: 9,
          kept_size: 2,
          declared_at: '2026-11-20T09:38:07.412Z',
          reason: 'a test',
          statement: note,
        },
      ],
    });
    expect((await get('/ledger/losses')).json().data).toEqual([]);
  });
});

describe('GET /ledger/checkpoint', () => {
  it('GET /ledger/checkpoint 200: the newest signed note of the caller’s own log', async () => {
    const answer = await get('/ledger/checkpoint');
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-cache',
    });
    const { checkpoint } = parseCheckpoint(answer.text);
    expect(checkpoint).toMatchObject({ origin: originOf('org_a'), size: SIZE });
    const other = parseCheckpoint((await get('/ledger/checkpoint', stranger)).text).checkpoint;
    expect(other).toMatchObject({ origin: originOf('org_b'), size: 2 });
  });
});

describe('GET /receipts/{id}/cose', () => {
  const path = (receipt: SubmittedReceipt): string => `/receipts/${receipt.id}/cose`;

  it('GET /receipts/{id}/cose 200: a COSE receipt by which the receipt’s bytes are in the log [evidence.cose]', async () => {
    for (const index of [0, 300, SIZE - 1]) {
      const answer = await get(path(own[index]!));
      expect(answer.headers['content-type']).toBe('application/cose; cose-type="cose-sign1"');
      const cose = parseCoseReceipt(answer.bytes);
      expect(cose).toMatchObject({ index, size: SIZE, log: originOf('org_a') });
      const holds = (of: SubmittedReceipt): boolean =>
        coseReceiptHolds(cose, of.body, ed25519Verifier(lastKey));
      expect(holds(own[index]!)).toBe(true);
      expect(holds(own[1]!)).toBe(false);
    }
  });

  it('GET /receipts/{id}/cose 404: not ready before a checkpoint of two entries that was signed for it [codes.proof_not_ready]', async () => {
    const late = makeReceipts('org_late', 3).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const asking = edge.keyFor('org_late');
    const code = async (): Promise<unknown> =>
      (await get(path(late[0]!), asking)).json().error.code;
    await submitReceipts(receipts, late.slice(0, 1));
    expect(await code()).toBe('proof_not_ready');
    await publish();
    expect(await code()).toBe('proof_not_ready');
    expect((await get(`/receipts/${late[0]!.id}/proof`, asking)).status).toBe(200);
    await submitReceipts(receipts, late.slice(1, 2));
    await publish();
    expect((await get(path(late[0]!), asking)).status).toBe(200);
    await submitReceipts(receipts, late.slice(2));
    await integrateAll(worker);
    const unnamed = { signer: makeCheckpointSigner(), memory: makeCheckpointMemory(), originOf };
    await publishCheckpoints(worker, { ...unnamed, limit: 10, intervalMs: 0 });
    expect(await code()).toBe('proof_not_ready');
  });

  it('GET /receipts/{id}/cose 404: of another organisation’s receipt, or of none', async () => {
    for (const [id, asking] of [
      [own[0]!.id, stranger],
      [makeReceipts('org_a', 1)[0]!.id, key],
    ] as const) {
      const answer = await get(`/receipts/${id}/cose`, asking);
      expect([answer.status, answer.json().error.code]).toEqual([404, 'receipt_not_found']);
    }
  });

  it('GET /receipts/{id}/cose 401 without a key, 403 without the scope', async () => {
    expect((await get(path(own[0]!), null)).status).toBe(401);
    const other = edge.keyFor('org_a', ['inference:write', 'admin:keys']);
    expect((await get(path(own[0]!), other)).json().error.code).toBe('insufficient_scope');
  });
});

describe('GET /ledger/tile', () => {
  it.each(['0/000', '0/001', '0/002.p/3', '0/002.p/1', '0/000.p/255', '1/000.p/2'])(
    'GET /ledger/tile 200: %s as C2SP tlog-tiles defines it',
    async (path) => {
      const answer = await get(`/ledger/tile/${path}`);
      expect(answer.headers['content-type']).toBe('application/octet-stream');
      expect(answer.headers['cache-control']).toContain('immutable');
      const [level = '', index = ''] = path.split('/');
      const leaves = own.map((receipt) => leafOf(receipt.body));
      const whole = referenceTile(Number(level), Number(index.slice(0, 3)), leaves);
      const width = Number(path.split('.p/')[1] ?? 256);
      expect(answer.bytes.equals(whole.subarray(0, width * 32))).toBe(true);
    },
  );

  it.each([
    ['entries/000', 0, 256],
    ['entries/002.p/3', 512, 515],
  ])('GET /ledger/tile 200: %s holds the receipts themselves', async (path, from, to) => {
    const answer = await get(`/ledger/tile/${path}`);
    const expected = own.slice(from, to).flatMap(({ body }) => {
      return [Buffer.from([body.length >> 8, body.length & 255]), body];
    });
    expect(answer.bytes.equals(Buffer.concat(expected))).toBe(true);
  });

  it.each([
    '0/002',
    '0/002.p/4',
    '0/003.p/1',
    '1/000',
    '2/000.p/1',
    '0/000.p/0',
    '0/000.p/256',
    '0/x000/000',
    '0/0',
    '64/000',
    'entries/002',
    'entries/003.p/1',
    'tile/0/000',
    '..%2f0/000',
  ])(
    'GET /ledger/tile 404 for tiles beyond the checkpoint, and names that no tile has: %s',
    async (path) => {
      const answer = await get(`/ledger/tile/${path}`);
      expect([answer.status, answer.json().error.code]).toEqual([404, 'tile_not_found']);
    },
  );

  it('GET /ledger/tile 404 for a tile that only another organisation has', async () => {
    expect((await get('/ledger/tile/0/000', stranger)).status).toBe(404);
    expect((await get('/ledger/tile/0/000.p/2', stranger)).status).toBe(200);
  });
});

describe('GET /ledger/consistency', () => {
  it('GET /ledger/consistency 200: proves an older checkpoint a prefix of the newest', async () => {
    const newest = parseCheckpoint((await get('/ledger/checkpoint')).text).checkpoint;
    const answer = await get(`/ledger/consistency?from=${older.size}&to=${newest.size}`);
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
    const lines = answer.text.split('\n');
    expect(lines.pop()).toBe('');
    const claim = {
      oldSize: older.size,
      newSize: newest.size,
      oldRoot: older.root,
      newRoot: newest.root,
    };
    const proof = lines.map((line) => new Uint8Array(Buffer.from(line, 'base64')));
    expect(verifyConsistency({ ...claim, proof })).toBe(true);
    expect((await get(`/ledger/consistency?from=0&to=${SIZE}`)).text).toBe('');
    expect((await get(`/ledger/consistency?from=${SIZE}&to=${SIZE}`)).text).toBe('');
  });

  it('GET /ledger/consistency 404 for a size that was not published, 400 for sizes that make no sense', async () => {
    const beyond = await get(`/ledger/consistency?from=1&to=${SIZE + 1}`);
    expect([beyond.status, beyond.json().error.code]).toEqual([404, 'consistency_proof_not_found']);
    for (const [query, code] of [
      ['from=2&to=1', 'invalid_from'],
      ['from=-1&to=1', 'invalid_from'],
      ['from=1&to=9007199254740993', 'invalid_to'],
      ['to=1', 'invalid_from'],
      ['from=1', 'invalid_to'],
    ] as const) {
      const answer = await get(`/ledger/consistency?${query}`);
      expect([query, answer.status, answer.json().error.code]).toEqual([query, 400, code]);
    }
  });
});
