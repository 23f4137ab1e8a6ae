import OpenAI from 'openai';
import { CursorPage } from 'openai/pagination';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { chatBody, upstreamCalls } from '#test/support/calls.ts';
import { startCuttingProxy } from '#test/support/cutting-proxy.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { expectSigned, idOf, type Receipt } from '#test/support/receipts.ts';
import { joinProduct } from '#test/support/product.ts';
import { until } from '#test/support/until.ts';

type Chat = OpenAI.ChatCompletionCreateParamsNonStreaming;
type ChatStream = OpenAI.ChatCompletionCreateParamsStreaming;
type WithReceipt<T> = T & { receipt: Receipt };

const system = await joinProduct({ faults: true });

interface Watched {
  openai: OpenAI;
  /** The result of each attempt of the SDK: a status, or the name of an error. */
  attempts: (number | string)[];
  /** What answers said of how long to wait. */
  retryAfterMs: number[];
}

/** The SDK as it comes, but for a `fetch` that counts. */
function watched(options: ConstructorParameters<typeof OpenAI>[0] = {}): Watched {
  const attempts: (number | string)[] = [];
  const retryAfterMs: number[] = [];
  const openai = new OpenAI({
    baseURL: system.baseUrl,
    apiKey: system.key,
    fetch: async (url, init) => {
      try {
        const response = await fetch(url, init);
        attempts.push(response.status);
        const wait = response.headers.get('retry-after-ms');
        if (wait !== null) retryAfterMs.push(Number(wait));
        return response;
      } catch (error) {
        attempts.push((error as Error).name);
        throw error;
      }
    },
    ...options,
  });
  return { openai, attempts, retryAfterMs };
}

const body = (rest: object = {}) => chatBody(rest) as unknown as Chat;
const streamed = (rest: object = {}) =>
  chatBody({ stream: true, ...rest }) as unknown as ChatStream;

