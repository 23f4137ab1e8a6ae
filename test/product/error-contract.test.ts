import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { readPack } from '#shared/screening/files/load.ts';
import { chatBody } from '#test/support/calls.ts';
import { OPERATOR, createRegistries } from '#test/support/accounts.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { joinProduct } from '#test/support/product.ts';

const system = await joinProduct({ faults: true });
const MESSAGES = [{ role: 'user' as const, content: 'Tell me about the lighthouse.' }];

const client = (apiKey = system.key): OpenAI =>
  new OpenAI({ baseURL: system.baseUrl, apiKey, maxRetries: 0 });

interface Expected {
  kind: new (...args: never[]) => Error;
  status: number;
  type: string;
  code: string;
  param?: string | null;
  retry: boolean;
}

/** Fails unless the SDK throws exactly this, and every part of the envelope has its type. */
async function expectError(call: PromiseLike<unknown>, expected: Expected): Promise<void> {
  const error = await Promise.resolve(call).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error, expected.code).toBeInstanceOf(expected.kind);
  const {
    status,
    type,
    code,
    param,
    requestID,
    headers,
    error: body,
  } = error as InstanceType<typeof OpenAI.APIError>;
  expect({ status, type, code }).toEqual({
    status: expected.status,
    type: expected.type,
    code: expected.code,
  });
  expect(param).toBe(expected.param ?? null);
  expect(requestID).toMatch(/^req_/);
  expect(body).toEqual({
    code: expect.any(String) as string,
    type: expect.any(String) as string,
    message: expect.stringMatching(/\w/) as string,
    param: expected.param ?? null,
  });
  expect(headers!.get('x-should-retry')).toBe(String(expected.retry));
  const waits = status === 429 || (status === 503 && expected.retry);
  if (!expected.retry && !waits) expect(headers!.has('retry-after')).toBe(false);
  if (waits) {
    const [seconds, ms] = [headers!.get('retry-after'), headers!.get('retry-after-ms')];
    expect(seconds).toMatch(/^[1-9]\d*$/);
    expect(Number(seconds)).toBe(Math.ceil(Number(ms) / 1_000));
  }
}

const chat = (rest: object = {}, apiKey?: string, headers: Record<string, string> = {}) =>
  client(apiKey).chat.completions.create(
    {
      ...chatBody(rest),
      stream: false,
    } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming,
    { headers },
  );

const validation = (code: string, param: string | null): Expected => ({
  kind: OpenAI.BadRequestError,
  status: 400,
  type: 'validation_error',
  code,
  param,
  retry: false,
});
const limit = (code: string, retry: boolean): Expected => ({
  kind: OpenAI.RateLimitError,
  status: 429,
  type: 'rate_limit_error',
  code,
  retry,
});

