import type { FastifyInstance } from 'fastify';
import { DEGRADED_RECEIPT, RECEIPT } from '#api/docs/examples/receipts.ts';
import { INFERENCE_HEADERS } from '#api/docs/headers.ts';
import { handle, type InferenceDeps } from '#api/inference/handle.ts';
import {
  ChatCompletion,
  ChatCompletionChunk,
  Completion,
  CompletionChunk,
  EmbeddingList,
  streamOf,
} from '#api/openai/answers.ts';
import { ChatBody, CompletionBody, EmbeddingBody } from '#api/openai/requests.ts';

const MODEL = 'llama-3.1-8b';
const CREATED = 1_795_167_485;
const UPSTREAM = 'meta-llama/Llama-3.1-8B-Instruct';

const ERRORS = [
  'invalid_model',
  'invalid_region',
  'invalid_tier',
  'prompt_too_long',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'dual_use_screen_block',
  'acceptable_use_violation',
  'requests_per_second_exceeded',
  'daily_budget_exceeded',
  'concurrent_streams_exceeded',
  'upstream_error',
  'upstream_timeout',
  'upstream_rate_limited',
  'worker_lost',
  'region_degraded',
  'region_saturated',
  'region_decommissioned',
  'receipt_generation_failed',
  'dispatch_unavailable',
] as const;
const SAMPLER_ERRORS = ['invalid_temperature', 'invalid_top_p', 'invalid_n'] as const;

const FRAMING = `With \`"stream": true\` the answer is a stream of server-sent events: \`data:\` frames with one JSON payload each, \`data: [DONE]\` last, and \`: keepalive\` comments after 15 seconds of silence. The receipt is a top-level member of the chunk with the last \`finish_reason\`, or of the usage chunk when \`stream_options.include_usage\` was asked for. A stream that breaks ends with a frame \`{"error": …}\` and without \`[DONE]\`.`;

const OWN_FIELDS = `The fields \`region\`, \`tier\` and \`receipt\` are ours and never reach the upstream. Fields that are not listed here pass through as they are.`;

const frames = (...payloads: object[]): string =>
  `${payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join('')}data: [DONE]\n\n`;

const chunk = (delta: object, finish: string | null, more: object = {}) => ({
  id: 'chatcmpl-8WB5N2K9MVC',
  object: 'chat.completion.chunk',
  created: CREATED,
  model: UPSTREAM,
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});

const completed = (receipt: object) => ({
  id: 'chatcmpl-8WB5N2K9MVC',
  object: 'chat.completion',
  created: CREATED,
  model: UPSTREAM,
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content:
          'Air scatters short, blue wavelengths of sunlight far more than long, red ones, so blue light reaches us from all over the sky.',
      },
      finish_reason: 'stop',
    },
  ],
  usage: { prompt_tokens: 21, completion_tokens: 28, total_tokens: 49 },
  receipt,
});

const MESSAGES = [{ role: 'user', content: 'Why is the sky blue? Answer in one sentence.' }];
const WITH_A_TOOL = {
  model: MODEL,
  messages: [{ role: 'user', content: 'What is the weather in Brest?' }],
  tools: [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        parameters: {
          type: 'object',
          properties: { city: { type: 'string' } },
          required: ['city'],
        },
      },
    },
  ],
};
const TEXT = {
  id: 'cmpl-8WB5N2K9MVC',
  object: 'text_completion',
  created: CREATED,
  model: UPSTREAM,
};

const config = { scope: 'inference:write' } as const;

