/** A receipt is found by every name that a caller may have of it, and by what it says; and by no other organisation. */
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { newId } from '#shared/kernel/system/new-id.ts';
import { derivationDigest } from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { createTestDatabase } from '#test/support/database.ts';
import {
  commitReceipts,
  inferenceRecord,
  issuer,
  makeReceiptSigner,
} from '#test/support/issuing.ts';
import { openEdge } from '#test/support/app.ts';
import { integrateAll } from '#test/support/ledger.ts';

const database = await createTestDatabase();
const { signer } = makeReceiptSigner();
const pool = database.poolAs('docket_api', 2);
const edge = await openEdge(pool);
const key = edge.keyFor('org_a');
const upstreamAnswerId = 'chatcmpl-77';
let id = '';
let bytes = '';
const named = (prefix: string): string => id.replace('rcpt_', prefix);

beforeAll(async () => {
  const now = Date.now();
  // The newest of two, whichever millisecond each was made in.
  [id] = (await commitReceipts(database.poolAs('docket_receipts', 1), signer, [
    inferenceRecord({ upstreamAnswerId, requestId: newId('req', now) }),
    inferenceRecord({ upstreamAnswerId, requestId: newId('req', now - 1) }),
  ])) as [string];
  await integrateAll(database.poolAs('docket_ledger', 1));
  bytes = (await edge.get(`/receipts/${id}`, key)).text;
});

describe('GET /receipts/{id}', () => {
  it.each<[string, () => string]>([
    ['its id', () => id],
    ['its address', () => encodeURIComponent(`${issuer.receipts}${id}`)],
    ['the id of its request', () => named('req_')],
    ['the id of its answer, a chat', () => named('chatcmpl-')],
    ['that of a completion', () => named('cmpl-')],
    ['that of a response', () => named('resp_')],
  ])('takes %s', async (_name, name) => {
    const answer = await edge.get(`/receipts/${name()}`, key);
    expect([answer.status, answer.text]).toEqual([200, bytes]);
  });

  it.each<[string, () => string]>([
    ['an answer that was never given', () => 'chatcmpl-0'],
    ['the id that an upstream gave two answers', () => upstreamAnswerId],
    ['no receipt’s id', () => 'rcpt_0'],
  ])('has nothing under %s', async (_name, name) => {
    expect((await edge.get(`/receipts/${name()}`, key)).status).toBe(404);
  });

  it('has nothing of another organisation, under no name', async () => {
    const other = edge.keyFor('org_b');
    for (const name of [id, named('chatcmpl-')]) {
      expect((await edge.get(`/receipts/${name}`, other)).status).toBe(404);
    }
  });
});

describe('GET /receipts', () => {
  const list = async (query: string, asking = key) => {
    const answer = await edge.get(`/receipts?${query}`, asking);
    return { status: answer.status, body: answer.json() };
  };

  it('finds receipts by each column that a list has, and by all together [operations.receipts]', async () => {
    const { credentialSubject, tier } = parseReceipt(bytes).document;
    const { region, model } = credentialSubject;
    const fits = [
      `model=${encodeURIComponent(model)}`,
      `region=${region}`,
      `tier=${tier}`,
      `key=${inferenceRecord().keyId}`,
      'outcome=complete',
      'kind=inference',
    ];
    for (const query of [...fits, fits.join('&')]) {
      expect((await list(query)).body.first_id, query).toBe(id);
    }
    for (const query of ['tier=audit_plus', 'outcome=truncated', 'kind=refused']) {
      expect((await list(`${fits[0]}&${query}`)).body.data, query).toEqual([]);
    }
  });

  it.each([
    ['tier=gold', 'invalid_tier', 'tier'],
    ['outcome=good', 'invalid_outcome', 'outcome'],
    ['kind=none', 'invalid_kind', 'kind'],
    ['model=no-such-model', 'invalid_model', 'model'],
    ['region=atlantis', 'invalid_region', 'region'],
    ['key=key_none', 'invalid_key', 'key'],
    ['modle=x', 'invalid_modle', 'modle'],
    ['from=2026', 'invalid_from', 'from'],
    ['to=2026', 'invalid_to', 'to'],
  ])('400 for %s, which no receipt can have', async (query, code, param) => {
    const { status, body } = await list(query);
    expect([status, body.error.code, body.error.param]).toEqual([400, code, param]);
  });

  it.each(['model=no-such-model', 'region=atlantis', 'key=key_none'])(
    'looks through no receipts and no sums for %s, which none of them has',
    async (query) => {
      const asked = vi.spyOn(pool, 'query');
      expect((await list(query)).status).toBe(400);
      const asks = asked.mock.calls as unknown as [{ text: string }][];
      const texts = asks.map(([{ text }]) => text);
      asked.mockRestore();
      expect(texts.filter((text) => text.includes('union all'))).toHaveLength(1);
      expect(texts.filter((text) => /usage_hour|with looked/.test(text))).toEqual([]);
    },
  );

  it('finds a receipt by a model that has just been used and is offered no more', async () => {
    const record = inferenceRecord({ orgId: 'org_c', requestId: newId('req') });
    const [fresh] = await commitReceipts(database.poolAs('docket_receipts', 1), signer, [record]);
    const { credentialSubject } = parseReceipt(bytes).document;
    const query = `model=${encodeURIComponent(credentialSubject.model)}&key=${record.keyId}`;
    expect((await list(query, edge.keyFor('org_c'))).body.first_id).toBe(fresh);
  });

  it('tells from no filter which models, regions and keys other organisations have', async () => {
    const { model } = parseReceipt(bytes).document.credentialSubject;
    const { body } = await list(`model=${encodeURIComponent(model)}`, edge.keyFor('org_b'));
    expect(body.error.code).toBe('invalid_model');
  });
});

