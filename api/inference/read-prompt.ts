import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import type { Model } from '#shared/catalogue/catalogue.ts';
import { type Dialect, PROMPT_PARAMS } from '#shared/kernel/inference.ts';
import { dropMembers } from '#shared/kernel/json-text.ts';
import { inTurns } from '#shared/kernel/turns.ts';
import type { TokenCounter } from '#shared/screening/files/token-counter.ts';
import { DATA_RULE } from '#shared/screening/data-texts.ts';
import { fittingBudget, promptsOf } from '#shared/screening/prompt.ts';
import type { Screen, Verdict } from '#shared/screening/screen.ts';
import {
  BESIDE_TEXTS_MAX,
  type DecodeTokens,
  SCREENED_CHARS_MAX,
  type Texts,
  textsOf,
  translatedTextsOf,
} from '#shared/screening/texts.ts';
import type { JsonBody } from '#api/openai/parse-json.ts';
import type { ParsedBody } from './read.ts';

export interface ReadPromptDeps {
  screen: Screen;
  tokens: TokenCounter;
  /** Told how many more characters are screened of a request than it has, in all ways together. */
  onAgain?: ((chars: number) => void) | undefined;
}

/** What must be known of a model to read a prompt for it. */
export type ReadingModel = Pick<Model, 'id' | 'contextWindow' | 'tokenizer'>;

export interface ReadPromptOptions {
  /** A request for a message goes on as it came; otherwise the chat does that it has become. */
  asMessage?: boolean | undefined;
}

/** Our own request fields: the upstream never sees them. */
const OWN_FIELDS = ['region', 'tier', 'receipt'];
/**
 * And those with which Anthropic's servers would answer with another model, or elsewhere, than the receipt says, or at another
 * price than the catalogue's; what names the person behind a request; and what is of one customer of theirs, which here all
 * organisations are together.
 */
const NOT_IN_MESSAGES = [
  ...OWN_FIELDS,
  'billing_policy',
  'container',
  'fallback_credit_token',
  'fallbacks',
  'inference_geo',
  'metadata',
  'speed',
  'thread',
  'user_profile_id',
  'workspace_id',
];
/** Texts up to this length are screened in one go (a millisecond, four of the densest); longer ones in turns. */
const ONE_GO_CHARS = 32 * 1024;
/** No writing has more characters per token; ids of long runs of spaces would be a small body with 128 times its text. */
const CHARS_PER_ID_MAX = 16;
/** A few ids may stand for long runs all the same. */
const CHARS_OF_FEW_IDS = 4_096;

/** The name of a field as interfaces have them: any other is not repeated to the caller. */
const PASSED_THROUGH = /^[a-z][a-z0-9_]{0,63}$/;

/** What has been read of a request for a model. */
export interface Read {
  /** The rule that the request breaks. */
  verdict: Verdict | null;
  texts: string[];
  /** The body for the upstream: JSON text, or its UTF-8. */
  forUpstream: string | Uint8Array;
  /** The input of this request alone, where its response is to be kept. */
  ownInput?: string | undefined;
}

/**
 * Reads what the model would read: by the rules of the policy, and whether the model can hold it.
 * Synchronous for bodies of ordinary size.
 * @throws Fault when it cannot
 */
export function readPrompt(
  deps: ReadPromptDeps,
  body: ParsedBody,
  model: ReadingModel,
  { asMessage = false }: ReadPromptOptions = {},
): Read | Promise<Read> {
  const { route, rawBody } = body;
  const decode = deps.tokens.decoder(model.tokenizer);
  checkTokens(body, model, decode);
  const texts = screenedTexts(body, decode && bounded(decode, route));
  const message = asMessage ? body.message : undefined;
  if (message !== undefined) addTexts(textsOf('messages', message.value), texts);
  let chars = 0;
  for (const text of texts) chars += text.length;
  if (chars > SCREENED_CHARS_MAX) throw tooMuchToScreen(model, route);
  deps.onAgain?.(Math.max(0, chars - rawBody.length));
  const isLong = chars > ONE_GO_CHARS;
  if (isLong || rawBody.length > model.contextWindow)
    return readLong(deps, body, model, { texts, isLong, message });
  return { verdict: deps.screen.check(texts), texts, ...passedOn(body, message) };
}

/** The tokens that a model reads of a request, as answers without usage are counted. */
export async function countPrompt(
  deps: Pick<ReadPromptDeps, 'tokens'>,
  { route, parsed }: ParsedBody,
  { tokenizer }: ReadingModel,
): Promise<number> {
  const { tokens } = await deps.tokens.countPrompts(promptsOf(route, parsed), tokenizer);
  return tokens;
}

