import { isObject, listOf } from '#shared/kernel/json-object.ts';
import { stringEnd } from '#shared/kernel/json-text.ts';
import { LONG, nextTurn } from '#shared/kernel/turns.ts';

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
  for (let at = startOfVector(text, 0); at !== undefined; at = startOfVector(text, copied)) {
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

/** Says where to look, since other answers are read between the turns of this one. */
function startOfVector(text: string, from: number): number | undefined {
  VECTOR.lastIndex = from;
  return VECTOR.test(text) ? VECTOR.lastIndex : undefined;
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