const caught = (call: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> =>
  Promise.resolve(call).then(
    () => expect.unreachable('it did not fail'),
    (error: unknown) => error as InstanceType<typeof OpenAI.APIError>,
  );

/** Receipts in the newest hundred entries of the organisation's ledger. */
async function entriesOf(openai: OpenAI): Promise<string[]> {
  const { data } = await openai.get<{ data: { receipt_id: string }[] }>('/ledger/entries', {
    query: { limit: 100 },
  });
  return data.map(({ receipt_id }) => receipt_id);
}

describe('errors', () => {
  it.each([
    ['BadRequestError', 400, { temperature: 3 }],
    ['InternalServerError', 503, { region: 'ap-south' }],
    ['InternalServerError', 502, { sandbox_fault: 'status=503' }],
  ] as const)(
    'an error has the class of its status, with message, type, param, code and request id: %s [clients.error-classes]',
    async (name, status, rest) => {
      const error = await caught(
        watched({ maxRetries: 0 }).openai.chat.completions.create(body(rest)),
      );
      expect(error).toBeInstanceOf(OpenAI[name]);
      expect(error.status).toBe(status);
      expect(error.requestID).toMatch(/^req_/);
      expect(typeof error.code).toBe('string');
      expect(typeof error.type).toBe('string');
      expect([null, 'temperature']).toContain(error.param);
      expect(error.message).not.toContain('(no body)');
    },
  );

  it('errors of the framework have the envelope, so that no client prints "404 status code (no body)" [clients.no-empty-body]', async () => {
    const error = await caught(watched().openai.get('/nowhere'));
    expect(error).toBeInstanceOf(OpenAI.NotFoundError);
    expect(error.message).toBe('404 There is nothing at this address.');
  });
});

describe('retries', () => {
  it('a permanent condition is not tried again: 400, 401, 403, 404, and a 503 that says so [errors.auth, clients.retries]', async () => {
    const { openai, attempts } = watched();
    await caught(openai.chat.completions.create(body({ model: 'none' })));
    await caught(openai.withOptions({ apiKey: 'nonsense' }).models.list());
    await caught(openai.models.retrieve('none'));
    await caught(openai.chat.completions.create(body({ region: 'ap-south' })));
    expect(attempts).toEqual([400, 401, 404, 503]);
  });

  it('a 502 is tried again once, and then answered [errors.inference, clients.retries]', async () => {
    // The gateway itself asks the region's endpoints before it gives up; without the pin, other regions too.
    const { openai, attempts } = watched();
    await openai.chat.completions.create(
      body({ region: 'eu-west', sandbox_fault: 'status=500; fail-first=2; id=sdk-502' }),
    );
    expect(attempts).toEqual([502, 200]);
  });

  it('a retry after a 429 waits for retry-after-ms, no longer and no shorter [codes.requests_per_second_exceeded, clients.retries]', async () => {
    const organisation = await newOrganisation(system, { requestsPerSecond: 1, burst: 1 });
    const { openai, attempts, retryAfterMs } = watched({ apiKey: await organisation.newKey() });
    const timers = vi.spyOn(globalThis, 'setTimeout');
    onTestFinished(() => timers.mockRestore());
    await Promise.all([1, 2].map(() => openai.chat.completions.create(body())));
    expect(attempts.filter((status) => status === 429)).toHaveLength(1);
    expect(attempts).toHaveLength(3);
    expect(timers.mock.calls.map(([, ms]) => ms)).toContain(retryAfterMs[0]);
  });

  it('a used-up daily budget is not tried again, though the SDK believes no wait that long [clients.long-waits]', async () => {
    const organisation = await newOrganisation(system, { requestsPerDay: 1 });
    const { openai, attempts } = watched({ apiKey: await organisation.newKey() });
    await openai.chat.completions.create(body());
    const error = await caught(openai.chat.completions.create(body()));
    expect(error).toMatchObject({ status: 429, code: 'daily_budget_exceeded' });
    expect(attempts).toEqual([200, 429]);
  });
});

describe('idempotency', () => {
  it('with an Idempotency-Key header, a dropped connection leaves one upstream call and one receipt [idempotency.replay]', async () => {
    const proxy = await startCuttingProxy(system.baseUrl, 2);
    const { openai, attempts } = watched({ baseURL: proxy.baseUrl });
    const { data, response } = await openai.chat.completions
      .create(body({ sandbox_fault: 'id=dropped' }), {
        headers: { 'Idempotency-Key': 'dropped' },
      })
      .withResponse();
    expect(attempts).toEqual(['TypeError', 'TypeError', 200]);
    expect(proxy.cuts()).toBe(2);
    expect(response.headers.get('idempotent-replayed')).toBe('true');
    expect(await upstreamCalls(system, 'dropped')).toHaveLength(1);
    const { receipt } = data as WithReceipt<typeof data>;
    expect(response.headers.get('x-receipt-id')).toBe(idOf(receipt));
    await expectSigned(system, receipt);
    const entries = async () => (await entriesOf(openai)).filter((id) => id === idOf(receipt));
    await until(async () => (await entries()).length > 0);
    expect(await entries()).toHaveLength(1);
  });

  it('the SDK’s idempotencyKey option sends nothing [clients.idempotency-header]', async () => {
    const { openai } = watched();
    const ids = await Promise.all(
      [1, 2].map(async () => {
        const call = openai.chat.completions.create(body(), { idempotencyKey: 'same' });
        return (await call.asResponse()).headers.get('x-receipt-id');
      }),
    );
    expect(ids[0]).not.toBe(ids[1]);
  });
});

describe('timeouts and aborts', () => {
  it('a timeout of the SDK is an APIConnectionTimeoutError, and stops the upstream [clients.aborts]', async () => {
    const { openai, attempts } = watched({ maxRetries: 0, timeout: 400 });
    const error = await caught(
      openai.chat.completions.create(body({ sandbox_fault: 'id=timeout; stall=60000' })),
    );
    expect(error).toBeInstanceOf(OpenAI.APIConnectionTimeoutError);
    expect(attempts).toEqual(['AbortError']);
    await until(async () => (await upstreamCalls(system, 'timeout'))[0]?.state === 'aborted');
  });

  it('an abort is an APIUserAbortError, and stops the upstream [clients.aborts]', async () => {
    const abort = new AbortController();
    const { openai } = watched();
    const call = caught(
      openai.chat.completions.create(body({ sandbox_fault: 'id=abort; stall=60000' }), {
        signal: abort.signal,
      }),
    );
    await until(async () => (await upstreamCalls(system, 'abort')).length === 1);
    abort.abort();
    expect(await call).toBeInstanceOf(OpenAI.APIUserAbortError);
    await until(async () => (await upstreamCalls(system, 'abort'))[0]?.state === 'aborted');
  });

  it('`break` in a loop over chunks stops the upstream [clients.aborts]', async () => {
    const { openai } = watched();
    const fault = 'id=break; pace=100';
    let seen = '';
    for await (const chunk of await openai.chat.completions.create(
      streamed({ max_tokens: 5_000, sandbox_fault: fault }),
    )) {
      seen += chunk.choices[0]!.delta.content ?? '';
      if (seen !== '') break;
    }
    expect(seen).not.toBe('');
    await until(async () => (await upstreamCalls(system, 'break'))[0]?.state === 'aborted');
  });
});

describe('lists', () => {
  it('models have id, object, created and owned_by, and their ids may hold slashes [operations.models]', async () => {
    const { openai } = watched();
    for await (const model of openai.models.list()) {
      expect(model).toMatchObject({
        id: expect.any(String) as string,
        object: 'model',
        created: expect.any(Number) as number,
        owned_by: expect.any(String) as string,
      });
      expect((await openai.models.retrieve(model.id)).id).toBe(model.id);
    }
    const error = await caught(openai.models.retrieve('a/b/c'));
    expect(error).toMatchObject({ status: 404, code: 'model_not_found' });
  });

  it('the `model` of every answer is the id that the catalogue and /v1/models have, not its upstream’s name for it [operations.models]', async () => {
    const { openai } = watched();
    const named = { model: 'llama-3.1-8b', sandbox_fault: 'id=named' };
    const { model } = named;
    const vector = { ...named, model: 'bge-m3', input: 'Tell me.' };
    const chat = await openai.chat.completions.create(body(named));
    const answers = [
      [model, chat],
      [model, await openai.completions.create({ ...named, prompt: 'Tell me.' })],
      [model, await openai.responses.create({ ...named, input: 'Tell me.' })],
      [vector.model, await openai.embeddings.create(vector)],
    ] as const;
    for (const [asked, answer] of answers) expect(answer.model).toBe(asked);
    for await (const chunk of await openai.chat.completions.create(streamed(named))) {
      expect(chunk.model).toBe(model);
    }
    const events = await openai.responses.create({ ...named, input: 'Tell me.', stream: true });
    for await (const event of events) {
      if ('response' in event) expect(event.response.model).toBe(model);
    }
    expect((await openai.models.retrieve(model)).id).toBe(model);
    const calls = await upstreamCalls(system, 'named');
    expect(calls).toHaveLength(6);
    for (const call of calls) expect([model, vector.model, null]).not.toContain(call.model);
    const { receipt } = chat as WithReceipt<typeof chat>;
    expect(receipt.credentialSubject).toMatchObject({ model, modelVersion: calls[0]!.model });
  });

  it('the SDK’s cursor pages read receipts, ledger entries and keys to their end [clients.cursors]', async () => {
    const organisation = await newOrganisation(system);
    const key = await organisation.newKey({
      scopes: ['inference:write', 'service:read', 'admin:keys'],
    });
    for (let i = 0; i < 4; i += 1) await organisation.newKey({ name: `key ${i}` });
    const { openai } = watched({ apiKey: key });
    const made = new Set<string>();
    for (let i = 0; i < 5; i += 1) {
      const { response } = await openai.chat.completions.create(body()).withResponse();
      made.add(response.headers.get('x-receipt-id')!);
    }
    await until(async () => (await entriesOf(openai)).length === 5);
    for (const order of ['asc', 'desc']) {
      for (const [path, expected] of [
        ['/receipts', 5],
        ['/ledger/entries', 5],
        ['/keys', 5],
      ] as const) {
        const ids: string[] = [];
        const page = openai.getAPIList<{ id: string }, CursorPage<{ id: string }>>(
          path,
          CursorPage,
          {
            query: { limit: 2, order },
          },
        );
        for await (const item of page) ids.push(item.id.slice(item.id.lastIndexOf('/') + 1));
        expect(ids, path).toHaveLength(expected);
        expect(new Set(ids).size).toBe(expected);
        if (path !== '/keys') expect(new Set(ids)).toEqual(made);
      }
    }
  });
});

describe('raw answers', () => {
  it('asResponse and withResponse give the headers of the contract [clients.unbuffered]', async () => {
    const { openai } = watched();
    const { data, response, request_id } = await openai.chat.completions
      .create(body())
      .withResponse();
    const { receipt } = data as WithReceipt<typeof data>;
    expect(request_id).toMatch(/^req_/);
    expect(response.headers.get('x-receipt-id')).toBe(idOf(receipt));
    expect(response.headers.get('x-ratelimit-remaining-requests')).toMatch(/^\d+$/);
    const raw = await openai.chat.completions.create(streamed()).asResponse();
    expect(raw.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(raw.headers.get('cache-control')).toBe('no-cache');
    expect(raw.headers.get('x-accel-buffering')).toBe('no');
    expect(raw.headers.get('content-encoding')).toBeNull();
    await raw.text();
  });
});

describe('embeddings', () => {
  it.each([undefined, 'float-embeddings'])(
    'embeddings keep their length through the SDK’s default of base64: %s [clients.embeddings]',
    async (sandbox_fault) => {
      const params = {
        model: 'bge-m3',
        input: ['harbour', 'garden'],
        dimensions: 64,
        sandbox_fault,
      };
      const { data } = await watched().openai.embeddings.create(params);
      expect(data.map(({ embedding }) => embedding.length)).toEqual([64, 64]);
      const length = Math.hypot(...data[0]!.embedding);
      expect(length).toBeCloseTo(1, 4);
    },
  );
});