describe('the address that a receipt has as its id', () => {
  it('answers with the receipt to the organisation’s key, and says to all others what it takes', async () => {
    const path = new URL(parseReceipt(bytes).document.id).pathname;
    expect((await edge.ask('GET', path, key)).text).toBe(bytes);
    const stranger = await edge.ask('GET', path, null);
    expect(stranger.status).toBe(401);
    expect(stranger.json().error.message).toMatch(/key/i);
    expect((await edge.ask('GET', path, edge.keyFor('org_b'))).status).toBe(404);
  });

  it('shows a browser without a key the ways to it, as a page that is the same whether there is such a receipt [receipts.address]', async () => {
    const inBrowser = async (url: string, headers: Record<string, string> = {}) => {
      const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
      const reply = await edge.app.inject({ url, headers: { accept, ...headers } });
      return {
        status: reply.statusCode,
        type: reply.headers['content-type'],
        text: reply.payload,
      };
    };
    const page = await inBrowser(`/receipts/${id}`);
    expect([page.status, page.type]).toEqual([401, 'text/html; charset=utf-8']);
    const none = `rcpt_${newId('req').slice('req_'.length)}`;
    const other = await inBrowser(`/receipts/${none}`);
    expect(other.text.replaceAll(none, id)).toBe(page.text);
    // A key is a program's, with anything that it accepts; and what is no id is shown on no page.
    const keyed = await inBrowser(`/receipts/${id}`, { authorization: `Bearer ${key}` });
    expect([keyed.status, keyed.text]).toEqual([200, bytes]);
    const wrong = await inBrowser(`/receipts/${id}`, { authorization: 'Bearer dkt_x' });
    expect([wrong.status, wrong.type]).toEqual([401, 'application/json; charset=utf-8']);
    expect((await inBrowser("/receipts/x';reboot;'")).type).toContain('json');
  });
});

describe('GET /derivations/{digest}', () => {
  it('gives the record that a receipt names to any caller, for ever, under the hash of its bytes', async () => {
    const { measurement } = parseReceipt(bytes).document;
    const digest = derivationDigest(measurement!);
    const path = `/derivations/${digest}`;
    const answer = await edge.ask('GET', path, null);
    expect(answer.status).toBe(200);
    expect(multihashOfContent(answer.bytes)).toBe(digest);
    expect(answer.headers['cache-control']).toContain('immutable');
    expect(answer.headers['access-control-allow-origin']).toBe('*');
    const other = await edge.ask(
      'GET',
      `/derivations/${multihashOfContent(Buffer.from('x'))}`,
      null,
    );
    expect([other.status, other.json().error.code]).toEqual([404, 'derivation_not_found']);
  });
});
