import Type, { type TObject } from 'typebox';
import { CHAT_STOPS_MAX } from '#shared/kernel/inference.ts';
import { maybe, modelField, otherThan, ownFields, samplerFields } from '#api/openai/fields.ts';
import { BLOCKS_SAID } from '#shared/dialects/chat-of-message.ts';

/**
 * Anthropic's Messages interface. What is not named here may be there, in blocks and beside them (`cache_control`,
 * `citations`, blocks of other types), and goes to servers alone that speak this interface themselves: every text in it is
 * screened all the same.
 */

/** Anthropic takes names of so many characters. */
const NAME_CHARS_MAX = 128;

const NON_EMPTY = { minLength: 1 };
const Name = Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX });
const Schema = Type.Object({}, { description: 'A JSON Schema. Passed on as it is.' });

const TextBlock = Type.Object({ type: Type.Literal('text'), text: Type.String() });
const base64Source = {
  type: Type.Literal('base64'),
  media_type: Type.String(NON_EMPTY),
  data: Type.String(NON_EMPTY),
};
const ImageBlock = Type.Object({
  type: Type.Literal('image'),
  source: Type.Union(
    [
      Type.Object(base64Source),
      Type.Object({ type: Type.Literal('url'), url: Type.String(NON_EMPTY) }),
      Type.Object({ type: otherThan(['base64', 'url']) }),
    ],
    { 'x-expected': 'an object with `type`' },
  ),
});
/** One of a type that chats have no words for. */
const OtherBlock = Type.Object({
  type: otherThan(BLOCKS_SAID),
});
const DocumentBlock = Type.Object({
  type: Type.Literal('document'),
  source: Type.Union(
    [
      Type.Object(base64Source),
      Type.Object({ type: Type.Literal('text'), data: Type.String() }),
      Type.Object({
        type: Type.Literal('content'),
        content: Type.Union(
          [
            Type.String(),
            Type.Array(
              Type.Union([TextBlock, ImageBlock, OtherBlock], { 'x-expected': 'a content block' }),
            ),
          ],
          { 'x-expected': 'a string or an array of content blocks' },
        ),
      }),
      Type.Object({ type: otherThan(['base64', 'text', 'content']) }),
    ],
    { 'x-expected': 'an object with `type`' },
  ),
  title: maybe(Type.String()),
  context: maybe(Type.String()),
});
const SearchResultBlock = Type.Object({
  type: Type.Literal('search_result'),
  source: Type.String(),
  title: Type.String(),
  content: Type.Array(TextBlock),
});
const ToolUseBlock = Type.Object({
  type: Type.Literal('tool_use'),
  id: Type.String(NON_EMPTY),
  name: Type.String(NON_EMPTY),
  input: Type.Object({}),
});
/** A tool that was found by a search of the caller's own. Chats have all tools from the beginning. */
const ToolReferenceBlock = Type.Object({
  type: Type.Literal('tool_reference'),
  tool_name: Type.String(NON_EMPTY),
});
const ToolResultBlock = Type.Object({
  type: Type.Literal('tool_result'),
  tool_use_id: Type.String(NON_EMPTY),
  content: maybe(
    Type.Union(
      [
        Type.String(),
        Type.Array(
          Type.Union(
            [
              TextBlock,
              ImageBlock,
              DocumentBlock,
              SearchResultBlock,
              ToolReferenceBlock,
              OtherBlock,
            ],
            { 'x-expected': 'a content block' },
          ),
        ),
      ],
      { 'x-expected': 'a string or an array of content blocks' },
    ),
  ),
  is_error: maybe(Type.Boolean()),
});
const ThinkingBlock = Type.Object({
  type: Type.Literal('thinking'),
  thinking: Type.String(),
  signature: maybe(Type.String()),
});
const RedactedThinkingBlock = Type.Object({
  type: Type.Literal('redacted_thinking'),
  data: Type.String(),
});

