import Type from 'typebox';
import { maybe } from './fields.ts';

/**
 * The messages of a chat request. The list of part types is closed: a part that the gateway does not know is a part
 * that screening cannot read. Fields that are not named here pass through.
 */

/** OpenAI refuses empty urls and data as well; saying it here spares an upstream call. */
const NON_EMPTY = { minLength: 1 };

const TextPart = Type.Object({ type: Type.Literal('text'), text: Type.String() });
const ImagePart = Type.Object({
  type: Type.Literal('image_url'),
  image_url: Type.Object({ url: Type.String(NON_EMPTY), detail: maybe(Type.String()) }),
});
const AudioPart = Type.Object({
  type: Type.Literal('input_audio'),
  input_audio: Type.Object({ data: Type.String(NON_EMPTY), format: Type.String(NON_EMPTY) }),
});
const FilePart = Type.Object({
  type: Type.Literal('file'),
  file: Type.Object({
    file_data: maybe(Type.String(NON_EMPTY)),
    file_id: maybe(Type.String(NON_EMPTY)),
    filename: maybe(Type.String()),
  }),
});
// Not OpenAI's, but what vLLM and SGLang call the media that OpenAI does not take.
const AudioUrlPart = Type.Object({
  type: Type.Literal('audio_url'),
  audio_url: Type.Object({ url: Type.String(NON_EMPTY) }),
});
const VideoUrlPart = Type.Object({
  type: Type.Literal('video_url'),
  video_url: Type.Object({ url: Type.String(NON_EMPTY) }),
});
const RefusalPart = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() });

const Part = Type.Union([TextPart, ImagePart, AudioPart, FilePart, AudioUrlPart, VideoUrlPart], {
  'x-expected': 'a content part',
});
const AssistantPart = Type.Union([TextPart, RefusalPart], { 'x-expected': 'a content part' });

const CONTENT_WORDS = { 'x-expected': 'a string or a non-empty array of content parts' };
const Content = Type.Union([Type.String(), Type.Array(Part, { minItems: 1 })], CONTENT_WORDS);
/** An empty list is null. */
const AssistantContent = Type.Union([Type.String(), Type.Array(AssistantPart)], CONTENT_WORDS);

const ToolCall = Type.Union(
  [
    Type.Object({
      id: Type.String(NON_EMPTY),
      type: Type.Literal('function'),
      function: Type.Object({ name: Type.String(NON_EMPTY), arguments: Type.String() }),
    }),
    Type.Object({
      id: Type.String(NON_EMPTY),
      type: Type.Literal('custom'),
      custom: Type.Object({ name: Type.String(NON_EMPTY), input: Type.String() }),
    }),
  ],
  { 'x-expected': 'a tool call' },
);

const name = maybe(Type.String());

const InputMessage = Type.Object({
  role: Type.Enum(['system', 'developer', 'user']),
  content: Content,
  name,
});

/** Clients send answers back as they got them, so the members of an answer may be null here. */
const AssistantMessage = Type.Object(
  {
    role: Type.Literal('assistant'),
    content: maybe(AssistantContent),
    refusal: maybe(Type.String()),
    reasoning_content: maybe(Type.String()),
    tool_calls: maybe(Type.Array(ToolCall)),
    function_call: maybe(Type.Object({ name: Type.String(NON_EMPTY), arguments: Type.String() })),
    audio: maybe(Type.Object({ id: Type.String(NON_EMPTY) })),
    name,
  },
  {
    description:
      '`content` may be null, missing or an empty array only with `tool_calls`, `function_call`, `reasoning_content`, `refusal` or `audio`.',
  },
);

const ToolMessage = Type.Object({
  role: Type.Literal('tool'),
  content: Content,
  tool_call_id: Type.String(NON_EMPTY),
  name,
});

const FunctionMessage = Type.Object({
  role: Type.Literal('function'),
  content: Type.Union([Type.String(), Type.Null()]),
  name: Type.String(NON_EMPTY),
});

const Message = Type.Union([InputMessage, AssistantMessage, ToolMessage, FunctionMessage], {
  title: 'ChatMessage',
  'x-expected': 'a message: an object with `role` and `content`',
});

export const Messages = Type.Array(Message, {
  minItems: 1,
  'x-expected': 'a non-empty array of messages',
});
