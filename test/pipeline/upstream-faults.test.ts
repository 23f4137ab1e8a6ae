import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { payloadsOf, post } from '../support/http.ts';
import { expectSigned, type Receipt } from '../support/receipts.ts';
import { startSystem, type System } from '../support/system.ts';
import { until } from '../support/until.ts';

let system: System;
let openai: OpenAI;
const MESSAGES = [{ role: 'user' as const, content: 'Tell me about the lighthouse.' }];

beforeAll(async () => {
  system = await startSystem();
  openai = new OpenAI({ baseURL: system.baseUrl, apiKey: system.key, maxRetries: 0 });
});

describe('an upstream over TCP', () => {
  const chat = (fault: string, rest: object = {}) =>
    post(
      system,
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

  it.each([1, 2, 3, 7])('may cut its frames at every %i bytes', async (bytes) => {
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
    'no-done',
    'no-finish',
    'huge-frame=300000',
  ])('may speak its stream as it likes: %s', async (fault) => {
    const payloads = await payloadsOf(await chat(fault, { stream: true }));
    expect(payloads.at(-1)).toBe('[DONE]');
    const { receipt } = JSON.parse(payloads.at(-2)!) as { receipt: Receipt };
    await expectSigned(system, receipt);
    expect(receipt.credentialSubject).toMatchObject({ outcome: 'complete', outputTokens: 6 });
  });

  it('may compress an answer that is not a stream', async () => {
    const { receipt } = (await (await chat('gzip')).json()) as { receipt: Receipt };
    expect(receipt.credentialSubject.outputTokens).toBe(6);
  });

  it('has its zero usage believed, and its absent usage counted', async () => {
    const zero = (await (await chat('usage=zero')).json()) as { receipt: Receipt };
    expect(zero.receipt.credentialSubject).toMatchObject({
      usageSource: 'upstream',
      inputTokens: 0,
      outputTokens: 0,
    });
    const absent = (await (await chat('usage=none')).json()) as { receipt: Receipt };
    expect(absent.receipt.credentialSubject).toMatchObject({
      usageSource: 'counted',
      outputTokens: 6,
    });
    const streamed = await payloadsOf(await chat('usage=none', { stream: true }));
    const { receipt } = JSON.parse(streamed.at(-2)!) as { receipt: Receipt };
    expect(receipt.credentialSubject).toMatchObject({ usageSource: 'counted', outputTokens: 6 });
  });

  it('may report its measured energy, which then stands on the receipt', async () => {
    const { receipt } = (await (await chat('joules=3600000')).json()) as { receipt: Receipt };
    expect(receipt.measurement!.dataQuality).toBe('T1');
    const energy = Number(receipt.measurement!.result[0]!.value);
    expect(energy).toBeGreaterThan(1);
    expect(energy).toBeLessThan(3);
  });

  it('is asked again when it fails before its first byte, and every attempt is counted', async () => {
    const response = await chat('status=503; fail-first=2; id=retry-me');
    const { receipt } = (await response.json()) as { receipt: Receipt };
    expect(receipt.credentialSubject.attempts).toBe(3);
  });

  it('that puts an error into the first frame of a good answer is asked again', async () => {
    const payloads = await payloadsOf(
      await chat('error-first; fail-first=1; id=first-frame', { stream: true }),
    );
    const { receipt } = JSON.parse(payloads.at(-2)!) as { receipt: Receipt };
    expect(receipt.credentialSubject).toMatchObject({ attempts: 2, outcome: 'complete' });
  });

  it('that dies in the middle leaves an error frame, no [DONE], and a truncated receipt', async () => {
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

  it('that always fails gives 502 with an envelope and no receipt', async () => {
    const response = await chat('status=500');
    expect(response.status).toBe(502);
    expect(response.headers.get('x-should-retry')).toBe('true');
    expect(await response.json()).toMatchObject({
      error: { type: 'inference_error', code: 'upstream_error' },
    });
  });

  it('that refuses the request gives the caller its reason as a 400', async () => {
    const response = await chat('status=400');
    expect(response.status).toBe(400);
    expect(response.headers.get('x-should-retry')).toBe('false');
    expect(await response.json()).toMatchObject({ error: { type: 'validation_error' } });
  });
});

async function outcomeOf(id: string): Promise<string | null> {
  const { rows } = await system.database.pool.query<{ outcome: string }>(
    'SELECT outcome FROM ledger_body WHERE entry_id = $1',
    [id],
  );
  return rows[0]?.outcome ?? null;
}

/** A field of the sandbox, passed through like any other that the SDK does not know. */
const fault = (text: string): object => ({ sandbox_fault: text });

describe('a client that leaves', () => {
  const stats = async () =>
    (await (await fetch(`${system.sandboxUrl}/sandbox/stats`)).json()) as {
      aborted: number;
      in_flight: number;
    };

  it.each([0, 1, 3])(
    'after %i frames stops the upstream and still gets a partial receipt',
    async (frames) => {
      const before = await stats();
      const abort = new AbortController();
      const stream = await openai.chat.completions.create(
        {
          model: 'llama-3.1-8b',
          messages: MESSAGES,
          max_tokens: 10_000,
          stream: true,
          ...fault('pace=50'),
        },
        { signal: abort.signal },
      );
      let seen = 0;
      const read = (async () => {
        for await (const _ of stream) {
          seen += 1;
          if (seen > frames) break;
        }
      })();
      await read.catch(() => {});
      abort.abort();
      await until(async () => (await stats()).aborted > before.aborted);
      await until(async () => (await latestOutcome()) === 'partial');
    },
  );

  async function latestOutcome(): Promise<string> {
    const { rows } = await system.database.pool.query<{ outcome: string }>(
      'SELECT outcome FROM ledger_body ORDER BY entry_id DESC LIMIT 1',
    );
    return rows[0]!.outcome;
  }

  it('before an answer that is no stream stops the upstream too', async () => {
    const before = await stats();
    const abort = new AbortController();
    const request = openai.chat.completions.create(
      {
        model: 'llama-3.1-8b',
        messages: MESSAGES,
        ...fault('stall=60000'),
      },
      { signal: abort.signal },
    );
    await until(async () => (await stats()).in_flight > before.in_flight);
    abort.abort();
    await expect(request).rejects.toThrow();
    await until(async () => (await stats()).aborted > before.aborted);
  });
});
