import Type from 'typebox';
import { AnswerReceipt } from '#api/docs/schemas/receipt.ts';
import { maybe } from '#api/openai/fields.ts';

const ContentBlock = Type.Union(
  [
    Type.Object({ type: Type.Literal('text'), text: Type.String() }),
    Type.Object({
      type: Type.Literal('thinking'),
      thinking: Type.String(),
      signature: Type.String({ description: 'Empty: servers of open models sign nothing.' }),
    }),
    Type.Object({
      type: Type.Literal('tool_use'),
      id: Type.String(),
      name: Type.String(),
      input: Type.Object({}),
    }),
  ],
  { title: 'MessageContentBlock' },
);

const STOP_REASON = maybe(
  Type.Enum(['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'refusal']),
);

const Usage = Type.Object(
  {
    input_tokens: Type.Integer({ description: 'Without those that came from a cache.' }),
    cache_creation_input_tokens: Type.Integer(),
    cache_read_input_tokens: Type.Integer(),
    output_tokens: Type.Integer(),
    output_tokens_details: Type.Optional(Type.Object({ thinking_tokens: Type.Integer() })),
    source: Type.Optional(
      Type.Enum(['counted', 'unknown'], {
        description:
          'Who counted, where it was not the upstream: the gateway, or none, and then all counts are zero.',
      }),
    ),
  },
  { title: 'MessageUsage' },
);

const messageFields = {
  id: Type.String(),
  type: Type.Literal('message'),
  role: Type.Literal('assistant'),
  model: Type.String(),
  content: Type.Array(ContentBlock),
  stop_reason: STOP_REASON,
  stop_sequence: maybe(Type.String()),
  usage: Usage,
  metadata: Type.Optional(
    Type.Object({
      ignored_tools: Type.String({
        description:
          'Types of the tools that were left out, separated by commas: Anthropic’s servers run them.',
      }),
    }),
  ),
};

/** A whole message. */
export const MessageObject = Type.Object(
  { ...messageFields, receipt: AnswerReceipt },
  { title: 'Message' },
);

export const MessageEvent = Type.Object(
  {
    type: Type.Enum([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
      'ping',
    ]),
    index: Type.Optional(Type.Integer({ description: 'Of a block, from 0, without a gap.' })),
    message: Type.Optional(Type.Object(messageFields)),
    content_block: Type.Optional(ContentBlock),
    delta: Type.Optional(
      Type.Object({}, { description: 'What is added to a block, or why the message stopped.' }),
    ),
    usage: Type.Optional(Usage),
    receipt: Type.Optional(AnswerReceipt),
  },
  {
    title: 'MessageStreamEvent',
    description: 'One event of a stream. `receipt` stands on the last one, `message_stop`.',
  },
);

export type MessageEvent = Type.Static<typeof MessageEvent>;

export const TokenCount = Type.Object(
  { input_tokens: Type.Integer({ description: 'Images and files are not counted.' }) },
  { title: 'TokenCount' },
);
