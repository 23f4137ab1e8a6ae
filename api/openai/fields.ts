import Type from 'typebox';
import type { TSchema } from 'typebox';
import { CHAT_STOPS_MAX } from '#shared/kernel/inference.ts';
import { PLANS } from '#shared/kernel/plan.ts';

/**
 * The schema is the single source: it validates, types, documents (OpenAPI 3.1) and words the refusals.
 * `x-expected` overrides the words that `schemaWords` would make from the keywords.
 */

/** A type that is none of those named here. The name is the interface's, and no text. */
export const otherThan = (known: readonly string[]) =>
  Type.String({
    pattern: `^(?!(?:${known.join('|')})$)[a-z0-9_]{1,64}$`,
    'x-expected': 'a type of this interface',
  });

/** A member that may be left out. Clients send null for "not set", so null means the same as leaving it out. */
export const maybe = <S extends TSchema>(schema: S) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** Tiers of service at the catalogue's prices or below them, by the names that OpenAI, Anthropic and Groq give them. */
export const SERVICE_TIERS = [
  'auto',
  'default',
  'flex',
  'on_demand',
  'standard',
  'standard_only',
] as const;

/** Long enough for every catalogue id; bounds what reaches logs and metrics. */
const MODEL_ID_CHARS_MAX = 256;
/** The contract's bound for `user`. */
const USER_CHARS_MAX = 512;
/** The interface's bound of bias for one token. */
const LOGIT_BIAS_MAX = 100;
/**
 * What bounds the tokens of an answer: in the interfaces, and in open-source servers, some of which take their own name before
 * that of an interface.
 */
export const ANSWER_BOUNDS = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'max_new_tokens',
  'n_predict',
  'num_predict',
] as const;
/** As many as the largest `max_n` of a catalogue. */
export const CHOICES_MAX = 8;
/** A factor above 10 leaves only noise; every known upstream stops at 5 or below. */
const REPETITION_PENALTY_MAX = 10;

/** Our own fields, removed before an upstream sees the body. Any string passes for `region` and `tier` here: routing knows which exist, and refuses the others. */
export const ownFields = {
  region: maybe(Type.String({ description: 'Pins the request to this region of the catalogue.' })),
  tier: maybe(
    Type.String({
      description: `What the receipt gives: ${PLANS.join(', ')}. At most the account's plan, which is the default.`,
    }),
  ),
  receipt: maybe(
    Type.Enum(['required', 'best_effort'], {
      description:
        'With `required` a methodology failure is an error; with `best_effort` (default) the receipt is degraded.',
    }),
  ),
};

export const modelField = Type.String({
  minLength: 1,
  maxLength: MODEL_ID_CHARS_MAX,
  'x-expected': 'the id of a model, as listed by GET /models',
});

export const userField = maybe(
  Type.String({ maxLength: USER_CHARS_MAX, description: 'Your own name for your user.' }),
);

/** Fields that chat and legacy completions share. */
export const samplerFields = {
  temperature: maybe(
    Type.Number({
      minimum: 0,
      maximum: 2,
      description: 'How freely tokens are drawn; 0 takes the likeliest.',
    }),
  ),
  top_p: maybe(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description: 'Draws from the likeliest tokens that make up this share.',
    }),
  ),
  n: maybe(
    Type.Integer({
      minimum: 1,
      maximum: CHOICES_MAX,
      description: 'How many answers. At most the model’s `max_n`.',
    }),
  ),
  max_tokens: maybe(
    Type.Integer({ minimum: 1, description: 'Where the answer ends at the latest.' }),
  ),
  presence_penalty: maybe(
    Type.Number({
      minimum: -2,
      maximum: 2,
      description: 'Above 0: tokens that have occurred become less likely.',
    }),
  ),
  frequency_penalty: maybe(
    Type.Number({
      minimum: -2,
      maximum: 2,
      description: 'Above 0: the more often a token has occurred, the less likely it becomes.',
    }),
  ),
  seed: maybe(
    Type.Integer({
      description: 'The same seed and request give the same answer, where the upstream can.',
    }),
  ),
  stop: maybe(
    Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: CHAT_STOPS_MAX })], {
      'x-expected': `a string or an array of at most ${CHAT_STOPS_MAX} strings`,
    }),
  ),
  logit_bias: maybe(
    Type.Record(Type.String(), Type.Number({ minimum: -LOGIT_BIAS_MAX, maximum: LOGIT_BIAS_MAX }), {
      'x-expected': `an object of token ids with numbers from -${LOGIT_BIAS_MAX} to ${LOGIT_BIAS_MAX}`,
    }),
  ),
  stream: maybe(Type.Boolean({ description: 'Answers with server-sent events.' })),
  stream_options: maybe(
    Type.Object(
      { include_usage: maybe(Type.Boolean()) },
      { description: 'Only together with `stream: true`.' },
    ),
  ),
  user: userField,
  // Common extras of open-source servers. -1 and 0 switch top_k off there.
  top_k: maybe(Type.Integer({ minimum: -1 })),
  min_p: maybe(Type.Number({ minimum: 0, maximum: 1 })),
  repetition_penalty: maybe(Type.Number({ exclusiveMinimum: 0, maximum: REPETITION_PENALTY_MAX })),
};

/** OpenAI documents 64 characters; other upstreams take 128. */
const NAME_CHARS_MAX = 128;

const Name = Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX });

const FunctionDefinition = Type.Object({
  name: Name,
  description: maybe(Type.String()),
  parameters: maybe(Type.Object({}, { description: 'A JSON Schema. Passed on as it is.' })),
});

const Tool = Type.Union(
  [
    Type.Object({ type: Type.Literal('function'), function: FunctionDefinition }),
    Type.Object({ type: Type.Literal('custom'), custom: Type.Object({ name: Name }) }),
  ],
  { title: 'Tool', 'x-expected': 'a tool: an object with `type` and its definition' },
);

const ToolChoice = Type.Union(
  [
    Type.Enum(['none', 'auto', 'required']),
    Type.Object({ type: Type.Literal('function'), function: Type.Object({ name: Name }) }),
    Type.Object({ type: Type.Literal('custom'), custom: Type.Object({ name: Name }) }),
    Type.Object({ type: Type.Literal('allowed_tools'), allowed_tools: Type.Object({}) }),
  ],
  { 'x-expected': '`none`, `auto`, `required` or an object that names a tool' },
);

const ResponseFormat = Type.Union(
  [
    Type.Object({ type: Type.Enum(['text', 'json_object']) }),
    Type.Object({ type: Type.Literal('json_schema'), json_schema: Type.Object({}) }),
    // Constrained decoding of open-source servers: checked by them.
    Type.Object({ type: Type.Enum(['structural_tag', 'grammar', 'regex']) }),
  ],
  { 'x-expected': 'an object with `type`' },
);

/** Fields of a chat request about tools and the form of the answer. */
export const toolFields = {
  tools: maybe(Type.Array(Tool)),
  tool_choice: maybe(ToolChoice),
  parallel_tool_calls: maybe(Type.Boolean()),
  response_format: maybe(ResponseFormat),
  // The names of these two before tools existed.
  functions: maybe(Type.Array(FunctionDefinition, { minItems: 1 })),
  function_call: maybe(
    Type.Union([Type.Enum(['none', 'auto']), Type.Object({ name: Name })], {
      'x-expected': '`none`, `auto` or an object with `name`',
    }),
  ),
};
