import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import {
  chatBody,
  post as sendChat,
  requestIdOf,
  type SandboxCall,
  upstreamCalls,
} from '#test/support/calls.ts';
import { payloadsOf, post } from '#test/support/http.ts';
import { expectSigned, issuedReceipt, type Receipt } from '#test/support/receipts.ts';
import type { System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';
import { MODELS } from './catalogue.ts';

const MESSAGES = [{ role: 'user' as const, content: 'Tell me about the lighthouse.' }];

/** What an upstream may do wrong, and clients that leave. */
export function upstreamFaults(system: () => System): void {
  describe('an upstream over TCP', () => {
    const chat = (fault: string, rest: object = {}) =>
      post(
        system(),
        '/chat/completions',
        JSON.stringify({
          model: 'llama-3.1-8b',
          messages: MESSAGES,
          max_tokens: 6,
          ignore_eos: true,
          sandbox_fault: fault,
          ...rest,
        }),
      );

    it.each([1, 2, 3, 7])('an upstream may cut its frames at every %i bytes', async (bytes) => {
      const say = 'Grüße aus dem Leuchtturm 🌊';
      const payloads = await payloadsOf(
        await chat(JSON.stringify({ drip: bytes, say }), { stream: true, max_tokens: 50 }),
      );
      const text = payloads
        .slice(0, -1)
        .map(
          (payload) =>
            (JSON.parse(payload) as OpenAI.ChatCompletionChunk).choices[0]!.delta.content ?? '',
        )
        .join('');
      expect(text).toBe(say);
      const { receipt } = JSON.parse(payloads.at(-2)!) as { receipt: Receipt };
      expect(receipt.credentialSubject).toMatchObject({
        usageSource: 'upstream',
        outcome: 'complete',
      });
      expect(receipt.credentialSubject.outputTokens).toBeGreaterThan(0);
    });

    it.each([
      'ping',
      'eol=cr',
      'eol=crlf',
      'multiline',
      'gzip',
      'gzip; drip=1',
      'ping; eol=crlf; multiline; drip=3',
      'no-done',
      'huge-frame=300000',
    ])('an upstream may frame its stream in any legal way: %s', async (fault) => {
      const payloads = await payloadsOf(await chat(fault, { stream: true }));
      expect(payloads.at(-1)).toBe('[DONE]');
      const { receipt } = JSON.parse(payloads.at(-2)!) as { receipt: Receipt };
      await expectSigned(system(), receipt);
      expect(receipt.credentialSubject).toMatchObject({ outcome: 'complete', outputTokens: 6 });
    });

    it('an upstream that says [DONE] of an answer that it did not finish has not finished it', async () => {
      const response = await chat('no-finish', { stream: true });
      const payloads = await payloadsOf(response);
      const last = JSON.parse(payloads.at(-1)!) as { error: { code: string } };
      expect(last.error.code).toBe('upstream_error');
      const id = response.headers.get('x-receipt-id')!;
      await until(async () => (await outcomeOf(id)) === 'truncated');
      const whole = (await (await chat('no-finish')).json()) as { receipt: Receipt };
      await expectSigned(system(), whole.receipt);
      expect(whole.receipt.credentialSubject.outcome).toBe('truncated');
    });

    it('an upstream may compress an answer that is not a stream', async () => {
      const { receipt } = (await (await chat('gzip')).json()) as { receipt: Receipt };
      expect(receipt.credentialSubject.outputTokens).toBe(6);
    });

    it('usage that is absent, or zero for an answer that is not empty, is counted, and the client reads what the receipt says', async () => {
      for (const fault of ['usage=zero; say=one two three', 'usage=none; say=one two three']) {
        const { receipt, usage } = (await (await chat(fault)).json()) as {
          receipt: Receipt;
          usage: { prompt_tokens: number };
        };
        const { usageSource, inputTokens, outputTokens } = receipt.credentialSubject;
        expect({ usageSource, outputTokens }).toEqual({ usageSource: 'counted', outputTokens: 3 });
        expect(usage).toMatchObject({ prompt_tokens: inputTokens, completion_tokens: 3 });
      }
      const absent = (await (await chat('usage=none; say=one two three four five six')).json()) as {
        receipt: Receipt;
        usage: object;
      };
      expect(absent.receipt.credentialSubject).toMatchObject({
        usageSource: 'counted',
        outputTokens: 6,
      });
      expect(absent.usage).toMatchObject({ completion_tokens: 6, source: 'counted' });
      const streamed = await payloadsOf(
        await chat('usage=none; say=one two three four five six', { stream: true }),
      );
      const { receipt } = JSON.parse(streamed.at(-2)!) as { receipt: Receipt };
      expect(receipt.credentialSubject).toMatchObject({ usageSource: 'counted', outputTokens: 6 });
    });

    it('the energy that an upstream states of itself is used within the bounds of physics, and the receipt says which it broke', async () => {
      const stating = async (joules: string) => {
        const { receipt } = (await (await chat(`joules=${joules}`)).json()) as { receipt: Receipt };
        const { dataQuality, result, used } = receipt.measurement!;
        const { stated_beyond: beyond } = used[0]!.record;
        return { dataQuality, beyond, kwh: Number(result[0]!.value) };
      };
      const within = await stating('20');
      expect(within).toMatchObject({ dataQuality: 'TS', beyond: undefined });
      expect(within.kwh).toBeGreaterThan(20 / 3_600_000);
      expect(within.kwh).toBeLessThan(60 / 3_600_000);
      for (const joules of ['0', '0.000001', '3600000']) {
        const { dataQuality, beyond } = await stating(joules);
        expect([dataQuality, beyond]).toEqual([
          'T3',
          joules === '3600000' ? 'full_power' : 'token_energy',
        ]);
      }
    });

    it('an upstream that fails before its first byte is asked again, and every call is counted [survives.upstream-before]', async () => {
      const response = await chat('status=503; fail-first=1; id=retry-me');
      const { receipt } = (await response.json()) as { receipt: Receipt };
      expect(receipt.credentialSubject.attempts).toBe(2);
    });

    it('an upstream that puts an error into the first frame of a good answer is asked again', async () => {
      const payloads = await payloadsOf(
        await chat('error-first; fail-first=1; id=first-frame', { stream: true }),
      );
      const { receipt } = JSON.parse(payloads.at(-2)!) as { receipt: Receipt };
      expect(receipt.credentialSubject).toMatchObject({ attempts: 2, outcome: 'complete' });
    });

    it('an upstream that dies in the middle leaves an error frame, no [DONE], and a truncated receipt [survives.upstream-within]', async () => {
      for (const cut of ['reset', 'close', 'end']) {
        const response = await chat(`cut=${cut}; cut-after=3`, { stream: true });
        const payloads = await payloadsOf(response);
        const last = JSON.parse(payloads.at(-1)!) as { error: { type: string; code: string } };
        expect(last.error).toMatchObject({ type: 'inference_error', code: 'upstream_error' });
        const id = response.headers.get('x-receipt-id')!;
        await until(async () => (await outcomeOf(id)) !== null);
        expect(await outcomeOf(id)).toBe('truncated');
      }
    });

    it('an upstream that always fails gives 502 with an envelope, and a receipt that says so [codes.upstream]', async () => {
      const response = await chat('status=500');
      expect(response.status).toBe(502);
      expect(response.headers.get('x-should-retry')).toBe('true');
      expect(await response.json()).toMatchObject({
        error: { type: 'inference_error', code: 'upstream_error' },
      });
      const id = response.headers.get('x-receipt-id')!;
      const { credentialSubject } = await issuedReceipt(system(), id);
      expect(credentialSubject).toMatchObject({ outcome: 'failed', failure: 'upstream_error' });
    });

    it.each([
      [MODELS.slow, { outcome: 'failed', failure: 'upstream_timeout', attempts: 1 }],
      [MODELS.nowhere, null],
    ] as const)(
      'an upstream that is too slow was called, and one that takes no connection was not: %s [receipts.failed]',
      async (model, subject) => {
        const response = await chat('stall=60000', { model });
        expect(response.status).toBeGreaterThanOrEqual(500);
        const id = response.headers.get('x-receipt-id');
        if (subject === null) return expect(id).toBeNull();
        const { credentialSubject } = await issuedReceipt(system(), id!);
        expect(credentialSubject).toMatchObject(subject);
      },
    );

    it('an upstream that refuses the request gives the caller its reason as a 400', async () => {
      const response = await chat('status=400');
      expect(response.status).toBe(400);
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(await response.json()).toMatchObject({ error: { type: 'validation_error' } });
    });
  });

  async function outcomeOf(id: string): Promise<string | null> {
    const { rows } = await system().database.pool.query<{ outcome: string }>(
      'SELECT outcome FROM ledger_body WHERE entry_id = $1',
      [id],
    );
    return rows[0]?.outcome ?? null;
  }

  describe('a client that leaves', () => {
    let left = 0;

    /** Sends a request, waits until the upstream works on it, leaves, and returns its receipt's id once the upstream was stopped. */
    async function leave(rest: object, frames: number | null): Promise<string> {
      left += 1;
      const name = `left-${left}`;
      const abort = new AbortController();
      const body = chatBody({ max_tokens: 10_000, ...rest });
      body['sandbox_fault'] = `id=${name}; ${String(body['sandbox_fault'])}`;
      const answer = sendChat(system(), '/chat/completions', body, { signal: abort.signal });
      if (frames === null) {
        await until(async () => (await upstreamCalls(system(), name)).length === 1);
      } else {
        const reader = (await answer).body!.getReader();
        for (let seen = 0; seen <= frames; seen += 1) await reader.read();
      }
      abort.abort();
      await answer.catch(() => {});
      const [call] = await untilAborted(name);
      return requestIdOf(call!).replace('req_', 'rcpt_');
    }

    async function untilAborted(name: string): Promise<SandboxCall[]> {
      let calls: SandboxCall[] = [];
      await until(async () => {
        calls = await upstreamCalls(system(), name);
        return calls[0]?.state === 'aborted';
      }, 'the upstream sees the abort');
      return calls;
    }

    it.each([0, 1, 2, 3, 5, 8])(
      'a client that leaves after frame %i stops the upstream, and the receipt is partial [survives.client]',
      async (frames) => {
        const receiptId = await leave({ stream: true, sandbox_fault: 'pace=50' }, frames);
        await until(async () => (await outcomeOf(receiptId)) !== null, 'the receipt is there');
        expect(await outcomeOf(receiptId)).toBe('partial');
        await until(async () => {
          const { rowCount } = await system().database.pool.query(
            'select from ledger_entry where entry_id = $1',
            [receiptId],
          );
          return rowCount === 1;
        }, 'the ledger has it');
      },
    );

    it.each([
      ['a stream whose first byte has not come', { stream: true }],
      ['an answer that is no stream', {}],
    ])('a client that leaves before %s stops the upstream', async (_what, rest) => {
      const receiptId = await leave({ ...rest, sandbox_fault: 'stall=60000' }, null);
      await until(async () => (await outcomeOf(receiptId)) !== null, 'the receipt is there');
      expect(await outcomeOf(receiptId)).toBe('partial');
    });
  });
}
