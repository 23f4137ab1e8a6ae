import type { FastifyInstance } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { DEGRADED_RECEIPT, RECEIPT } from '#api/docs/examples/receipts.ts';
import { INFERENCE_HEADERS } from '#api/docs/headers.ts';
import { rawBody, withExamples } from '#api/docs/operation.ts';
import { handle, type InferenceDeps } from '#api/inference/handle.ts';
import {
  ChatCompletion,
  ChatCompletionChunk,
  Completion,
  CompletionChunk,
  EmbeddingList,
  streamOf,
} from '#api/openai/answers.ts';
import { ChatBody, type ChatRequest, CompletionBody, EmbeddingBody } from '#api/openai/requests.ts';
import { ResponseBody, ResponseEvent, ResponseObject } from '#api/openai/responses.ts';
import { EXAMPLE_RESPONSE } from './responses.ts';

const MODEL = 'llama-3.1-8b';
const CREATED = 1_795_167_485;
const UPSTREAM = 'meta-llama/Llama-3.1-8B-Instruct';

/** What every operation that reaches a model can answer with. */
export const INFERENCE_ERRORS = [
  'invalid_model',
  'invalid_region',
  'invalid_tier',
  'prompt_too_long',
  'unsupported_modality',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'dual_use_screen_block',
  'acceptable_use_violation',
  'requests_per_second_exceeded',
  'daily_budget_exceeded',
  'budget_exceeded',
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

export const OWN_FIELDS = `The fields \`region\`, \`tier\` and \`receipt\` are ours and never reach the upstream. Fields that are not listed here pass through as they are.`;

/** A stream of chunks, with one to show. */
const chunks = <S extends TSchema>(schema: S, ...payloads: Static<S>[]) =>
  withExamples(streamOf(schema), {
    stream: `${payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join('')}data: [DONE]\n\n`,
  });

const chunk = (
  delta: ChatChunk['choices'][number]['delta'],
  finish: string | null,
  more: Pick<ChatChunk, 'receipt'> = {},
): ChatChunk => ({
  id: 'chatcmpl-8WB5N2K9MVC',
  object: 'chat.completion.chunk',
  created: CREATED,
  model: UPSTREAM,
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...more,
});
type ChatChunk = Static<typeof ChatCompletionChunk>;

const completed = (receipt: object): Static<typeof ChatCompletion> => ({
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

const MESSAGES: ChatRequest['messages'] = [
  { role: 'user', content: 'Why is the sky blue? Answer in one sentence.' },
];
const WEATHER = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
  },
};
const TEXT = {
  id: 'cmpl-8WB5N2K9MVC',
  object: 'text_completion',
  created: CREATED,
  model: UPSTREAM,
} as const;

const RESPONSE_FRAMING = `With \`"stream": true\` the answer is a stream of named server-sent events in OpenAI’s order, numbered by \`sequence_number\` from 0, with \`response.in_progress\` every 10 seconds of silence. The receipt is a top-level member of the last event, \`response.completed\` or \`response.incomplete\`. A stream that breaks ends with \`response.failed\` in place of these. So does one that is refused because its prompt is too long, with the status 200, where \`Accept\` names \`text/event-stream\` alone.`;

const STATE = `A response and the input of its request are kept for 24 hours after their last use, sealed, unless \`store\` is false or the organisation has none kept: then \`previous_response_id\` goes on from it, so that \`input\` has what is new alone, and \`item_reference\` stands for an item of it. \`store\` in the answer says whether it is kept; of a stream in its last event, and false before. Where it is not kept, send the whole conversation in \`input\`. \`conversation\`, \`prompt\` and \`background\` are refused. Functions and custom tools, in namespaces too, you run yourself. To upstreams that speak only chat completions the request goes as one, and its answer comes back as a response: tools that a server would have to run are left out and named in \`metadata.ignored_tools\`, and so is what they did.`;

/** The events of a response, numbered, each by its name. */
const responseEvents = (...events: readonly Omit<ResponseEvent, 'sequence_number'>[]): string =>
  events
    .map(({ type, ...rest }, at) => {
      const event: ResponseEvent = { type, sequence_number: at, ...rest };
      return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
    })
    .join('');

const config = { scope: 'inference:write' } as const;

/** The operations that reach a model. */
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
        ...rawBody(ChatBody, {
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
          'with a tool': {
            model: MODEL,
            messages: [{ role: 'user', content: 'What is the weather in Brest?' }],
            tools: [{ type: 'function', function: WEATHER }],
          },
        }),
        response: {
          200: {
            description: 'The completion and its receipt.',
            headers: INFERENCE_HEADERS,
            content: {
              'application/json': withExamples(ChatCompletion, {
                completion: completed(RECEIPT),
                degraded: completed(DEGRADED_RECEIPT),
              }),
              'text/event-stream': chunks(
                ChatCompletionChunk,
                chunk({ role: 'assistant', content: 'Air scatters ' }, null),
                chunk({ content: 'blue light.' }, null),
                chunk({}, 'stop', { receipt: RECEIPT }),
              ),
            },
          },
        },
        errors: ['invalid_messages', ...SAMPLER_ERRORS, ...INFERENCE_ERRORS],
      },
    },
    (request, reply) => handle(deps, 'chat.completions', request, reply),
  );
  app.post(
    '/responses',
    {
      config,
      schema: {
        operationId: 'createResponse',
        tag: 'Inference',
        summary: 'Create a response',
        description: `OpenAI’s newer interface: text or items in, items out, with a signed \`receipt\` at the top level.\n\n${STATE}\n\n${OWN_FIELDS}\n\n${RESPONSE_FRAMING}`,
        requestHeaders: ['Idempotency-Key', 'x-region'],
        ...rawBody(ResponseBody, {
          plain: { model: MODEL, input: 'Why is the sky blue? Answer in one sentence.' },
          'items and instructions, streamed': {
            model: MODEL,
            instructions: 'Answer in one sentence.',
            input: [{ role: 'user', content: 'Why is the sky blue?' }],
            stream: true,
          },
          'going on from a response': {
            model: MODEL,
            input: 'And why is the sunset red?',
            previous_response_id: 'resp_01M7W53ZF4Z6X0T8WB5N2K9MVC',
          },
          'with a tool': {
            model: MODEL,
            input: 'What is the weather in Brest?',
            tools: [{ type: 'function', ...WEATHER }],
          },
          'JSON by a schema': {
            model: MODEL,
            input: 'Name a harbour.',
            text: {
              format: {
                type: 'json_schema',
                name: 'harbour',
                schema: {
                  type: 'object',
                  properties: { name: { type: 'string' } },
                  required: ['name'],
                  additionalProperties: false,
                },
                strict: true,
              },
            },
          },
        }),
        response: {
          200: {
            description: 'The response and its receipt.',
            headers: INFERENCE_HEADERS,
            content: {
              'application/json': withExamples(ResponseObject, {
                response: { ...EXAMPLE_RESPONSE, receipt: RECEIPT },
              }),
              'text/event-stream': withExamples(streamOf(ResponseEvent), {
                stream: responseEvents(
                  {
                    type: 'response.created',
                    response: {
                      ...EXAMPLE_RESPONSE,
                      store: false,
                      status: 'in_progress',
                      output: [],
                      usage: null,
                    },
                  },
                  { type: 'response.completed', response: EXAMPLE_RESPONSE, receipt: RECEIPT },
                ),
              }),
            },
          },
        },
        errors: [
          'invalid_input',
          'previous_response_not_found',
          ...SAMPLER_ERRORS,
          ...INFERENCE_ERRORS,
        ],
      },
    },
    (request, reply) => handle(deps, 'responses', request, reply),
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
        ...rawBody(CompletionBody, {
          plain: { model: MODEL, prompt: 'The lighthouse', max_tokens: 16 },
        }),
        response: {
          200: {
            description: 'The completion and its receipt.',
            headers: INFERENCE_HEADERS,
            content: {
              'application/json': withExamples(Completion, {
                completion: {
                  ...TEXT,
                  choices: [
                    { index: 0, text: ' stood at the end of the pier.', finish_reason: 'stop' },
                  ],
                  usage: { prompt_tokens: 3, completion_tokens: 8, total_tokens: 11 },
                  receipt: RECEIPT,
                },
              }),
              'text/event-stream': chunks(CompletionChunk, {
                ...TEXT,
                choices: [{ index: 0, text: ' stood', finish_reason: 'length' }],
                receipt: RECEIPT,
              }),
            },
          },
        },
        errors: ['invalid_prompt', ...SAMPLER_ERRORS, ...INFERENCE_ERRORS],
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
        ...rawBody(EmbeddingBody, {
          'two texts': { model: 'qwen3-embedding-8b', input: ['harbour', 'garden'], dimensions: 4 },
          base64: { model: 'bge-m3', input: 'harbour', encoding_format: 'base64' },
        }),
        response: {
          200: {
            description: 'The vectors and their receipt.',
            headers: INFERENCE_HEADERS,
            content: {
              'application/json': withExamples(EmbeddingList, {
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
              }),
            },
          },
        },
        errors: ['invalid_input', ...INFERENCE_ERRORS],
      },
    },
    (request, reply) => handle(deps, 'embeddings', request, reply),
  );
}