describe('the error contract, with the real SDK', () => {
  it('auth errors: status, type and code, not to be retried [errors.auth]', async () => {
    const refused = { type: 'auth_error', retry: false } as const;
    const unauthorised = { ...refused, kind: OpenAI.AuthenticationError, status: 401 };
    await expectError(chat({}, 'nonsense'), { ...unauthorised, code: 'invalid_api_key' });
    const org = await newOrganisation(system, {});
    const registries = createRegistries(system.database.pool);
    const issue = (request: object = {}) =>
      registries.keys.issue(org.id, { name: 'test', ...request }, OPERATOR);
    const revoked = await issue();
    await registries.keys.revoke(org.id, revoked.key.id, OPERATOR);
    await expectError(chat({}, revoked.plaintext), { ...unauthorised, code: 'revoked_api_key' });
    const reader = await issue({ scopes: ['service:read'] });
    await expectError(chat({}, reader.plaintext), {
      ...refused,
      kind: OpenAI.PermissionDeniedError,
      status: 403,
      code: 'insufficient_scope',
    });
  });

  it('validation errors name the parameter [codes.prompt_too_long, codes.unsupported_modality]', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } };
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] }];
    await expectError(
      chat({ messages }),
      validation('unsupported_modality', 'messages[0].content[1]'),
    );
    expect((await chat({ messages, model: 'sandbox-unsized' })).object).toBe('chat.completion');
    await expectError(chat({ model: 'nope' }), validation('invalid_model', 'model'));
    await expectError(chat({ region: 'atlantis' }), validation('invalid_region', 'region'));
    await expectError(chat({ tier: 'gold' }), validation('invalid_tier', 'tier'));
    await expectError(chat({ temperature: 3 }), validation('invalid_temperature', 'temperature'));
    await expectError(chat({ top_p: -1 }), validation('invalid_top_p', 'top_p'));
    await expectError(chat({ messages: [] }), validation('invalid_messages', 'messages'));
    await expectError(
      chat({
        model: 'mixtral-8x7b',
        messages: [{ role: 'user', content: 'sea '.repeat(9_000) }],
      }),
      validation('prompt_too_long', 'messages'),
    );
    await expectError(chat({ sandbox_fault: 'status=400' }), validation('invalid_request', null));
    await expectError(
      chat({}, undefined, { 'idempotency-key': 'ü' }),
      validation('invalid_idempotency_key', 'Idempotency-Key'),
    );
  });

  it('rate-limit errors each say when to come back [errors.rate-limit]', async () => {
    const used = async (limits: object): Promise<string> => {
      const key = await (await newOrganisation(system, limits)).newKey();
      await chat({}, key);
      return key;
    };
    const rate = await used({ requestsPerSecond: 1, burst: 1 });
    await expectError(chat({}, rate), limit('requests_per_second_exceeded', true));
    const day = await used({ requestsPerDay: 1 });
    await expectError(chat({}, day), limit('daily_budget_exceeded', false));
  });

  it('policy errors name the support address [errors.policy, codes.dual_use_screen_block, codes.acceptable_use_violation]', async () => {
    for (const code of ['dual_use_screen_block', 'acceptable_use_violation'] as const) {
      const rule = readPack().rules.find((one) => one.code === code)!;
      const call = chat({ messages: [{ role: 'user', content: rule.positive[0] }] });
      await expectError(call, {
        kind: OpenAI.PermissionDeniedError,
        status: 403,
        type: 'policy_error',
        code,
        retry: false,
      });
      await expect(call).rejects.toThrow(/support@docket\.example/);
    }
    const org = await newOrganisation(system, {});
    const key = await org.newKey();
    await createRegistries(system.database.pool).accounts.suspend(org.id, OPERATOR, 'unpaid');
    await expectError(chat({}, key), {
      kind: OpenAI.PermissionDeniedError,
      status: 403,
      type: 'policy_error',
      code: 'customer_suspended',
      retry: false,
    });
  });

  it('upstream, region and methodology errors: status, type and code [errors.region, errors.methodology, codes.upstream]', async () => {
    const server = { kind: OpenAI.InternalServerError, param: null } as const;
    const inference = { ...server, status: 502, type: 'inference_error', retry: true };
    await expectError(chat({ sandbox_fault: 'status=500' }), {
      ...inference,
      code: 'upstream_error',
    });
    await expectError(chat({ sandbox_fault: 'status=429' }), {
      ...inference,
      code: 'upstream_rate_limited',
    });
    await expectError(chat({ region: 'ap-south' }), {
      ...server,
      status: 503,
      type: 'region_unavailable',
      code: 'region_decommissioned',
      retry: false,
    });
    await expectError(chat({ model: 'sandbox-unsized', receipt: 'required' }), {
      ...server,
      status: 500,
      type: 'methodology_error',
      code: 'receipt_generation_failed',
      retry: true,
    });
  });

  it('an error in a stream that had begun is thrown by the SDK, never a clean end', async () => {
    const stream = await client().chat.completions.create({
      ...(chatBody({ sandbox_fault: 'cut=end; cut-after=2' }) as { model: string }),
      messages: MESSAGES,
      stream: true,
    });
    const read = async () => {
      for await (const _ of stream);
    };
    await expect(read()).rejects.toMatchObject({ code: 'upstream_error', type: 'inference_error' });
  });
});

describe('embeddings, through the SDK’s defaults', () => {
  it.each(['', 'float-embeddings'])(
    'embeddings have their full length in every form that an upstream returns: %s',
    async (fault) => {
      const body = { model: 'qwen3-embedding-8b', input: ['harbour'], sandbox_fault: fault };
      for (const rest of [{}, { dimensions: 256 }, { encoding_format: 'float' as const }]) {
        const { data } = await client().embeddings.create({ ...body, ...rest });
        const vector = data[0]!.embedding;
        expect(vector).toHaveLength('dimensions' in rest ? 256 : 1024);
        expect(Math.hypot(...vector)).toBeCloseTo(1, 3);
      }
    },
  );
});