/** The three operations that reach a model. */
export async function inferenceRoutes(app: FastifyInstance, deps: InferenceDeps): Promise<void> {
  app.post(
    '/chat/completions',
    {
      config,
      schema: {
        operationId: 'createChatCompletion',
        tag: 'Inference',
        summary: 'Create a chat completion',
        description: `Answers a conversation, in OpenAI’s shape, with a signed \`receipt\` at the top level. If the methodology fails while the inference succeeds, the receipt has \`tier: "degraded"\` and an \`explanation\`; the completion is as good as any.\n\n${OWN_FIELDS}\n\n${FRAMING}`,
        requestHeaders: ['Idempotency-Key', 'x-region'],
        rawBody: ChatBody,
        requests: {
          plain: { model: MODEL, messages: MESSAGES, temperature: 0.2 },
          'streamed, with usage': {
            model: MODEL,
            messages: MESSAGES,
            stream: true,
            stream_options: { include_usage: true },
          },
          'pinned to a region': {
            model: MODEL,
            messages: MESSAGES,
            region: 'eu-west',
            tier: 'audit',
          },
          'with a tool': WITH_A_TOOL,
        },
        response: {
          200: {
            description: 'The completion and its receipt.',
            headers: INFERENCE_HEADERS,
            content: {
              'application/json': {
                schema: ChatCompletion,
                examples: { completion: completed(RECEIPT), degraded: completed(DEGRADED_RECEIPT) },
              },
              'text/event-stream': {
                schema: streamOf(ChatCompletionChunk),
                examples: {
                  stream: frames(
                    chunk({ role: 'assistant', content: 'Air scatters ' }, null),
                    chunk({ content: 'blue light.' }, null),
                    chunk({}, 'stop', { receipt: RECEIPT }),
                  ),
                },
              },
            },
          },
        },
        errors: ['invalid_messages', ...SAMPLER_ERRORS, ...ERRORS],
      },
    },
    (request, reply) => handle(deps, 'chat.completions', request, reply),
  );
  app.post(
    '/completions',
    {
      config,
      schema: {
        operationId: 'createCompletion',
        tag: 'Inference',
        summary: 'Create a completion',
        description: `Continues a text: the interface before chat.\n\n${OWN_FIELDS}\n\n${FRAMING}`,
        requestHeaders: ['Idempotency-Key', 'x-region'],
        rawBody: CompletionBody,
        requests: { plain: { model: MODEL, prompt: 'The lighthouse', max_tokens: 16 } },
        response: {
          200: {
            description: 'The completion and its receipt.',
            headers: INFERENCE_HEADERS,
            content: {
              'application/json': {
                schema: Completion,
                examples: {
                  completion: {
                    ...TEXT,
                    choices: [
                      { index: 0, text: ' stood at the end of the pier.', finish_reason: 'stop' },
                    ],
                    usage: { prompt_tokens: 3, completion_tokens: 8, total_tokens: 11 },
                    receipt: RECEIPT,
                  },
                },
              },
              'text/event-stream': {
                schema: streamOf(CompletionChunk),
                examples: {
                  stream: frames({
                    ...TEXT,
                    choices: [{ index: 0, text: ' stood', finish_reason: 'length' }],
                    receipt: RECEIPT,
                  }),
                },
              },
            },
          },
        },
        errors: ['invalid_prompt', ...SAMPLER_ERRORS, ...ERRORS],
      },
    },
    (request, reply) => handle(deps, 'completions', request, reply),
  );
  app.post(
    '/embeddings',
    {
      config,
      schema: {
        operationId: 'createEmbedding',
        tag: 'Inference',
        summary: 'Create embeddings',
        description: `One vector for each input. \`encoding_format\` is honoured in every case: \`float\`, or \`base64\` of little-endian float32.\n\n${OWN_FIELDS}`,
        requestHeaders: ['Idempotency-Key', 'x-region'],
        rawBody: EmbeddingBody,
        requests: {
          'two texts': { model: 'qwen3-embedding-8b', input: ['harbour', 'garden'], dimensions: 4 },
          base64: { model: 'bge-m3', input: 'harbour', encoding_format: 'base64' },
        },
        response: {
          200: {
            description: 'The vectors and their receipt.',
            headers: INFERENCE_HEADERS,
            content: {
              'application/json': {
                schema: EmbeddingList,
                examples: {
                  vectors: {
                    object: 'list',
                    model: 'Qwen/Qwen3-Embedding-8B',
                    data: [
                      { object: 'embedding', index: 0, embedding: [0.5, -0.5, 0.5, 0.5] },
                      { object: 'embedding', index: 1, embedding: [0.1, 0.7, -0.1, 0.7] },
                    ],
                    usage: { prompt_tokens: 4, total_tokens: 4 },
                    receipt: RECEIPT,
                  },
                },
              },
            },
          },
        },
        errors: ['invalid_input', ...ERRORS],
      },
    },
    (request, reply) => handle(deps, 'embeddings', request, reply),
  );
}
