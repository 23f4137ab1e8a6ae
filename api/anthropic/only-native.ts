import type { OnlyNative } from '#api/inference/only-native.ts';
import { isBlockSaid } from '#shared/dialects/chat-of-message.ts';
import { CHAT_STOPS_MAX } from '#shared/kernel/inference.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { TOOL_CHOICES } from './requests.ts';

const CHOICES: ReadonlySet<unknown> = new Set(TOOL_CHOICES);

/** The first thing in a validated request for a message that goes to servers of this interface alone. */
export function onlyInMessages(body: JsonObject): OnlyNative | undefined {
  const { messages, system, stop_sequences: stops, tool_choice: choice, max_tokens: most } = body;
  for (const [at, message] of listOf(messages).entries()) {
    const { role, content } = message as JsonObject;
    const place = `messages[${at}].content`;
    const found = inBlocks('messages', content, { place, isAssistants: role === 'assistant' });
    if (found !== undefined) return found;
  }
  const inSystem = inBlocks('system', system, { place: 'system', isAssistants: false });
  if (inSystem !== undefined) return inSystem;
  if (listOf(stops).length > CHAT_STOPS_MAX)
    return field('stop_sequences', `a list of more than ${CHAT_STOPS_MAX}`);
  if (isObject(choice) && !CHOICES.has(choice['type']))
    return field('tool_choice', `of the type \`${String(choice['type'])}\``);
  return most === 0 ? field('max_tokens', '0') : undefined;
}

const field = (name: string, what: string): OnlyNative => ({ field: name, place: name, what });

function inBlocks(
  name: string,
  content: unknown,
  { place, isAssistants }: { place: string; isAssistants: boolean },
): OnlyNative | undefined {
  for (const [at, block] of listOf(content).entries()) {
    if (!isObject(block)) continue;
    const here = `${place}[${at}]`;
    if (!isBlockSaid(block, isAssistants)) return { field: name, place: here, what: whatIs(block) };
    const inside = contentOf(block, here);
    const found = inside && inBlocks(name, inside.content, { ...inside, isAssistants: false });
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The blocks in a block. */
function contentOf(
  { type, content, source }: JsonObject,
  place: string,
): { content: unknown; place: string } | undefined {
  if (type === 'tool_result') return { content, place: `${place}.content` };
  if (type !== 'document' || !isObject(source)) return undefined;
  return { content: source['content'], place: `${place}.source.content` };
}

function whatIs({ type, source }: JsonObject): string {
  const of = isObject(source) ? ` from a source of the type \`${String(source['type'])}\`` : '';
  return `a block of the type \`${String(type)}\`${of}`;
}
