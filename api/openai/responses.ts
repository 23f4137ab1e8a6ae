import Type, { type TSchema } from 'typebox';
import { HOSTED_ITEM_TYPES } from '#shared/dialects/chat-of-response.ts';
import { AnswerReceipt } from '#api/docs/schemas/receipt.ts';
import {
  maybe,
  modelField,
  otherThan,
  ownFields,
  samplerFields,
  SERVICE_TIERS,
  userField,
} from './fields.ts';

/**
 * OpenAI's newer interface. Items and parts of other types than are named here go to servers of responses and to no other, as
 * do tools that a server would have to run by itself, and what they did: every text in them is screened all the same.
 */

/** OpenAI documents 64 characters; other upstreams take 128. */
const NAME_CHARS_MAX = 128;
/** OpenAI's own bounds. */
const METADATA_MAX = 16;
const METADATA_KEY_CHARS_MAX = 64;
const METADATA_VALUE_CHARS_MAX = 512;
const CACHE_KEY_CHARS_MAX = 1_024;

const Name = Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX });
const NON_EMPTY = { minLength: 1 };
const id = maybe(Type.String());
const status = maybe(Type.Enum(['in_progress', 'completed', 'incomplete']));
const CallId = Type.String(NON_EMPTY);
/** The namespace of a tool that is called. */
const namespace = maybe(Type.String());

const FileId = maybe(
  Type.String({
    minLength: 1,
    description: 'Of a file that a server of responses keeps; no other knows it.',
  }),
);

const InputText = Type.Object({ type: Type.Literal('input_text'), text: Type.String() });
const InputImage = Type.Object({
  type: Type.Literal('input_image'),
  image_url: maybe(Type.String({ minLength: 1, description: 'An address, or data in base64.' })),
  file_id: FileId,
  detail: maybe(Type.String()),
});
const InputFile = Type.Object({
  type: Type.Literal('input_file'),
  file_data: maybe(Type.String({ minLength: 1, description: 'Data in base64.' })),
  file_id: FileId,
  file_url: maybe(
    Type.String({ minLength: 1, description: 'An address. Only servers of responses fetch it.' }),
  ),
  filename: maybe(Type.String()),
});
const InputAudio = Type.Object({
  type: Type.Literal('input_audio'),
  input_audio: Type.Object({ data: Type.String(NON_EMPTY), format: Type.String(NON_EMPTY) }),
});
const OutputText = Type.Object({ type: Type.Literal('output_text'), text: Type.String() });
const Refusal = Type.Object({ type: Type.Literal('refusal'), refusal: Type.String() });

/** The types of parts that chats have words for. */
export const PARTS: ReadonlySet<string> = new Set([
  'input_text',
  'input_image',
  'input_file',
  'input_audio',
  'output_text',
  'refusal',
]);
/** Parts as chats call them. They are not taken for parts of servers of responses, which refuse them too. */
const OF_CHATS = ['text', 'image_url', 'file', 'audio_url', 'video_url'];
const OtherPart = Type.Object({ type: otherThan([...PARTS, ...OF_CHATS]) });

const InputPart = Type.Union([InputText, InputImage, InputFile, InputAudio, OtherPart], {
  'x-expected': 'a content part',
});
const CONTENT_WORDS = { 'x-expected': 'a string or a non-empty array of content parts' };
const Content = Type.Union([Type.String(), Type.Array(InputPart, { minItems: 1 })], CONTENT_WORDS);

/** What a tool returned may be nothing. */
const Output = Type.Union([Type.String(), Type.Array(InputPart)], {
  'x-expected': 'a string or an array of content parts',
});