const CONTENT_WORDS = { 'x-expected': 'a string or a non-empty array of content blocks' };
const UserMessage = Type.Object({
  role: Type.Literal('user'),
  content: Type.Union(
    [
      Type.String(),
      Type.Array(
        Type.Union(
          [TextBlock, ImageBlock, DocumentBlock, SearchResultBlock, ToolResultBlock, OtherBlock],
          { 'x-expected': 'a content block' },
        ),
        { minItems: 1 },
      ),
    ],
    CONTENT_WORDS,
  ),
});
/** Clients send answers back as they got them, and one may have been empty. */
const AssistantMessage = Type.Object({
  role: Type.Literal('assistant'),
  content: Type.Union(
    [
      Type.String(),
      Type.Array(
        Type.Union([TextBlock, ThinkingBlock, RedactedThinkingBlock, ToolUseBlock, OtherBlock], {
          'x-expected': 'a content block',
        }),
      ),
    ],
    { 'x-expected': 'a string or an array of content blocks' },
  ),
});
const SystemContent = Type.Union(
  [
    Type.String(),
    Type.Array(Type.Union([TextBlock, OtherBlock], { 'x-expected': 'a content block' })),
  ],
  { 'x-expected': 'a string or an array of text blocks' },
);
const SystemMessage = Type.Object({ role: Type.Literal('system'), content: SystemContent });

const Messages = Type.Array(
  Type.Union([UserMessage, AssistantMessage, SystemMessage], {
    title: 'MessageParam',
    'x-expected': 'a message: an object with `role` and `content`',
  }),
  { minItems: 1, 'x-expected': 'a non-empty array of messages' },
);

/** A tool that the caller runs. Any other is of a server that runs it, and chats are without it. */
export const CLIENT_TOOL: TObject = Type.Object({
  type: maybe(Type.Literal('custom')),
  name: Name,
  description: maybe(Type.String()),
  input_schema: Schema,
  strict: maybe(Type.Boolean()),
});
/** What is told of every tool before it is known which of them it is. */
const Tool = Type.Object(
  {
    type: maybe(
      Type.String({
        description:
          'Left out or `custom`. Tools of other types are run by servers that speak this interface, and left out for others.',
      }),
    ),
    name: maybe(Name),
    description: maybe(Type.String()),
    input_schema: maybe(Schema),
    strict: maybe(Type.Boolean()),
  },
  { title: 'MessageTool', 'x-expected': 'a tool: an object with `name` and `input_schema`' },
);

const alone = maybe(Type.Boolean());
/** How a model is told which tools to call, where a chat can be told it too. */
export const TOOL_CHOICES = ['auto', 'any', 'none', 'tool'] as const;
const ToolChoice = Type.Union(
  [
    Type.Object({ type: Type.Enum(['auto', 'any']), disable_parallel_tool_use: alone }),
    Type.Object({ type: Type.Literal('none') }),
    Type.Object({ type: Type.Literal('tool'), name: Name, disable_parallel_tool_use: alone }),
    Type.Object({ type: otherThan(TOOL_CHOICES) }),
  ],
  { 'x-expected': 'an object with `type`' },
);

const OutputFormat = Type.Object({ type: Type.Literal('json_schema'), schema: Schema });

/** Of a request for a message, and of one that only counts what it would read. */
const messageFields = {
  model: modelField,
  messages: Messages,
  system: maybe(SystemContent),
  tools: maybe(Type.Array(Tool)),
  tool_choice: maybe(ToolChoice),
  thinking: maybe(
    Type.Object(
      { type: Type.String() },
      {
        description:
          'With `disabled`, what the model thinks is left out of the answer. To chats nothing of it is passed on.',
      },
    ),
  ),
  output_config: maybe(
    Type.Object({
      effort: maybe(
        Type.String({ description: 'For models that reason. Above `high` is `high`.' }),
      ),
      format: maybe(OutputFormat),
    }),
  ),
  output_format: maybe(OutputFormat),
};

/** POST /messages. Fields that are not named, and are not Anthropic's, pass through. */
export const MessageBody = Type.Object(
  {
    ...messageFields,
    max_tokens: Type.Integer({
      minimum: 0,
      description:
        'Where the answer ends at the latest. Only servers that speak this interface take 0, to cache a prompt.',
    }),
    stream: samplerFields.stream,
    stop_sequences: maybe(
      Type.Array(Type.String(), {
        description: `More than ${CHAT_STOPS_MAX} go to servers alone that speak this interface.`,
        'x-expected': 'an array of strings',
      }),
    ),
    temperature: samplerFields.temperature,
    top_p: samplerFields.top_p,
    top_k: samplerFields.top_k,
    metadata: maybe(
      Type.Object({
        user_id: maybe(Type.String({ description: 'Goes no further, and into no log.' })),
      }),
    ),
    ...ownFields,
  },
  { title: 'MessageRequest' },
);

/** POST /messages/count_tokens. */
export const CountBody = Type.Object(messageFields, { title: 'CountTokensRequest' });

export type CountRequest = Type.Static<typeof CountBody>;
