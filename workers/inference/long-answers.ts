import { randomUUID } from 'node:crypto';
import { isObject, listOf } from '#shared/kernel/json-object.ts';
import { endOfValue, skipSpace, stringEnd } from '#shared/kernel/json-text.ts';
import { LONG, nextTurn } from '#shared/kernel/turns.ts';
import { UpstreamError, type UpstreamFailure } from './providers/upstream-failure.ts';

/** JSON of up to so many characters is read or written in one step: where it is dense that takes some 100 ms. */
export const DENSE_CHARS = 8 * LONG;
/** And a longer one with no more of these marks in it than such a one has: an image is one long text. */
const MARKS_MAX = 2 * LONG;
const MARKS = ['"', ',', '['] as const;

export const TOO_DENSE: UpstreamFailure = {
  kind: 'too_large',
  detail: 'the answer holds more than is read in one step: millions of values',
};

/** Whether JSON holds so much, and not only long texts, that other requests would wait while it is parsed in one step. */
export function isDense(json: string): boolean {
  if (json.length <= DENSE_CHARS) return false;
  let left = MARKS_MAX;
  for (const mark of MARKS)
    for (let at = json.indexOf(mark); at !== -1 && left > 0; at = json.indexOf(mark, at + 1))
      left -= 1;
  return left <= 0;
}

/** A long answer without its log probabilities, of which it may have a hundred megabytes. */
export interface WithoutLogprobs {
  /** In each list of them stands one text that names it. */
  text: string;
  /**
   * A text that was made of that one, with the lists as they came.
   * @throws UpstreamError where one would stand within a text
   */
  restored: (text: string) => string;
}

/** Where lists of log probabilities begin: of chats, of items of responses, and of completions. */
const LOGPROBS =
  /"(?:logprobs|tokens|token_logprobs|top_logprobs|text_offset)"\s*:\s*(?=\[)|"logprobs"\s*:\s*\{\s*(?:"refusal"\s*:\s*null\s*,\s*)?"content"\s*:\s*(?=\[)/g;

/**
 * Takes the log probabilities out of a long answer, in turns, and parses them for no more than to know that they are JSON.
 * @throws SyntaxError as JSON.parse does
 */
export async function withoutLogprobs(text: string): Promise<WithoutLogprobs> {
  if (!text.includes('"logprobs"')) return { text, restored: (same) => same };
  // No text of the answer can have it.
  const mark = randomUUID();
  const lists: string[] = [];
  let rest = '';
  let copied = 0;
  for (let at = endOf(LOGPROBS, text, 0); at !== undefined; at = endOf(LOGPROBS, text, copied)) {
    const end = await endOfList(text, at);
    lists.push(text.slice(at + 1, end));
    rest += `${text.slice(copied, at)}["${mark} ${lists.length - 1}"`;
    copied = end;
  }
  const named = new RegExp(`"${mark} (\\d+)"`);
  return {
    text: rest + text.slice(copied),
    restored(made) {
      const parts = made.split(named);
      return parts.map((part, at) => (at % 2 === 1 ? lists[Number(part)] : outside(part))).join('');
    },
  };

  function outside(part: string): string {
    if (!part.includes(mark)) return part;
    const detail = 'the answer has log probabilities in what a tool is called with';
    throw new UpstreamError({ kind: 'malformed', detail });
  }
}

/** So much of a list is parsed in one turn. */
const PIECE = LONG / 4;

/** Where a list ends that begins at `start`: the place of its bracket. */
async function endOfList(text: string, start: number): Promise<number> {
  let from = start + 1;
  for (let end = from; ; end += 1) {
    end = skipSpace(text, endOfValue(text, skipSpace(text, end)));
    const goesOn = text[end] === ',';
    if (goesOn && end - from < PIECE) continue;
    const piece = text.slice(from, end);
    if (isDense(piece)) throw new SyntaxError('an element of a list is too long');
    // Behind a comma there is an element.
    JSON.parse(from === start + 1 ? `[${piece}]` : `[0,${piece}]`);
    if (!goesOn && text[end] !== ']') throw new SyntaxError('a list does not end');
    if (!goesOn) return end;
    await nextTurn();
    from = end + 1;
  }
}

/** Where a vector begins. No text of JSON has this in it: its quotes would have escapes. */
const VECTOR = /"embedding"\s*:\s*(?=[["])/g;

/**
 * Parses embeddings as JSON.parse does, each vector by itself and in turns: all together, up to 90 MB, they would keep every
 * stream of the worker waiting for a second.
 * @throws SyntaxError as JSON.parse does
 */
export async function parseEmbeddings(text: string): Promise<unknown> {
  const vectors: unknown[] = [];
  let rest = '';
  let copied = 0;
  let turnAt = LONG;
  for (let at = endOf(VECTOR, text, 0); at !== undefined; at = endOf(VECTOR, text, copied)) {
    const end = text[at] === '"' ? stringEnd(text, at) : text.indexOf(']', at) + 1;
    const vector = text.slice(at, end);
    // Vectors in a vector are for the parser. Looking back from each end for where a list begins would find, of vectors in
    // base64, the beginning of the answer, and take minutes of a large one.
    if (end === 0 || vector.lastIndexOf('[') > 0) return JSON.parse(text);
    vectors.push(JSON.parse(vector));
    rest += text.slice(copied, at) + String(vectors.length - 1);
    copied = end;
    if (copied < turnAt) continue;
    await nextTurn();
    turnAt = copied + LONG;
  }
  const parsed: unknown = JSON.parse(rest + text.slice(copied));
  return hasAll(parsed, vectors) ? parsed : JSON.parse(text);
}

/** Behind what is found next. Says where to look, since other answers are read between the turns of this one. */
function endOf(sought: RegExp, text: string, from: number): number | undefined {
  sought.lastIndex = from;
  return sought.test(text) ? sought.lastIndex : undefined;
}

/** Puts the vectors in the places of their numbers; false where they have others. */
function hasAll(parsed: unknown, vectors: readonly unknown[]): boolean {
  const items = listOf(isObject(parsed) ? parsed['data'] : undefined);
  if (items.length !== vectors.length) return false;
  for (const [at, item] of items.entries()) {
    if (!isObject(item) || item['embedding'] !== at) return false;
    item['embedding'] = vectors[at];
  }
  return true;
}
