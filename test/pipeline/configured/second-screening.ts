import type { ServerResponse } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { loadScreen } from '#shared/screening/files/load.ts';
import { chatBody, codeOf, post } from '#test/support/calls.ts';
import { NotingUpstream } from '#test/support/noting-upstream.ts';
import type { System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

/** Stands in no prompt of another part. */
const FLAGGED = 'breakwater';

/** Flags what contains the word. */
export class ModerationUpstream extends NotingUpstream {
  failing = false;

  /** The texts that it was asked about, in order. */
  get asked(): string[][] {
    return this.requests.map(({ body }) => body['input'] as string[]);
  }

  protected override answerTo(body: Record<string, unknown>, response: ServerResponse): void {
    const results = (body['input'] as string[]).map((one) => ({
      flagged: one.includes(FLAGGED),
      categories: { harm: one.includes(FLAGGED) },
    }));
    response.writeHead(this.failing ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ results }));
  }
}

/** Screening by a model, of what the rules let through. */
export function secondScreening(system: () => System, moderation: ModerationUpstream): void {
  const chat = (content: string, baseUrl = system().baseUrl) =>
    post(system(), '/chat/completions', chatBody({ messages: [{ role: 'user', content }] }), {
      baseUrl,
    });

  describe('the second stage of screening', () => {
    it('the second stage judges what the rules let through, and its refusals are receipted like theirs [operations.screening]', async () => {
      expect((await chat('What is a harbour?')).status).toBe(200);
      const refused = await chat('Tell me about the breakwater.');
      expect(refused.status).toBe(403);
      expect(await codeOf(refused)).toBe('acceptable_use_violation');
      expect(moderation.asked).toContainEqual(['Tell me about the breakwater.']);
      const id = refused.headers.get('x-receipt-id')!;
      let stored: { kind: string; body: Buffer; refusal_rule: string } | undefined;
      await until(async () => {
        const { rows } = await system().database.pool.query<{
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
      expect(stored!.body.toString()).not.toContain(FLAGGED);
    });

    it('a stored answer is not judged again [idempotency.replay]', async () => {
      const once = 'A quay that is judged once.';
      const send = () =>
        post(
          system(),
          '/chat/completions',
          chatBody({ messages: [{ role: 'user', content: once }] }),
          { headers: { 'idempotency-key': 'judged-once' } },
        );
      const first = await (await send()).text();
      const again = await send();
      expect(again.headers.get('idempotent-replayed')).toBe('true');
      expect(await again.text()).toBe(first);
      expect(moderation.asked.filter(([text]) => text === once)).toHaveLength(1);
    });

    it('a second stage that cannot be asked refuses as a fault of the gateway, or lets pass, as declared', async () => {
      moderation.failing = true;
      onTestFinished(() => {
        moderation.failing = false;
      });
      const closed = await chat('What is a harbour?');
      expect(closed.status).toBe(500);
      expect(closed.headers.get('x-should-retry')).toBe('true');
      expect(await codeOf(closed)).toBe('internal_error');
      const open = await system().start('api', { MODERATION_FAIL_MODE: 'open' });
      const passed = await chat('What is a harbour?', `http://127.0.0.1:${open.port}/v1`);
      expect(passed.status).toBe(200);
      expect(open.logs().some(({ event }) => event === 'moderation_skipped')).toBe(true);
      expect(await open.stop()).toBe(0);
    });
  });

  describe('a prompt of token ids', () => {
    /** "Tell me about the breakwater." in o200k_base, as ids; it must be read like the text. */
    const TOKENS = [60751, 668, 1078, 290, 2338, 15373, 13];

    it('a prompt of token ids is screened as the text that it stands for', async () => {
      const refused = await post(system(), '/completions', {
        model: 'llama-3.1-8b',
        prompt: TOKENS,
      });
      expect(moderation.asked.at(-1)).toEqual(['Tell me about the breakwater.']);
      expect(refused.status).toBe(403);
    });
  });
}
