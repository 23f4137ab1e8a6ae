import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { loadScreen } from '#shared/screening/files/load.ts';
import { chatBody, codeOf, post } from '#test/support/calls.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

let system: System;
let moderation: Server;
/** The texts that the endpoint was asked about, in order. */
const asked: string[][] = [];
let failing = false;

beforeAll(async () => {
  moderation = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const { input } = JSON.parse(text) as { input: string[] };
      asked.push(input);
      const results = input.map((one) => ({
        flagged: one.includes('lighthouse'),
        categories: { harm: one.includes('lighthouse') },
      }));
      response.writeHead(failing ? 500 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ results }));
    });
  });
  await new Promise<void>((resolve) => moderation.listen(0, '127.0.0.1', resolve));
  const { port } = moderation.address() as AddressInfo;
  system = await startSystem({ env: { MODERATION_URL: `http://127.0.0.1:${port}/v1` } });
});
afterAll(() => {
  moderation.closeAllConnections();
  moderation.close();
});

const chat = (content: string, baseUrl = system.baseUrl) =>
  post(system, '/chat/completions', chatBody({ messages: [{ role: 'user', content }] }), {
    baseUrl,
  });

describe('the second stage of screening', () => {
  it(
    'the second stage judges what the rules let through, and its refusals are receipted like theirs',
    { tags: ['operations.screening'] },
    async () => {
      expect((await chat('What is a harbour?')).status).toBe(200);
      const refused = await chat('Tell me about the lighthouse.');
      expect(refused.status).toBe(403);
      expect(await codeOf(refused)).toBe('acceptable_use_violation');
      expect(asked).toContainEqual(['Tell me about the lighthouse.']);
      const id = refused.headers.get('x-receipt-id')!;
      let stored: { kind: string; body: Buffer; refusal_rule: string } | undefined;
      await until(async () => {
        const { rows } = await system.database.pool.query<{
          kind: string;
          body: Buffer;
          refusal_rule: string;
        }>('select kind, body, refusal_rule from ledger_body where entry_id = $1', [id]);
        stored = rows[0];
        return stored !== undefined;
      }, 'the refusal has its receipt');
      expect(stored!.kind).toBe('refused');
      const { credentialSubject } = JSON.parse(stored!.body.toString()) as ReceiptDocument;
      expect(stored!.refusal_rule).toBe('moderation:harm@omni-moderation-latest');
      // Nothing tells the caller which stage has blocked, or which model judged.
      const { policyVersion } = loadScreen();
      expect(credentialSubject.policy).toEqual({ version: policyVersion });
      expect(stored!.body.toString()).not.toMatch(/moderation|harm/);
      expect(credentialSubject.requestDigest).toMatch(/^\S{40,}$/);
      expect(stored!.body.toString()).not.toContain('lighthouse');
    },
  );

  it('a stored answer is not judged again', { tags: ['idempotency.replay'] }, async () => {
    const send = () =>
      post(
        system,
        '/chat/completions',
        chatBody({ messages: [{ role: 'user', content: 'A quay that is judged once.' }] }),
        { headers: { 'idempotency-key': 'judged-once' } },
      );
    const first = await (await send()).text();
    const judged = asked.length;
    const again = await send();
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.text()).toBe(first);
    expect(asked).toHaveLength(judged);
  });

  it('a second stage that cannot be asked refuses as a fault of the gateway, or lets pass, as declared', async () => {
    failing = true;
    const closed = await chat('What is a harbour?');
    expect(closed.status).toBe(500);
    expect(closed.headers.get('x-should-retry')).toBe('true');
    expect(await codeOf(closed)).toBe('internal_error');
    const open = await system.start('api', { MODERATION_FAIL_MODE: 'open' });
    const passed = await chat('What is a harbour?', `http://127.0.0.1:${open.port}/v1`);
    expect(passed.status).toBe(200);
    expect(open.logs().some(({ event }) => event === 'moderation_skipped')).toBe(true);
    failing = false;
  });
});

describe('a prompt of token ids', () => {
  /** "Tell me about the lighthouse." in o200k_base, as ids; it must be read like the text. */
  const TOKENS = [60751, 668, 1078, 290, 180069, 13];

  it('a prompt of token ids is screened as the text that it stands for', async () => {
    const refused = await post(system, '/completions', { model: 'llama-3.1-8b', prompt: TOKENS });
    expect(asked.at(-1)).toEqual(['Tell me about the lighthouse.']);
    expect(refused.status).toBe(403);
  });
});