async function readLong(
  { screen, tokens }: ReadPromptDeps,
  body: ParsedBody,
  model: ReadingModel,
  { texts, isLong, message }: { texts: string[]; isLong: boolean; message: JsonBody | undefined },
): Promise<Read> {
  const verdict = isLong ? await inTurns(screen.checkInTurns(texts)) : screen.check(texts);
  if (verdict === null) await checkLength(tokens, body, model);
  return { verdict, texts, ...passedOn(body, message) };
}

function passedOn(
  { text, ownInput }: ParsedBody,
  message: JsonBody | undefined,
): Pick<Read, 'forUpstream' | 'ownInput'> {
  const forUpstream =
    message === undefined
      ? dropMembers(text, OWN_FIELDS)
      : dropMembers(message.text, NOT_IN_MESSAGES);
  return { forUpstream, ownInput };
}

/**
 * Everything that an upstream may be sent as a text, in the order and in the pieces in which it may be put together there.
 * What stands beside the prompt is read after it, by the same rules.
 */
function screenedTexts({ route, parsed }: ParsedBody, decode: DecodeTokens | undefined): string[] {
  const all: string[] = [];
  addTexts(textsOf(route, parsed, decode), all);
  const translated = route === 'responses' ? translatedTextsOf(parsed) : undefined;
  if (translated !== undefined) addTexts(translated, all);
  return all;
}

/** @throws Fault where there are more than are read, and where data are not read alike everywhere */
function addTexts({ prompt, joined, beside, tooMany, unlike }: Texts, all: string[]): void {
  if (unlike !== undefined) throw invalidParam(unlike, `Data in \`${unlike}\` ${DATA_RULE}.`);
  if (tooMany !== undefined) {
    throw invalidParam(
      PASSED_THROUGH.test(tooMany) ? tooMany : 'body',
      `Names and texts beside the prompt must be at most ${BESIDE_TEXTS_MAX.toLocaleString('en-US')}.`,
    );
  }
  for (const texts of [prompt, joined, beside]) for (const text of texts) all.push(text);
}

/** Refuses token ids before they are decoded: those that cannot be, and more than the model can hold. */
function checkTokens(
  { route, parsed }: ParsedBody,
  model: ReadingModel,
  decode: DecodeTokens | undefined,
): void {
  if (route === 'chat.completions' || route === 'responses') return;
  for (const { tokens } of promptsOf(route, parsed)) {
    if (tokens === 0) continue;
    if (tokens > model.contextWindow) throw tooLong(model, route);
    // What cannot be read cannot be screened, so it would be a way around every rule.
    if (decode !== undefined) continue;
    throw invalidParam(
      PROMPT_PARAMS[route],
      'This model takes text; its token ids cannot be read by the gateway.',
    );
  }
}

function bounded(decode: DecodeTokens, route: Dialect): DecodeTokens {
  return (tokens) => {
    const charsMax = CHARS_OF_FEW_IDS + tokens.length * CHARS_PER_ID_MAX;
    const text = decode(tokens, charsMax);
    if (text.length <= charsMax) return text;
    throw invalidParam(
      PROMPT_PARAMS[route],
      `The token ids stand for more text than writing has: over ${CHARS_PER_ID_MAX} characters each.`,
    );
  };
}

/** Refuses a prompt that cannot fit the model's context window. A body with no more bytes than that has tokens fits unread. */
async function checkLength(
  tokens: TokenCounter,
  { route, parsed, rawBody }: ParsedBody,
  model: ReadingModel,
): Promise<void> {
  if (rawBody.length <= model.contextWindow) return;
  const budget = fittingBudget();
  for (const prompt of promptsOf(route, parsed)) {
    if (!(await tokens.promptFits(prompt, model, budget))) throw tooLong(model, route);
  }
}

function tooMuchToScreen({ id }: ReadingModel, route: Dialect): Fault {
  return new Fault('prompt_too_long', {
    param: PROMPT_PARAMS[route],
    message: `The prompt is longer than is screened of a request for ${id}, in every order in which its parts, files, refusals and thoughts may be put together (context_length_exceeded).`,
  });
}

function tooLong({ id, contextWindow }: ReadingModel, route: Dialect): Fault {
  return new Fault('prompt_too_long', {
    values: { model: id, tokens: contextWindow },
    param: PROMPT_PARAMS[route],
  });
}