const messageType = maybe(Type.Literal('message'));
const InputMessage = Type.Object({
  type: messageType,
  role: Type.Enum(['system', 'developer', 'user']),
  content: Content,
  id,
  status,
});
const AssistantMessage = Type.Object({
  type: messageType,
  role: Type.Literal('assistant'),
  content: Type.Union(
    [
      Type.String(),
      Type.Array(
        Type.Union([OutputText, Refusal, InputText, OtherPart], { 'x-expected': 'a content part' }),
      ),
    ],
    { 'x-expected': 'a string or an array of content parts' },
  ),
  id,
  status,
});
const FunctionCall = Type.Object({
  type: Type.Literal('function_call'),
  call_id: CallId,
  name: Type.String(NON_EMPTY),
  namespace,
  arguments: Type.String(),
  id,
  status,
});
const FunctionCallOutput = Type.Object({
  type: Type.Literal('function_call_output'),
  call_id: CallId,
  output: Output,
  id,
  status,
});
const CustomToolCall = Type.Object({
  type: Type.Literal('custom_tool_call'),
  call_id: CallId,
  name: Type.String(NON_EMPTY),
  namespace,
  input: Type.String(),
  id,
  status,
});
const CustomToolCallOutput = Type.Object({
  type: Type.Literal('custom_tool_call_output'),
  call_id: CallId,
  output: Output,
  id,
  status,
});
const ReasoningItem = Type.Object({
  type: Type.Literal('reasoning'),
  summary: Type.Array(Type.Object({ type: Type.Literal('summary_text'), text: Type.String() })),
  content: maybe(
    Type.Array(Type.Object({ type: Type.Literal('reasoning_text'), text: Type.String() })),
  ),
  encrypted_content: maybe(Type.String()),
  id,
  status,
});

const Schema = Type.Object({}, { description: 'A JSON Schema. Passed on as it is.' });
const FunctionTool = Type.Object({
  type: Type.Literal('function'),
  name: Name,
  description: maybe(Type.String()),
  parameters: maybe(Schema),
  strict: maybe(Type.Boolean()),
});
const CustomTool = Type.Object({
  type: Type.Literal('custom'),
  name: Name,
  description: maybe(Type.String()),
  format: maybe(Type.Object({ type: Type.Enum(['text', 'grammar']) })),
});
/** One that a server runs, or a namespace in a namespace, which no server has. */
const OtherMember = Type.Object({
  type: Type.String({ pattern: '^(?!(?:function|custom)$)[A-Za-z0-9_.-]{1,64}$' }),
});
const NamespaceTool = Type.Object({
  type: Type.Literal('namespace'),
  name: Name,
  description: maybe(Type.String()),
  tools: Type.Array(Type.Union([FunctionTool, CustomTool, OtherMember])),
});
const OtherTool = Type.Object({
  type: Type.String({
    pattern: '^(?!(?:function|custom|namespace)$)[A-Za-z0-9_.-]{1,64}$',
    'x-expected': 'a type of this interface',
    description: 'Of a tool that a server of responses runs: to others it is left out.',
  }),
});
const Tool = Type.Union([FunctionTool, CustomTool, NamespaceTool, OtherTool], {
  title: 'ResponseTool',
  'x-expected': 'a tool: an object with `type`, and a `name` where its caller runs it',
});

/** What a tool may be, by its `type`, where its caller runs it. */
export const TOOLS: Readonly<Record<string, TSchema>> = {
  function: FunctionTool,
  custom: CustomTool,
  namespace: NamespaceTool,
};

const AdditionalTools = Type.Object({
  type: Type.Literal('additional_tools'),
  tools: Type.Array(Tool),
  id,
});
/** To an item that a server keeps. It need not say that it is one. */
const ItemReference = Type.Object({
  type: maybe(Type.Literal('item_reference')),
  id: Type.String(NON_EMPTY),
  role: Type.Optional(Type.Null()),
  content: Type.Optional(Type.Null()),
});
const HostedItem = Type.Object({
  type: Type.Enum([...HOSTED_ITEM_TYPES]),
  id,
});

/** What an input item may be, by its `type`. */
export const ITEMS: Readonly<Record<string, TSchema>> = {
  message: InputMessage,
  function_call: FunctionCall,
  function_call_output: FunctionCallOutput,
  custom_tool_call: CustomToolCall,
  custom_tool_call_output: CustomToolCallOutput,
  reasoning: ReasoningItem,
  item_reference: ItemReference,
  additional_tools: AdditionalTools,
};
/** The types of items that are of tools of a server's. */
export const HOSTED_ITEMS: ReadonlySet<string> = new Set(HOSTED_ITEM_TYPES);
/** A message of the model's own. */
export const ANSWERED_MESSAGE = AssistantMessage;

