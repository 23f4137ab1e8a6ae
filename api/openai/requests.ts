import Type from 'typebox';
import { TEXTS_MAX } from '#shared/kernel/inference.ts';
import {
  CHOICES_MAX,
  maybe,
  modelField,
  ownFields,
  samplerFields,
  toolFields,
  userField,
} from './fields.ts';
import { Messages } from './messages.ts';

/** OpenAI takes at most 2,048 inputs in one embeddings request. */
const EMBEDDING_INPUTS_MAX = 2048;
/** One array of token ids: as long as the longest context window on offer (1 M). */
const TOKENS_MAX = 1_048_576;
/** Token ids are 32-bit in every tokenizer. */
const TOKEN_ID_MAX = 2_147_483_647;
/** Far above any model; bounds what a client can make the gateway expect back. */
const DIMENSIONS_MAX = 65_536;

const TokenId = Type.Integer({
  minimum: 0,
  maximum: TOKEN_ID_MAX,
  'x-expected': 'a token id (an integer of 0 or more)',
});
const Tokens = Type.Array(TokenId, {
  minItems: 1,
  maxItems: TOKENS_MAX,
  'x-expected': 'a non-empty array of token ids',
});

const Prompt = Type.Union(
  [
    Type.String(),
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: TEXTS_MAX,
      'x-expected': `an array of 1 to ${TEXTS_MAX} strings`,
    }),
    Tokens,
    Type.Array(Tokens, {
      minItems: 1,
      maxItems: TEXTS_MAX,
      'x-expected': `an array of 1 to ${TEXTS_MAX} token arrays`,
    }),
  ],
  {
    'x-expected':
      'a string, an array of strings, an array of token ids or an array of token arrays',
  },
);

const InputText = Type.String({ minLength: 1, 'x-expected': 'a non-empty string' });
const Input = Type.Union(
  [
    InputText,
    Type.Array(InputText, {
      minItems: 1,
      maxItems: EMBEDDING_INPUTS_MAX,
      'x-expected': `an array of 1 to ${EMBEDDING_INPUTS_MAX} non-empty strings`,
    }),
    Tokens,
    Type.Array(Tokens, {
      minItems: 1,
      maxItems: EMBEDDING_INPUTS_MAX,
      'x-expected': `an array of 1 to ${EMBEDDING_INPUTS_MAX} token arrays`,
    }),
  ],
  {
    'x-expected':
      'a non-empty string, an array of strings, an array of token ids or an array of token arrays',
  },
);

/** POST /chat/completions. Fields that are not named pass through untouched. */
export const ChatBody = Type.Object(
  {
    model: modelField,
    messages: Messages,
    ...samplerFields,
    max_completion_tokens: maybe(Type.Integer({ minimum: 1 })),
    logprobs: maybe(Type.Boolean()),
    top_logprobs: maybe(Type.Integer({ minimum: 0, maximum: 20 })),
    ...toolFields,
    ...ownFields,
  },
  { title: 'ChatCompletionRequest' },
);

/** POST /completions. `logprobs` is a number here, as the legacy interface has it. */
export const CompletionBody = Type.Object(
  {
    model: modelField,
    prompt: Prompt,
    ...samplerFields,
    // Scoring: with `echo` and `logprobs` the answer is the prompt with the likelihood of its tokens.
    max_tokens: maybe(
      Type.Integer({
        minimum: 0,
        description: 'Where the answer ends at the latest; 0 generates nothing.',
      }),
    ),
    best_of: maybe(
      Type.Integer({
        minimum: 1,
        maximum: CHOICES_MAX,
        description: 'How many answers are generated for the best of them. Bounded as `n` is.',
      }),
    ),
    logprobs: maybe(Type.Integer({ minimum: 0, maximum: 5 })),
    echo: maybe(Type.Boolean()),
    suffix: maybe(Type.String()),
    ...ownFields,
  },
  { title: 'CompletionRequest' },
);

/** POST /embeddings. */
export const EmbeddingBody = Type.Object(
  {
    model: modelField,
    input: Input,
    encoding_format: maybe(Type.Enum(['float', 'base64'])),
    dimensions: maybe(Type.Integer({ minimum: 1, maximum: DIMENSIONS_MAX })),
    // Its answer would be read as events, which no server sends, and its upstream taken for broken.
    stream: maybe(Type.Literal(false)),
    user: userField,
    ...ownFields,
  },
  { title: 'EmbeddingRequest' },
);

export type ChatRequest = Type.Static<typeof ChatBody>;
export type CompletionRequest = Type.Static<typeof CompletionBody>;
export type EmbeddingRequest = Type.Static<typeof EmbeddingBody>;
