import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fault } from '#shared/kernel/errors.ts';
import { failureOfStatus } from '#workers/inference/providers/openai-compatible/failures.ts';
import { forAll } from '#test/support/for-all.ts';
import { recordedAnswers } from '#test/support/recorded-answers.ts';
import { isErrorBody, readErrorBody } from '#workers/inference/providers/error-body.ts';
import { failureOfErrorBody, faultOf } from '#workers/inference/providers/upstream-failure.ts';

/**
 * Error bodies as servers send them. Source of each: `recorded` from the server itself; else where its documentation or
 * its users show it.
 */
const TOO_LONG: [server: string, source: string, status: number, body: unknown][] = [
  [
    'OpenAI',
    'github.com/chathub-dev/chathub/issues/126',
    400,
    {
      error: {
        message:
          "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
  ],
  [
    'OpenAI, embeddings',
    'github.com/the-open-agent/openagent/issues/2344',
    400,
    {
      error: {
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
        message:
          'Your input exceeds the context window of this model. Please adjust your input and try again.',
        param: 'input',
      },
    },
  ],
  [
    'Anthropic',
    'github.com/BerriAI/litellm/issues/7259',
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'prompt is too long: 200480 tokens > 200000 maximum',
      },
    },
  ],
  [
    'Anthropic, with max_tokens',
    'github.com/continuedev/continue/issues/8454',
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000, decrease input length or `max_tokens` and try again',
      },
    },
  ],
  [
    'Gemini',
    'github.com/google-gemini/gemini-cli/issues/4692',
    400,
    {
      error: {
        code: 400,
        message:
          'The input token count (2845475) exceeds the maximum number of tokens allowed (1048576).',
        status: 'INVALID_ARGUMENT',
      },
    },
  ],
  [
    'Gemini, in OpenAI’s shape, which is a list',
    'github.com/BerriAI/litellm/issues/18282',
    400,
    [
      {
        error: {
          code: 400,
          message: 'The input token count exceeds the maximum number of tokens allowed (1048576).',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
  ],
  [
    'vLLM before 0.10',
    'github.com/ogx-ai/ogx/issues/4534',
    400,
    {
      object: 'error',
      message:
        "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion). Please reduce the length of the messages or completion.",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  ],
  [
    'vLLM, no room for an answer',
    'github.com/vllm-project/vllm/issues/4667',
    400,
    {
      object: 'error',
      message: 'max_tokens must be at least 1, got -186.',
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  ],
  [
    'vLLM, images',
    'github.com/Gabesarch/grounded-rl/issues/16',
    400,
    {
      object: 'error',
      message:
        'The decoder prompt (length 10127) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.',
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  ],
  [
    'vLLM 0.16',
    'github.com/harbor-framework/harbor/pull/996',
    400,
    {
      error: {
        message:
          "You passed 1015 input tokens and requested 10 output tokens. However, the model's context length is only 1024 tokens, resulting in a maximum input length of 1014 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=1015)",
        type: 'BadRequestError',
        param: 'input_tokens',
        code: 400,
      },
    },
  ],
  [
    'SGLang',
    'github.com/QwenLM/Qwen3/issues/1321',
    400,
    {
      object: 'error',
      message: "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
      type: 'BadRequestError',
      param: null,
      code: 400,
    },
  ],
  [
    'TGI',
    'github.com/huggingface/text-generation-inference/issues/628',
    422,
    {
      error:
        'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 1244 `inputs` tokens and 1000 `max_new_tokens`',
      error_type: 'validation',
    },
  ],
  [
    'TGI, the input alone',
    'github.com/huggingface/text-generation-inference/issues/695',
    422,
    {
      error: 'Input validation error: `inputs` must have less than 1024 tokens. Given: 1168',
      error_type: 'validation',
    },
  ],
  [
    'Ollama, embeddings',
    'github.com/nano-step/nano-brain/issues/208',
    400,
    { error: 'the input length exceeds the context length' },
  ],
  [
    'LM Studio',
    'github.com/anomalyco/opencode/issues/2259',
    400,
    {
      error:
        'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
    },
  ],
  [
    'LM Studio 0.3',
    'github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546',
    400,
    {
      error:
        'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
    },
  ],
  [
    'LM Studio 0.4',
    'github.com/anomalyco/opencode/issues/11141',
    400,
    { error: 'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)' },
  ],
  [
    'Mistral, embeddings',
    'github.com/aurelio-labs/semantic-router/issues/297',
    400,
    {
      object: 'error',
      message: 'Too many tokens in batch. Max is 16384 got 17555',
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
  ],
  [
    'Groq',
    'github.com/thepersonalaicompany/amurex-backend/issues/51',
    400,
    {
      error: {
        message: 'Please reduce the length of the messages or completion.',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
  ],
  [
    'DeepSeek',
    'github.com/evalstate/fast-agent/issues/621',
    400,
    {
      error: {
        message:
          "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_request_error',
      },
    },
  ],
  [
    'OpenRouter',
    'github.com/OpenHands/OpenHands/issues/9937',
    400,
    {
      error: {
        message:
          "This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens (7884 of text input, 131072 in the output). Please reduce the length of either one.",
        code: 400,
      },
    },
  ],
  [
    'llama.cpp',
    'recorded',
    400,
    {
      error: {
        code: 400,
        message:
          'request (1214 tokens) exceeds the available context size (1024 tokens), try increasing it',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 1214,
        n_ctx: 1024,
      },
    },
  ],
  [
    'llama.cpp of 2025',
    'github.com/ggml-org/llama.cpp/pull/15780',
    500,
    {
      error: {
        code: 500,
        message:
          'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 1407,
        n_ctx: 256,
      },
    },
  ],
  [
    'llama.cpp, embeddings',
    'recorded',
    500,
    {
      error: {
        code: 500,
        message:
          'input (1201 tokens) is too large to process. increase the physical batch size (current batch size: 512)',
        type: 'server_error',
      },
    },
  ],
  [
    'llama-cpp-python',
    'github.com/rllm-team/rllm/issues/55',
    500,
    {
      error: {
        message: 'Requested tokens (516) exceed context window of 512',
        type: 'internal_server_error',
        param: null,
        code: null,
      },
    },
  ],
  [
    'LiteLLM before Anthropic',
    'github.com/BerriAI/litellm/issues/7259',
    400,
    {
      error: {
        message:
          'litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicError - {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200480 tokens > 200000 maximum"}}\nReceived Model Group=anthropic/claude-3-5-sonnet-20241022\nAvailable Model Group Fallbacks=None',
        type: null,
        param: null,
        code: '400',
      },
    },
  ],
];

/** What clients look for in the message of a prompt that is too long, as their code has it. */
const READ_BY = [
  ['opencode 1.18', /maximum context length is \d+ tokens/i],
  ['LiteLLM 1.106', /this model's maximum context length is/i],
  ['LangChain 1.7', /context_length_exceeded/],
] as const;

const WRONG: [string, number, unknown, object][] = [
  [
    'FastAPI’s text',
    400,
    { detail: 'messages must not be empty' },
    { code: 'invalid_request', message: 'messages must not be empty' },
  ],
  [
    'FastAPI’s list of problems',
    422,
    {
      detail: [
        {
          type: 'int_parsing',
          loc: ['body', 'max_tokens'],
          msg: 'Input should be a valid integer',
          input: 'secret prompt',
        },
      ],
    },
    {
      code: 'invalid_max_tokens',
      message: 'max_tokens: Input should be a valid integer',
      param: 'max_tokens',
    },
  ],
  [
    'Mistral’s list within a message',
    422,
    {
      object: 'error',
      message: {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'max_completion_tokens'],
            msg: 'Extra inputs are not permitted',
            input: 32000,
          },
        ],
      },
      type: 'invalid_request_error',
      param: null,
      code: null,
    },
    {
      code: 'invalid_max_completion_tokens',
      message: 'max_completion_tokens: Extra inputs are not permitted',
    },
  ],
  [
    'a message at the top',
    400,
    { message: 'model does not support tools', request_id: 'x' },
    { code: 'invalid_request', message: 'model does not support tools' },
  ],
  [
    'llama.cpp’s wrong type',
    400,
    {
      error: {
        code: 400,
        message:
          "Field 'temperature': [json.exception.type_error.302] type must be number, but is string",
        type: 'invalid_request_error',
      },
    },
    { code: 'invalid_request' },
  ],
  [
    'llama.cpp’s image to a text model',
    500,
    {
      error: {
        code: 500,
        message:
          'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
        type: 'server_error',
      },
    },
    { code: 'unsupported_modality', param: 'messages' },
  ],
];

describe('an upstream’s error', () => {
  it('our own refusal of a prompt that is too long has the words that clients look for', () => {
    const { message } = new Fault('prompt_too_long', { values: { model: 'm', tokens: 8_192 } });
    for (const [client, words] of READ_BY) expect(message, client).toMatch(words);
  });

  it.each(TOO_LONG)(
    'a prompt that is too long for %s is prompt_too_long, with the parameter of its route (%s)',
    (_server, _source, status, body) => {
      const failure = failureOfStatus(status, {}, JSON.stringify(body));
      expect(failure.kind).toBe('rejected');
      for (const [route, param] of [
        ['chat.completions', 'messages'],
        ['completions', 'prompt'],
        ['embeddings', 'input'],
      ] as const) {
        expect(faultOf(failure, route)).toMatchObject({ code: 'prompt_too_long', param });
      }
      const { message } = faultOf(failure, 'completions', 8_192);
      for (const [client, words] of READ_BY) expect(message, client).toMatch(words);
      // The same words within an answer that says it is good.
      expect(failureOfErrorBody(body).kind).toBe('rejected');
    },
  );

  it('what real servers were recorded to say of a prompt that is too long is prompt_too_long', () => {
    // Some servers have no embeddings at all.
    const lacking = new Set([404, 501]);
    for (const [server, name, { status, body }] of recordedAnswers()) {
      if (!/too-long/.test(name) || status < 400 || lacking.has(status)) continue;
      const failure = failureOfStatus(status, {}, body);
      expect(faultOf(failure, 'chat.completions').code, server).toBe('prompt_too_long');
    }
  });

  it('what a server’s validation refuses is the caller’s, though it comes with 500, and no word of the server’s insides is told', () => {
    const [, , { status, body }] = recordedAnswers().find(
      ([server, name]) => server === 'llama-cpp-python' && name === 'json-schema',
    )!;
    expect([status, body.includes('site-packages')]).toEqual([500, true]);
    const failure = failureOfStatus(status, {}, body);
    expect(failure.kind).toBe('rejected');
    expect(faultOf(failure, 'chat.completions')).toEqual({
      code: 'invalid_response_format',
      param: 'response_format',
      message: 'The upstream provider does not take this.',
    });
  });

  it.each(WRONG)('%s keeps its reason', (_shape, status, body, fault) => {
    const failure = failureOfStatus(status, {}, JSON.stringify(body));
    expect(faultOf(failure, 'chat.completions')).toMatchObject(fault);
    expect(JSON.stringify(failure)).not.toContain('secret prompt');
  });

  it('the window that a refusal names is the upstream’s own where it states one, else the catalogue’s', () => {
    const told = (message: string): string =>
      faultOf(failureOfStatus(400, {}, JSON.stringify({ error: { message } })), 'responses', 8_192)
        .message;
    expect(told('request (1214 tokens) exceeds the available context size (1024 tokens)')).toMatch(
      /^This model's maximum context length is 1024 tokens\. request/,
    );
    expect(told('The prompt is too long.')).toMatch(
      /^This model's maximum context length is 8192 tokens\. The prompt/,
    );
    const known = "This model's maximum context length is 2000 tokens.";
    expect(told(known)).toBe(`${known} (context_length_exceeded)`);
  });

  it('a moment to come back at is understood by the server’s clock, and a pause in seconds', () => {
    const date = 'Wed, 25 Nov 2026 10:00:00 GMT';
    const asked = (after: string): number | undefined =>
      failureOfStatus(503, { date, 'retry-after': after }, '').retryAfterMs;
    expect(asked('Wed, 25 Nov 2026 10:00:07 GMT')).toBe(7_000);
    expect(asked('2')).toBe(2_000);
    expect(asked('Wed, 25 Nov 2026 09:00:00 GMT')).toBeUndefined();
    expect(asked('soon')).toBeUndefined();
  });

  it('a request that is too large is told as that, and a prompt over the window as that', () => {
    const told = (message: string): string =>
      faultOf(failureOfStatus(413, {}, JSON.stringify({ error: { message } })), 'completions').code;
    expect(told('Request Entity Too Large')).toBe('request_too_large');
    expect(told('Prompt is too long')).toBe('prompt_too_long');
  });

  it('an upstream that refuses the gateway is not to be tried again, and the words do not say so', () => {
    for (const status of [307, 401, 402, 403])
      expect(faultOf(failureOfStatus(status, {}, ''), 'completions').message).not.toMatch(/again/);
  });

  it.each([{}, '', null])('an error that says nothing is none: %j', (error) => {
    expect(isErrorBody({ error, choices: [] })).toBe(false);
  });

  it('a limit, a refused credential and a fault of the server stay what they are, with any words', () => {
    const words = JSON.stringify({ error: { message: 'Too many tokens in the last minute' } });
    expect(failureOfStatus(429, {}, words).kind).toBe('rate_limited');
    expect(failureOfStatus(401, {}, words).kind).toBe('misconfigured');
    expect(failureOfStatus(500, {}, '{"error":{"message":"boom"}}').kind).toBe('unavailable');
    expect(failureOfStatus(501, {}, '{"error":{"message":"no embeddings"}}').kind).toBe(
      'misconfigured',
    );
    expect(failureOfErrorBody({ error: { type: 'rate_limit_error' } }).kind).toBe('rate_limited');
    expect(failureOfErrorBody({ error: { code: 503 } })).toMatchObject({
      kind: 'unavailable',
      status: 503,
    });
  });

  it('a credential or a name of ours that is refused is no fault of the caller, with any status', () => {
    const gemini = [
      {
        error: {
          code: 400,
          message: 'API key not valid. Please pass a valid API key.',
          status: 'INVALID_ARGUMENT',
        },
      },
    ];
    const litellm = [
      {
        error: { message: 'No connected db.', type: 'no_db_connection', param: null, code: '400' },
      },
      {
        error: {
          message:
            '/chat/completions: Invalid model name passed in model=our/name. Call `/v1/models` to view available models for your key.',
          type: 'invalid_request_error',
          param: null,
          code: '400',
        },
      },
    ];
    for (const body of [gemini, ...litellm]) {
      const failure = failureOfStatus(400, {}, JSON.stringify(body));
      expect(failure.kind).toBe('misconfigured');
      expect(faultOf(failure, 'chat.completions').message).not.toMatch(/key|model|db/);
    }
  });

  it('of a fault of its own a server’s words are not the caller’s to read', () => {
    const body = {
      error: { message: 'node 10.0.0.7: input is too large to process, see /srv/log' },
    };
    const fault = faultOf(failureOfStatus(500, {}, JSON.stringify(body)), 'embeddings');
    expect(fault).toMatchObject({ code: 'prompt_too_long', param: 'input' });
    expect(fault.message).toBe(
      'The prompt is longer than the model can take. (context_length_exceeded)',
    );
  });

  it('a body of any shape is read without a crash, and what a caller may see of it is bounded', () => {
    forAll([fc.anything()], (value) => {
      const { message = '', code = '', param = '' } = readErrorBody(value);
      expect(message.length).toBeLessThanOrEqual(500);
      expect(code.length + param.length).toBeLessThanOrEqual(128);
    });
    const long = 'x'.repeat(100_000);
    expect(readErrorBody({ error: { message: long, code: long, param: long } })).toMatchObject({
      message: 'x'.repeat(500),
    });
  });
});
