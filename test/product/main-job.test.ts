import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { verifyReceipt } from '#cli/verify/library.ts';
import { digestOf, expectSigned, idOf, integrated, type Receipt } from '#test/support/receipts.ts';
import { payloadsOf, post } from '#test/support/http.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { exchange } from '#test/support/raw-http.ts';
import { joinProduct } from '#test/support/product.ts';
import type { Product } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

type WithReceipt<T> = T & { receipt: Receipt };

let system: Product;
let openai: OpenAI;
/** A field of the sandbox: generate exactly `max_tokens`. */
const EXACT: object = { ignore_eos: true };
const MESSAGES = [{ role: 'user' as const, content: 'Tell me about the lighthouse.' }];

beforeAll(async () => {
  system = await joinProduct();
  openai = new OpenAI({ baseURL: system.baseUrl, apiKey: system.key, maxRetries: 0 });
});

describe('the stock OpenAI SDK with another base URL and key', () => {
  it('a chat completion comes with a signed receipt that is already committed [operations.client, receipts.committed]', async () => {
    const completion = (await openai.chat.completions.create({
      model: 'llama-3.1-8b',
      messages: MESSAGES,
      max_tokens: 12,
      ...EXACT,
    })) as WithReceipt<OpenAI.ChatCompletion>;
    expect(completion.choices[0]!.message.content).not.toBe('');
    const { receipt } = completion;
    await expectSigned(system, receipt);
    expect(receipt.tier).toBe('enterprise');
    expect(receipt.measurement!.result.map(({ quantityKind }) => quantityKind)).toEqual([
      'energy',
      'gwp',
      'water',
      'adpe',
      'adpf',
    ]);
    expect(receipt.credentialSubject).toMatchObject({
      outcome: 'complete',
      usageSource: 'upstream',
      inputTokens: completion.usage!.prompt_tokens,
      outputTokens: completion.usage!.completion_tokens,
    });
    const { rows } = await system.database.pool.query<{ body: Buffer }>(
      'SELECT body FROM ledger_body WHERE entry_id = $1',
      [idOf(receipt)],
    );
    expect(JSON.parse(rows[0]!.body.toString())).toEqual(receipt);
  });

  it('the last chunk of a stream with a finish reason carries the receipt [operations.endpoints]', async () => {
    const stream = await openai.chat.completions.create({
      model: 'llama-3.1-8b',
      messages: MESSAGES,
      max_tokens: 12,
      ...EXACT,
      stream: true,
    });
    const chunks: WithReceipt<OpenAI.ChatCompletionChunk>[] = [];
    for await (const chunk of stream) chunks.push(chunk as WithReceipt<OpenAI.ChatCompletionChunk>);
    expect(chunks.every(({ choices }) => choices.length > 0)).toBe(true);
    expect(chunks.every((chunk) => !('usage' in chunk))).toBe(true);
    expect(chunks.slice(0, -1).every((chunk) => !('receipt' in chunk))).toBe(true);
    const last = chunks.at(-1)!;
    expect(last.choices[0]!.finish_reason).toBe('length');
    await expectSigned(system, last.receipt);
    expect(last.receipt.credentialSubject).toMatchObject({
      outcome: 'complete',
      outputTokens: 12,
    });
  });

  it('the usage chunk carries the receipt when usage was asked for', async () => {
    const stream = await openai.chat.completions.create({
      model: 'llama-3.1-8b',
      messages: MESSAGES,
      max_tokens: 5,
      ...EXACT,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: WithReceipt<OpenAI.ChatCompletionChunk>[] = [];
    for await (const chunk of stream) chunks.push(chunk as WithReceipt<OpenAI.ChatCompletionChunk>);
    const last = chunks.at(-1)!;
    expect(last.choices).toEqual([]);
    expect(last.usage!.completion_tokens).toBe(5);
    await expectSigned(system, last.receipt);
    expect(chunks.filter((chunk) => 'receipt' in chunk)).toHaveLength(1);
    expect(chunks.at(-2)!.choices[0]!.finish_reason).toBe('length');
  });

  it('legacy completions and embeddings come with receipts [operations.endpoints]', async () => {
    const completion = (await openai.completions.create({
      model: 'llama-3.1-8b',
      prompt: 'The sea',
      max_tokens: 4,
      ...EXACT,
    })) as WithReceipt<OpenAI.Completion>;
    expect(completion.object).toBe('text_completion');
    await expectSigned(system, completion.receipt);
    const { data } = await openai.models.list();
    const embedder = data.find((model) =>
      (model as unknown as { kinds: string[] }).kinds.includes('embedding'),
    )!;
    const embeddings = (await openai.embeddings.create({
      model: embedder.id,
      input: ['harbour', 'garden'],
    })) as WithReceipt<OpenAI.CreateEmbeddingResponse>;
    expect(embeddings.data.map(({ embedding }) => embedding.length)).toEqual([1024, 1024]);
    await expectSigned(system, embeddings.receipt);
    expect(embeddings.receipt.credentialSubject.outputTokens).toBe(0);
  });

  it('models are listed, and one is read back [operations.models]', async () => {
    const { data } = await openai.models.list();
    expect(data.map(({ id }) => id)).toContain('llama-3.1-8b');
    const model = await openai.models.retrieve('llama-3.1-8b');
    expect(model).toMatchObject({
      id: 'llama-3.1-8b',
      object: 'model',
      created: expect.any(Number) as number,
    });
  });
});

describe('a receipt', () => {
  it('a receipt states digests that any reader can recompute from the request and the answer [receipts.digests]', async () => {
    const body = JSON.stringify({
      model: 'llama-3.1-8b',
      messages: MESSAGES,
      max_tokens: 8,
      ...EXACT,
    });
    const text = await (await post(system, '/chat/completions', body)).text();
    const { receipt } = JSON.parse(text) as { receipt: Receipt };
    const at = text.indexOf(',"receipt":');
    const answer = `${text.slice(0, at)}}`;
    expect(receipt.credentialSubject.requestDigest).toBe(digestOf(receipt, body));
    expect(receipt.credentialSubject.responseDigest).toBe(digestOf(receipt, answer));
  });

  it('a receipt states the digest of a stream’s payloads as they were sent [receipts.digests]', async () => {
    const body = JSON.stringify({
      model: 'llama-3.1-8b',
      messages: MESSAGES,
      max_tokens: 8,
      ...EXACT,
      stream: true,
    });
    const payloads = await payloadsOf(await post(system, '/chat/completions', body));
    expect(payloads.at(-1)).toBe('[DONE]');
    const carrier = payloads.at(-2)!;
    const { receipt } = JSON.parse(carrier) as { receipt: Receipt };
    const sent = [...payloads.slice(0, -2), `${carrier.slice(0, carrier.indexOf(',"receipt":'))}}`];
    expect(receipt.credentialSubject.responseDigest).toBe(digestOf(receipt, sent.join('')));
  });

  it('a receipt can be read again as its exact bytes, gets into the ledger, and fsck finds nothing [operations.receipts, codes.proof_not_ready, evidence.cose]', async () => {
    const response = await post(
      system,
      '/chat/completions',
      JSON.stringify({ model: 'llama-3.1-8b', messages: MESSAGES, max_tokens: 3, ...EXACT }),
    );
    const id = response.headers.get('x-receipt-id')!;
    const text = await response.text();
    const get = (path: string) =>
      fetch(`${system.baseUrl}${path}`, { headers: { authorization: `Bearer ${system.key}` } });
    const stored = await (await get(`/receipts/${id}`)).text();
    expect(text.endsWith(`,"receipt":${stored}}`)).toBe(true);
    await until(async () => (await get(`/receipts/${id}/proof`)).status === 200);
    await integrated(system);
    const fsck = await runDocket(['ledger', 'fsck', '--json'], {
      DATABASE_URL: system.database.url,
      REDIS_URL: system.redis.url,
    });
    expect(fsck.code).toBe(0);
    // A log of one entry has no COSE receipt.
    await post(system, '/embeddings', JSON.stringify({ model: 'qwen3-embedding-8b', input: 'a' }));
    const cose = (): Promise<Response> => get(`/receipts/${id}/cose`);
    await until(async () => (await cose()).status === 200);
    const didJson = await (await fetch(`${system.root}/.well-known/did.json`)).text();
    const directory = mkdtempSync(join(tmpdir(), 'docket-cose-'));
    const [file, receipt, trust] = ['x.cose', 'receipt.json', 'did.json'].map((name) =>
      join(directory, name),
    ) as [string, string, string];
    try {
      writeFileSync(file, await (await cose()).bytes());
      writeFileSync(receipt, stored);
      writeFileSync(trust, didJson);
      const args = ['verify', file, '--receipt', receipt, '--trust', trust];
      expect(await runDocket(args, {})).toMatchObject({ code: 0 });
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it('`docket verify` finds a receipt good offline, and bad once a byte is changed', async () => {
    const { receipt } = (await openai.chat.completions.create({
      model: 'llama-3.1-8b',
      messages: MESSAGES,
      max_tokens: 3,
      ...EXACT,
    })) as WithReceipt<OpenAI.ChatCompletion>;
    const env = { SIGNING_KEYS_DIR: system.signingKeysDir, PUBLIC_URL: 'https://docket.example' };
    const good = await runDocket(['verify', '-'], env, JSON.stringify(receipt));
    expect(good.code).toBe(0);
    const changed = JSON.stringify(receipt).replace('"outputTokens":3', '"outputTokens":2');
    expect((await runDocket(['verify', '-'], env, changed)).code).not.toBe(0);
  });

  it.each([
    ['/chat/completions', { messages: MESSAGES }],
    ['/completions', { prompt: 'Tell me' }],
    ['/responses', { input: 'Tell me' }],
    ['/embeddings', { input: 'Tell me', model: 'qwen3-embedding-8b' }],
  ])(
    'an answer of %s and its request are those of the receipt, streamed too, and altered they are not [receipts.digests]',
    async (path, body) => {
      const didJson = await (await fetch(`${system.root}/.well-known/did.json`)).text();
      const trust = { didJson, source: 'did.json', isChosen: true };
      for (const stream of path === '/embeddings' ? [undefined] : [undefined, true]) {
        const request = JSON.stringify({ model: 'llama-3.1-8b', ...body, stream });
        const answer = await (await post(system, path, request)).text();
        const judged = await verifyReceipt(answer, { trust, request });
        expect(judged.report).toMatchObject({ code: 'good', answer: 'same', request: 'same' });
        // The object’s own kind, which every answer states, and in a stream its last event.
        const altered = answer.replace(/(.*)"object":"\w/s, '$1"object":"X');
        expect(altered).not.toBe(answer);
        const report = (await verifyReceipt(altered, { trust, request: `${request} ` })).report;
        expect(report).toMatchObject({ code: 'answer_differs', request: 'same' });
        if (stream === true) continue;
        const again = JSON.stringify(JSON.parse(answer), null, 2);
        expect((await verifyReceipt(again, { trust })).report).toMatchObject({ answer: 'same' });
      }
    },
  );

  it('a receipt is degraded, signed and says why when the model’s size is not known [receipts.degraded, errors.completion-kept]', async () => {
    const { receipt } = (await openai.chat.completions.create({
      model: 'sandbox-unsized',
      messages: MESSAGES,
      max_tokens: 3,
      ...EXACT,
    })) as WithReceipt<OpenAI.ChatCompletion>;
    await expectSigned(system, receipt);
    expect(receipt.tier).toBe('degraded');
    expect(receipt.degradation).toMatchObject({ stage: 'model', code: 'model_size_unknown' });
    expect(receipt.explanation).toMatch(/\w+ .*\.$/);
    expect(receipt).not.toHaveProperty('measurement');
  });

  it('a methodology that fails is an error when the caller requires a receipt [codes.receipt_generation_failed]', async () => {
    const response = await post(
      system,
      '/chat/completions',
      JSON.stringify({ model: 'sandbox-unsized', messages: MESSAGES, receipt: 'required' }),
    );
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      error: { type: 'methodology_error', code: 'receipt_generation_failed' },
    });
  });
});

it('docket last shows the newest receipts of a key, and of no other, with what the SDK’s environment says [operations.receipts]', async () => {
  const created = await post(system, '/keys', JSON.stringify({ name: 'of an agent' }));
  const { key } = (await created.json()) as { key: string };
  const env = { OPENAI_BASE_URL: system.baseUrl, OPENAI_API_KEY: key };
  const last = (...args: string[]) => runDocket(['last', ...args], env);
  expect(await last()).toMatchObject({ code: 0, stdout: 'No receipt of this key yet.\n' });
  const ids: string[] = [];
  for (const apiKey of [key, system.key, key]) {
    const client = new OpenAI({ baseURL: system.baseUrl, apiKey });
    const { receipt } = (await client.chat.completions.create({
      model: 'llama-3.1-8b',
      messages: MESSAGES,
      max_tokens: 4,
      ...EXACT,
    })) as WithReceipt<OpenAI.ChatCompletion>;
    if (apiKey === key) ids.unshift(idOf(receipt));
  }
  const { code, stdout } = await last();
  expect(code).toBe(0);
  const [head, ...rows] = stdout.trimEnd().split('\n');
  expect(head).toMatch(/^time +model +outcome +in +out +emissions +receipt$/);
  expect(rows.map((row) => row.split(/ +/).at(-1))).toEqual(ids);
  expect(rows[0]).toMatch(/^\d{4}-\S+:\d\dZ +llama-3\.1-8b +complete +\d+ +4 +[\d.]+ \S+ CO₂e \[/);
  const one = await last('-n', '1', '--json');
  expect((JSON.parse(one.stdout) as Receipt[]).map(idOf)).toEqual(ids.slice(0, 1));

  for (const [args, given, words] of [
    [['-n', '0'], env, '--number must be a whole number from 1 to 100'],
    [[], { OPENAI_API_KEY: key }, 'OPENAI_BASE_URL'],
    [[], { OPENAI_BASE_URL: system.baseUrl }, 'OPENAI_API_KEY'],
    [[], { ...env, OPENAI_API_KEY: `${key}x` }, 'invalid_api_key'],
    [['--url', 'http://127.0.0.1:1/v1'], env, 'http://127.0.0.1:1 does not answer'],
    [['--url', 'none'], env, '--url'],
    [['--url', new URL(system.baseUrl).origin], env, `try ${system.baseUrl}.`],
  ] as const) {
    const refused = await runDocket(['last', ...args], given);
    expect([refused.code, refused.stdout]).toEqual([1, '']);
    expect(refused.stderr).toMatch(/^docket: [^\n]+\n$/);
    expect(refused.stderr).toContain(words);
  }
});

it('a client that closes its side after a chat request gets its answer with a receipt [errors.half-closed]', async () => {
  const body = JSON.stringify({
    model: 'llama-3.1-8b',
    messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
    max_tokens: 4,
  });
  const head = [
    'POST /v1/chat/completions HTTP/1.1',
    'host: x',
    `authorization: Bearer ${system.key}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  const port = Number(new URL(system.baseUrl).port);
  const [answer] = await exchange(port, [`${head.join('\r\n')}\r\n\r\n${body}`], {
    hangUp: true,
  });
  expect(answer?.status).toBe(200);
  expect(JSON.parse(answer!.text)).toHaveProperty('receipt.proof');
});
