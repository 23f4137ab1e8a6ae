import Type, { type TSchema } from 'typebox';
import { AnswerReceipt } from '#api/docs/schemas/receipt.ts';
import { maybe } from './fields.ts';

/**
 * Answers in OpenAI's shapes, as upstreams give them: the gateway adds `receipt` and leaves the rest alone, so further
 * members may be there. Embeddings are the exception: they are brought to the encoding that was asked for.
 */
const Usage = Type.Object(
  {
    prompt_tokens: Type.Integer(),
    completion_tokens: Type.Optional(Type.Integer()),
    total_tokens: Type.Integer(),
    source: Type.Optional(
      Type.Literal('counted', {
        description: 'These counts are the gateway’s: the upstream gave none that could be right.',
      }),
    ),
  },
  { title: 'Usage' },
);

const FINISH = maybe(
  Type.String({ description: '`stop`, `length`, `tool_calls`, `content_filter` …' }),
);
const ToolCallOut = Type.Object({
  index: Type.Optional(Type.Integer()),
  id: Type.Optional(Type.String()),
  type: Type.Optional(Type.String()),
  function: Type.Optional(
    Type.Object({ name: Type.Optional(Type.String()), arguments: Type.Optional(Type.String()) }),
  ),
});

export const ChatCompletion = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('chat.completion'),
    created: Type.Integer({ description: 'Epoch seconds' }),
    model: Type.String(),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        message: Type.Object({
          role: Type.Literal('assistant'),
          content: maybe(Type.String()),
          tool_calls: maybe(Type.Array(ToolCallOut)),
        }),
        finish_reason: FINISH,
      }),
    ),
    usage: maybe(Usage),
    receipt: AnswerReceipt,
  },
  { title: 'ChatCompletion' },
);

export const ChatCompletionChunk = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('chat.completion.chunk'),
    created: Type.Integer(),
    model: Type.String(),
    choices: Type.Array(
      Type.Object({
        index: Type.Integer(),
        delta: Type.Object({
          role: Type.Optional(Type.String()),
          content: maybe(Type.String()),
          tool_calls: maybe(Type.Array(ToolCallOut)),
        }),
        finish_reason: FINISH,
      }),
    ),
    usage: maybe(Usage),
    receipt: Type.Optional(AnswerReceipt),
  },
  {
    title: 'ChatCompletionChunk',
    description:
      'One `data:` payload of a stream. `receipt` stands on the chunk with the last `finish_reason`, or on the usage chunk when `stream_options.include_usage` was asked for.',
  },
);

/** A stream's text. What stands after each `data:` is JSON of this schema. */
export const streamOf = (payload: TSchema) =>
  Type.String({
    description:
      'Frames of `data: <JSON>`, the last `data: [DONE]`; of a response named events without that. Each JSON is one chunk or event.',
    contentMediaType: 'application/json',
    contentSchema: payload,
  });

/** Whole answers and chunks of a stream have one shape here. */
const textCompletion = {
  id: Type.String(),
  object: Type.Literal('text_completion'),
  created: Type.Integer({ description: 'Epoch seconds' }),
  model: Type.String(),
  choices: Type.Array(
    Type.Object({ index: Type.Integer(), text: Type.String(), finish_reason: FINISH }),
  ),
  usage: maybe(Usage),
};
export const Completion = Type.Object(
  { ...textCompletion, receipt: AnswerReceipt },
  { title: 'Completion' },
);
export const CompletionChunk = Type.Object(
  { ...textCompletion, receipt: Type.Optional(AnswerReceipt) },
  { title: 'CompletionChunk', description: 'One `data:` payload of a stream.' },
);

export const EmbeddingList = Type.Object(
  {
    object: Type.Literal('list'),
    model: Type.String(),
    data: Type.Array(
      Type.Object({
        object: Type.Literal('embedding'),
        index: Type.Integer(),
        embedding: Type.Union([Type.Array(Type.Number()), Type.String()], {
          description: 'Numbers, or their little-endian float32 bytes in base64 when asked for.',
        }),
      }),
    ),
    usage: maybe(Usage),
    receipt: AnswerReceipt,
  },
  { title: 'EmbeddingList' },
);
