import { OUR_REASONING } from '#shared/kernel/answer-ids.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { elements, memberText, setMember } from '#shared/kernel/json-text.ts';

/**
 * What a model of another server thought, in a request that goes as it came to one that speaks its interface itself: such
 * servers take back what they have signed or sealed, and refuse the rest. Everything else keeps its bytes.
 */

/** A request for a message without thoughts that have no signature: those that this service has made of a chat's. */
export function withoutUnsigned(body: string): string {
  if (!body.includes('"thinking"')) return body;
  return withElements(body, 'messages', (turn, text) => {
    if (!isObject(turn) || turn['role'] !== 'assistant') return text;
    const blocks = listOf(turn['content']);
    if (!blocks.some(isUnsigned)) return text;
    // Servers refuse a turn that says nothing.
    if (blocks.every(isUnsigned)) return undefined;
    return withElements(text, 'content', (block, own) => (isUnsigned(block) ? undefined : own));
  });
}

const isUnsigned = (block: unknown): boolean =>
  isObject(block) &&
  block['type'] === 'thinking' &&
  (block['signature'] == null || block['signature'] === '');

/**
 * A request for a response without reasoning that is not sealed: that of ours, and what is but a name for what its server was
 * told not to keep. Reasoning of an open server, which is a text, goes back to it.
 */
export function withoutUnsealed(body: string): string {
  if (!body.includes('"reasoning"')) return body;
  return withElements(body, 'input', (item, text) =>
    isObject(item) && isUnsealed(item) ? undefined : text,
  );
}

function isUnsealed({ type, id, encrypted_content: sealed, content }: JsonObject): boolean {
  if (type !== 'reasoning' || (typeof sealed === 'string' && sealed !== '')) return false;
  return OUR_REASONING.test(String(id)) || listOf(content).length === 0;
}

/** A text with the elements of a member as they are told; those that are undefined are left out. */
function withElements(
  text: string,
  member: string,
  told: (element: unknown, text: string) => string | undefined,
): string {
  const all = memberText(text, member);
  if (all?.startsWith('[') !== true) return text;
  const texts = elements(all).map(({ start, end }) => all.slice(start, end));
  const kept = texts.flatMap((one) => told(JSON.parse(one), one) ?? []);
  const isSame = kept.length === texts.length && kept.every((one, at) => one === texts[at]);
  return isSame ? text : setMember(text, member, `[${kept.join(',')}]`);
}
