import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { MessageEvent, MessageObject, TokenCount } from '#api/anthropic/answers.ts';
import { CountBody, MessageBody } from '#api/anthropic/requests.ts';
import { RECEIPT } from '#api/docs/examples/receipts.ts';
import { INFERENCE_HEADERS } from '#api/docs/headers.ts';
import { json, rawBody, withExamples } from '#api/docs/operation.ts';
import { countTokens } from '#api/inference/count-tokens.ts';
import { handle, type InferenceDeps } from '#api/inference/handle.ts';
import { streamOf } from '#api/openai/answers.ts';
import { INFERENCE_ERRORS, OWN_FIELDS } from './inference.ts';

const MODEL = 'llama-3.1-8b';
const QUESTION = [
  { role: 'user' as const, content: 'Why is the sky blue? Answer in one sentence.' },
];

const USAGE: Static<typeof MessageObject>['usage'] = {
  input_tokens: 21,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  output_tokens: 6,
};
const MESSAGE: Omit<Static<typeof MessageObject>, 'receipt'> = {
  id: 'msg_01M7W53ZF4Z6X0T8WB5N2K9MVC',
  type: 'message',
  role: 'assistant',
  model: MODEL,
  content: [{ type: 'text', text: 'Air scatters blue light.' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: USAGE,
};

const NOT_YET = { stop_reason: null, usage: { ...USAGE, input_tokens: 0, output_tokens: 0 } };

const KEYS = `The key may stand in \`x-api-key\` as well as in \`Authorization: Bearer\`; two that differ are refused. \`anthropic-version\` and \`?beta=true\` are taken, and change nothing; \`anthropic-beta\` goes to servers that speak this interface themselves. Errors have Anthropic’s envelope, with \`code\`, \`param\` and \`docket_type\` beside its members.`;

const TRANSLATED = `Servers that speak this interface themselves get the request as it came; what of it is changed, docs/messages.md says. To all others it goes as a chat completion, and its answer comes back as a message: tools that Anthropic’s servers would run, \`cache_control\`, and fields that only they act upon are left out; blocks that are not known are refused with their place. What a model thinks is a block \`thinking\`, and goes back to it as such.`;

const FRAMING = `With \`"stream": true\` the answer is a stream of named server-sent events in Anthropic’s order, with an event \`ping\` after 15 seconds of silence. The receipt is a member of the last event, \`message_stop\`. A stream that breaks ends with an event \`error\`, and without that one.`;

const messageEvents = (...events: readonly MessageEvent[]): string =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

const config = { scope: 'inference:write', takesApiKeyHeader: true } as const;

/** Anthropic's Messages interface. */
export async function messageRoutes(app: FastifyInstance, deps: InferenceDeps): Promise<void> {
  app.post(
    '/messages',
    {
      config,
      schema: {
        operationId: 'createMessage',
        tag: 'Inference',
        summary: 'Create a message',
        description: `Anthropic’s interface: a conversation in, a message out, with a signed member \`receipt\`.\n\n${KEYS}\n\n${TRANSLATED}\n\n${OWN_FIELDS}\n\n${FRAMING}`,
        requestHeaders: ['Idempotency-Key', 'x-region'],
        ...rawBody(MessageBody, {
          plain: { model: MODEL, max_tokens: 256, messages: QUESTION },
          streamed: {
            model: MODEL,
            max_tokens: 256,
            system: 'Answer in one sentence.',
            messages: [{ role: 'user', content: 'Why is the sky blue?' }],
            stream: true,
          },
          'with a tool': {
            model: MODEL,
            max_tokens: 256,
            messages: [{ role: 'user', content: 'What is the weather in Brest?' }],
            tools: [
              {
                name: 'get_weather',
                input_schema: {
                  type: 'object',
                  properties: { city: { type: 'string' } },
                  required: ['city'],
                },
              },
            ],
          },
        }),
        response: {
          200: {
            description: 'The message and its receipt.',
            headers: INFERENCE_HEADERS,
            content: {
              'application/json': withExamples(MessageObject, {
                message: { ...MESSAGE, receipt: RECEIPT },
              }),
              'text/event-stream': withExamples(streamOf(MessageEvent), {
                stream: messageEvents(
                  { type: 'message_start', message: { ...MESSAGE, content: [], ...NOT_YET } },
                  {
                    type: 'content_block_start',
                    index: 0,
                    content_block: { type: 'text', text: '' },
                  },
                  {
                    type: 'content_block_delta',
                    index: 0,
                    delta: { type: 'text_delta', text: 'Air scatters blue light.' },
                  },
                  { type: 'content_block_stop', index: 0 },
                  {
                    type: 'message_delta',
                    delta: { stop_reason: 'end_turn', stop_sequence: null },
                    usage: USAGE,
                  },
                  { type: 'message_stop', receipt: RECEIPT },
                ),
              }),
            },
          },
        },
        errors: [
          'invalid_messages',
          'invalid_temperature',
          'invalid_top_p',
          'invalid_n',
          ...INFERENCE_ERRORS,
        ],
      },
    },
    (request, reply) => handle(deps, 'messages', request, reply),
  );
  app.post(
    '/messages/count_tokens',
    {
      config: { ...config, bucket: 'reads' },
      schema: {
        operationId: 'countMessageTokens',
        tag: 'Inference',
        summary: 'Count the tokens of a message',
        description: `How many tokens a model would read of a request for a message, by the vocabulary with which answers without usage are counted: the model’s own where it is public, else \`o200k_base\`. Schemas of tools, images and files are not counted. Nothing reaches a model, and there is no receipt.\n\n${KEYS}`,
        ...rawBody(CountBody, { plain: { model: MODEL, messages: QUESTION } }),
        response: {
          200: json('The count.', TokenCount, { count: { input_tokens: 21 } }),
        },
        errors: ['invalid_model', 'invalid_messages'],
      },
    },
    async (request, reply) =>
      (await countTokens(deps, request, () => reply.raw.destroyed)) ?? reply.hijack(),
  );
}