/** One that chats have no words for: a `compaction`, or what is newer than this list. */
export const OtherItem = Type.Object({
  type: otherThan([...Object.keys(ITEMS), ...HOSTED_ITEMS]),
  id,
});

/** Named one by one: of a list that is made, the compiler does not know the types. */
const InputItem = Type.Union([
  InputMessage,
  FunctionCall,
  FunctionCallOutput,
  CustomToolCall,
  CustomToolCallOutput,
  ReasoningItem,
  AdditionalTools,
  HostedItem,
  AssistantMessage,
  ItemReference,
  OtherItem,
]);

const Input = Type.Union(
  [
    Type.String(),
    Type.Array(InputItem, { minItems: 1, 'x-expected': 'a non-empty array of input items' }),
  ],
  { 'x-expected': 'a string or a non-empty array of input items' },
);

const ToolChoice = Type.Union(
  [
    Type.Enum(['none', 'auto', 'required']),
    Type.Object({ type: Type.Enum(['function', 'custom']), name: Name, namespace }),
    Type.Object({
      type: Type.Literal('allowed_tools'),
      mode: Type.Enum(['auto', 'required']),
      tools: Type.Array(
        Type.Object({ type: Type.String(NON_EMPTY), name: maybe(Name), namespace }),
      ),
    }),
    Type.Object({
      type: Type.String({
        pattern: '^(?!(?:function|custom|allowed_tools)$)[A-Za-z0-9_.-]{1,64}$',
        'x-expected': 'a type of this interface',
        description: 'A tool that a server of responses runs: to others it is `auto`.',
      }),
    }),
  ],
  { 'x-expected': '`none`, `auto`, `required` or an object that names a tool' },
);

const TextFormat = Type.Union(
  [
    Type.Object({ type: Type.Enum(['text', 'json_object']) }),
    Type.Object({
      type: Type.Literal('json_schema'),
      name: Name,
      schema: Schema,
      description: maybe(Type.String()),
      strict: maybe(Type.Boolean()),
    }),
  ],
  { 'x-expected': 'an object with `type`' },
);

/** POST /responses. Fields that are not named pass through untouched. */
export const ResponseBody = Type.Object(
  {
    model: modelField,
    input: Input,
    instructions: maybe(Type.String({ description: 'Stands before the input, as the system’s.' })),
    stream: samplerFields.stream,
    stream_options: maybe(
      Type.Object(
        { include_obfuscation: maybe(Type.Boolean()) },
        { description: 'Only together with `stream: true`.' },
      ),
    ),
    max_output_tokens: maybe(
      Type.Integer({ minimum: 1, description: 'Where the answer ends at the latest.' }),
    ),
    temperature: samplerFields.temperature,
    top_p: samplerFields.top_p,
    top_logprobs: maybe(Type.Integer({ minimum: 0, maximum: 20 })),
    tools: maybe(Type.Array(Tool)),
    tool_choice: maybe(ToolChoice),
    parallel_tool_calls: maybe(Type.Boolean()),
    max_tool_calls: maybe(Type.Integer({ minimum: 1 })),
    text: maybe(
      Type.Object({
        format: maybe(TextFormat),
        verbosity: maybe(Type.Enum(['low', 'medium', 'high'])),
      }),
    ),
    reasoning: maybe(
      Type.Object(
        { effort: maybe(Type.String()), summary: maybe(Type.String()) },
        { description: 'For models that reason. Passed on where the upstream takes it.' },
      ),
    ),
    include: maybe(
      Type.Array(
        Type.String({
          pattern: '^[a-z0-9_.]{1,128}$',
          'x-expected': 'the name of a member of the answer',
        }),
      ),
    ),
    store: maybe(
      Type.Boolean({
        description:
          'Whether the response is kept for 24 hours; true where it is left out. The answer says whether it was.',
      }),
    ),
    background: maybe(Type.Literal(false)),
    truncation: maybe(
      Type.Enum(['auto', 'disabled'], { description: 'Only servers of responses take `auto`.' }),
    ),
    previous_response_id: maybe(
      Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX, description: 'Goes on from it.' }),
    ),
    conversation: Type.Optional(Type.Null()),
    prompt: Type.Optional(Type.Null()),
    metadata: maybe(
      Type.Record(
        Type.String({ maxLength: METADATA_KEY_CHARS_MAX }),
        Type.String({ maxLength: METADATA_VALUE_CHARS_MAX }),
        {
          maxProperties: METADATA_MAX,
          'x-expected': `an object of at most ${METADATA_MAX} texts`,
        },
      ),
    ),
    prompt_cache_key: maybe(Type.String({ maxLength: CACHE_KEY_CHARS_MAX })),
    safety_identifier: maybe(Type.String({ maxLength: METADATA_VALUE_CHARS_MAX })),
    service_tier: maybe(Type.Enum([...SERVICE_TIERS])),
    user: userField,
    ...ownFields,
  },
  { title: 'ResponseRequest' },
);

