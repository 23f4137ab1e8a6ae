import { randomBytes } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTimestampAuthority } from '#shared/ledger/http/timestamp-authority.ts';
import { encodeTimestampRequest, readTimestamp } from '#shared/ledger/http/timestamp-tokens.ts';
import { createWitness } from '#shared/ledger/http/witness.ts';
import { createAttestationStore } from '#shared/ledger/postgres/anchor-attestations.ts';
import { createAnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import { type AnchoredHead, checkAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { readCosignature, verifyCosignature } from '#shared/ledger/cosignatures.ts';
import { formatSignature, ML_DSA_44_TYPE } from '#shared/ledger/notes.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createAnchorWriter } from '#test/support/anchor.ts';
import { startAuthority, startWitness, type TestWitness } from '#test/support/attestors.ts';
import { createTestDatabase, type TestDatabase } from '#test/support/database.ts';
import {
  integrateAll,
  makeCheckpointMemory,
  makeCheckpointSigner,
  makeReceipts,
  originOf,
  submitReceipts,
} from '#test/support/ledger.ts';
import { attest } from '#workers/ledger/attest.ts';
import type { LedgerEvents } from '#workers/ledger/events.ts';

let database: TestDatabase;
let worker: ReturnType<TestDatabase['poolAs']>;
let reader: ReturnType<typeof createAnchorReader>;
const writer = createAnchorWriter();
const signer = makeCheckpointSigner();
let memory = makeCheckpointMemory();
const authority = await startAuthority();

let told: string[] = [];
const events = {
  attested: (source, size) => told.push(`${source} ${size}`),
  attestationFailed: (source, reason) => told.push(`${source} ${reason}`),
} satisfies Partial<LedgerEvents> as unknown as LedgerEvents;

beforeEach(async () => {
  database = await createTestDatabase();
  worker = database.poolAs('docket_ledger', 6);
  reader = createAnchorReader(database.poolAs('docket_api', 2));
  memory = makeCheckpointMemory();
  // The anchor's own memory must not outlive its database.
  Object.assign(writer, createAnchorWriter(writer.signer));
  authority.fault = 'none';
  authority.requests = 0;
  told = [];
});

/** Anchors something new; the anchor log has one more entry then. */
async function epoch(): Promise<void> {
  await submitReceipts(database.pool, makeReceipts('org_a', 1));
  await integrateAll(worker);
  await publishCheckpoints(worker, { signer, memory, originOf, limit: 10, intervalMs: 0 });
  expect((await writer.turn(worker)).heads).not.toBe(null);
}

/** One round of asking, with time gone by. */
async function ask(
  witnesses: readonly TestWitness[] = [],
  urls: readonly string[] = [authority.url],
) {
  await database.pool.query(`update anchor_source set next_at = now() - interval '1 s'`);
  await askNow(witnesses, urls);
}

async function askNow(witnesses: readonly TestWitness[], urls: readonly string[]): Promise<void> {
  await attest({
    store: createAttestationStore(worker),
    authorities: urls.map(createTimestampAuthority),
    witnesses: witnesses.map(({ setting }) => createWitness(setting, verifyCosignature)),
    events,
  });
}

async function proofNow(): Promise<
  AnchoredHead & { timestamps: { time: string; response: Uint8Array }[] }
> {
  const proof = (await reader.proof('org_a'))!;
  return { ...checkAnchorProof(proof), timestamps: [...proof.timestamps] };
}

describe('timestamps of the anchor', () => {
  it('openssl verifies the timestamps of the anchor over the checkpoint’s text', async () => {
    await epoch();
    await ask();
    const { anchorNote, timestamps } = await proofNow();
    expect(timestamps).toHaveLength(1);
    expect(Math.abs(Date.parse(timestamps[0]!.time) - Date.now())).toBeLessThan(60_000);
    expect(await authority.verify(timestamps[0]!.response, anchorNote.text)).toBe(
      'Verification: OK',
    );
    await expect(
      authority.verify(timestamps[0]!.response, `${anchorNote.text}x`),
    ).rejects.toThrow();
    expect(told).toEqual([`${authority.url} 1`]);
  });

  it('timestamps are taken once per checkpoint and authority, by all workers together', async () => {
    await epoch();
    await Promise.all(Array.from({ length: 6 }, () => askNow([], [authority.url])));
    expect(authority.requests).toBe(1);
    await epoch();
    await askNow([], [authority.url]);
    expect(authority.requests, 'not before its time').toBe(1);
    await ask();
    await ask();
    expect(authority.requests).toBe(2);
  });

  it.each([
    ['down', /fetch failed/],
    ['garbage', /not a timestamp response/],
    ['refusal', /refused \(status 2\)/],
    ['flipped', /not signed/],
  ] as const)(
    'a timestamp is asked for again later when the authority is %s, and nothing waits for it',
    async (fault, reason) => {
      await epoch();
      authority.fault = fault;
      await ask();
      expect(told).toHaveLength(1);
      expect(told[0]).toMatch(reason);
      expect((await proofNow()).timestamps).toEqual([]);
      const { rows } = await database.pool.query(
        `select failures, last_error, next_at > now() + interval '5 s' as later from anchor_source`,
      );
      expect(rows).toMatchObject([
        { failures: 1, later: true, last_error: expect.stringMatching(reason) as string },
      ]);
      await askNow([], [authority.url]);
      expect(authority.requests, 'not at once').toBe(1);
      await epoch();
      authority.fault = 'none';
      await ask();
      expect((await proofNow()).timestamps).toHaveLength(1);
      const { rows: after } = await database.pool.query(
        'select failures, last_error from anchor_source',
      );
      expect(after).toEqual([{ failures: 0, last_error: null }]);
    },
  );

  it('a timestamp that answers an earlier request is refused, because its nonce is another', async () => {
    authority.fault = 'replay';
    const nonce = randomBytes(16).fill(0x41, 0, 1);
    const other = randomBytes(16).fill(0x42, 0, 1);
    const data = Buffer.from('text');
    const request = encodeTimestampRequest(data, nonce);
    const answer = await fetch(authority.url, { method: 'POST', body: new Uint8Array(request) });
    const response = new Uint8Array(await answer.arrayBuffer());
    authority.fault = 'none';
    const fresh = await fetch(authority.url, { method: 'POST', body: new Uint8Array(request) });
    const good = new Uint8Array(await fresh.arrayBuffer());
    expect(Math.abs((await readTimestamp(good, data, nonce)) - Date.now())).toBeLessThan(60_000);
    await expect(readTimestamp(good, data, other)).rejects.toThrow('another request');
    await expect(readTimestamp(good, Buffer.from('other'), nonce)).rejects.toThrow(
      'something else',
    );
    await expect(readTimestamp(response, data, nonce)).rejects.toThrow(
      /something else|another request/,
    );
  });

  it('timestamps never crash their reader, in any way cut or changed', async () => {
    const nonce = randomBytes(16).fill(0x41, 0, 1);
    const data = Buffer.from('text');
    const request = encodeTimestampRequest(data, nonce);
    const answer = await fetch(authority.url, { method: 'POST', body: new Uint8Array(request) });
    const good = new Uint8Array(await answer.arrayBuffer());
    for (let at = 0; at < good.length; at += 13) {
      await expect(readTimestamp(good.subarray(0, at), data, nonce)).rejects.toBeInstanceOf(Error);
      const flipped = good.map((byte, i) => (i === at ? byte ^ 0x20 : byte));
      await readTimestamp(flipped, data, nonce).catch((error: unknown) => {
        expect(error).toBeInstanceOf(Error);
      });
    }
  });
});

describe('cosignatures of the anchor', () => {
  const witnessFor = (name: string, type?: number): Promise<TestWitness> =>
    startWitness(name, writer.signer.publicKey, type);

  it('cosignatures are added to the checkpoint that is handed out, and verify', async () => {
    const witnesses = [
      await witnessFor('w.example/1'),
      await witnessFor('w.example/2', ML_DSA_44_TYPE),
    ];
    await epoch();
    await ask(witnesses, []);
    await epoch();
    await epoch();
    await ask(witnesses, []);
    const { anchorNote, anchor } = await proofNow();
    expect(anchor.size).toBe(3);
    expect(anchorNote.signatures.map(({ name }) => name)).toEqual([
      'gateway.example/anchor',
      'w.example/1',
      'w.example/2',
    ]);
    for (const [i, witness] of witnesses.entries()) {
      const line = formatSignature(anchorNote.signatures[i + 1]!);
      const { time } = readCosignature(line, anchorNote.text, witness, verifyCosignature);
      expect(Math.abs(time - Date.now() / 1_000)).toBeLessThan(60);
      expect(witness.statuses).toEqual([200, 200]);
    }
    expect(await reader.checkpoint()).toBe(
      (await reader.proof('org_a'))!.proof.split('\n\n').slice(1).join('\n\n'),
    );
  });

  it('a witness that has seen more or less than we remember gives its cosignature', async () => {
    const witness = await witnessFor('w.example/1');
    await epoch();
    await ask([witness], []);
    await epoch();
    // It cosigned, but its answer was lost.
    await database.pool.query('alter table anchor_cosignature disable trigger user');
    await database.pool.query('delete from anchor_cosignature');
    await ask([witness], []);
    witness.seen = null;
    await epoch();
    await ask([witness], []);
    expect(witness.statuses).toEqual([200, 409, 200, 409, 200]);
    expect(told).toEqual(['w.example/1 1', 'w.example/1 2', 'w.example/1 3']);
  });

  it('cosignatures that are wrong or missing are not believed, and asked for again', async () => {
    const [good, lying, down, ahead] = await Promise.all(
      ['good', 'lying', 'down', 'ahead'].map((name) => witnessFor(`w.example/${name}`)),
    );
    await epoch();
    lying!.lies = true;
    down!.down = true;
    ahead!.seen = { size: 7, root: new Uint8Array(32) };
    const all = [good!, lying!, down!, ahead!];
    await ask(all, []);
    expect(told.toSorted()).toEqual([
      'w.example/ahead the witness has seen 7 entries, we have 1',
      expect.stringMatching(/^w.example\/down fetch failed/) as string,
      'w.example/good 1',
      'w.example/lying The cosignature does not verify.',
    ]);
    expect((await proofNow()).anchorNote.signatures).toHaveLength(2);
    lying!.lies = false;
    down!.down = false;
    ahead!.seen = null;
    await ask(all, []);
    expect((await proofNow()).anchorNote.signatures).toHaveLength(5);
  });

  it('a proof can lead to the newest checkpoint that is attested, also where it is older', async () => {
    const witness = await witnessFor('w.example/1');
    await epoch();
    await ask([witness], []);
    await epoch();
    const attested = checkAnchorProof((await reader.proof('org_a', { attested: true }))!);
    expect([attested.head.size, attested.anchor.size]).toEqual([1, 1]);
    expect((await proofNow()).head.size).toBe(2);
  });

  it('a witness that cannot be read stops the start', () => {
    for (const setting of ['', 'w.example+aaaaaaaa+AAAA https://w.example', 'https://w.example']) {
      expect(() => createWitness(setting, verifyCosignature), setting).toThrow();
    }
  });
});