export type ResponseRequest = Type.Static<typeof ResponseBody>;

const AnsweredText = Type.Object({
  ...OutputText.properties,
  annotations: Type.Optional(Type.Array(Type.Object({}))),
});

const OutputItem = Type.Union(
  [
    Type.Object({
      type: Type.Literal('message'),
      id: Type.String(),
      status: Type.String(),
      role: Type.Literal('assistant'),
      content: Type.Array(Type.Union([AnsweredText, Refusal])),
    }),
    Type.Object({
      type: Type.Literal('function_call'),
      id: Type.Optional(Type.String()),
      call_id: Type.String(),
      name: Type.String(),
      namespace,
      arguments: Type.String(),
    }),
    Type.Object({
      type: Type.Literal('custom_tool_call'),
      id: Type.Optional(Type.String()),
      call_id: Type.String(),
      name: Type.String(),
      namespace,
      input: Type.String(),
    }),
    Type.Object({
      type: Type.Literal('reasoning'),
      id: Type.String(),
      summary: Type.Array(Type.Object({ type: Type.Literal('summary_text'), text: Type.String() })),
      content: maybe(
        Type.Array(Type.Object({ type: Type.Literal('reasoning_text'), text: Type.String() })),
      ),
      encrypted_content: maybe(Type.String()),
    }),
  ],
  { title: 'ResponseOutputItem' },
);

const responseFields = {
  id: Type.String(),
  object: Type.Literal('response'),
  created_at: Type.Number({ description: 'Epoch seconds' }),
  status: Type.Enum(['in_progress', 'completed', 'incomplete', 'failed']),
  model: Type.String(),
  output: Type.Array(OutputItem),
  error: maybe(Type.Object({ code: Type.String(), message: Type.String() })),
  incomplete_details: maybe(Type.Object({ reason: Type.Optional(Type.String()) })),
  store: Type.Boolean({ description: 'The response is kept for 24 hours.' }),
  previous_response_id: maybe(Type.String()),
  usage: maybe(
    Type.Object(
      {
        input_tokens: Type.Integer(),
        input_tokens_details: Type.Object({
          cached_tokens: Type.Integer(),
          cache_write_tokens: Type.Optional(Type.Integer()),
        }),
        output_tokens: Type.Integer(),
        output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
        total_tokens: Type.Integer(),
        source: Type.Optional(
          Type.Literal('counted', {
            description:
              'These counts are the gateway’s: the upstream gave none that could be right.',
          }),
        ),
      },
      { title: 'ResponseUsage' },
    ),
  ),
};

/** A whole response. The members of its request that it repeats may be there as well. */
export const ResponseObject = Type.Object(
  { ...responseFields, receipt: AnswerReceipt },
  { title: 'Response' },
);

export const ResponseEvent = Type.Object(
  {
    type: Type.String({ description: '`response.created`, `response.output_text.delta` …' }),
    sequence_number: Type.Integer({ minimum: 0, description: 'From 0, without a gap.' }),
    response: Type.Optional(Type.Object(responseFields)),
    receipt: Type.Optional(AnswerReceipt),
  },
  {
    title: 'ResponseStreamEvent',
    description:
      'One event of a stream. `receipt` stands on the last one: `response.completed` or `response.incomplete`; on `response.failed` it announces the receipt, where there is one.',
  },
);

export type ResponseEvent = Type.Static<typeof ResponseEvent>;
