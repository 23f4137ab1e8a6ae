import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';

/** What strict servers of chats want of messages, whichever interface these were written in. */

/** Between texts of a message, and between those of the system. */
export const BETWEEN_TEXTS = '\n';
export const BETWEEN_SYSTEM_TEXTS = '\n\n';

/** Texts alone as one: many servers take no parts where the system or a tool speaks, and templates of open models seldom. */
export function textOrParts(
  parts: readonly JsonObject[],
  between: string = BETWEEN_TEXTS,
): string | JsonObject[] {
  return parts.every(isText) ? parts.map(({ text }) => text).join(between) : [...parts];
}

const isText = ({ type }: JsonObject): boolean => type === 'text';

/** Adds what the system says: what it says first is one message, because strict templates refuse a second. */
export function addSystem(content: string | JsonObject[], messages: JsonObject[]): void {
  const [first] = messages;
  const isFirst = messages.length === 1 && first!['role'] === 'system';
  if (isFirst && typeof first!['content'] === 'string' && typeof content === 'string')
    first!['content'] = `${first!['content']}${BETWEEN_SYSTEM_TEXTS}${content}`;
  else messages.push({ role: 'system', content });
}

/** The messages with what tools returned right behind the calls, also where others came between them. */
export function withResultsBehindCalls(messages: readonly JsonObject[]): JsonObject[] {
  const groups: JsonObject[][] = [];
  const ofCall = new Map<unknown, JsonObject[]>();
  for (const message of messages) {
    const called = message['role'] === 'tool' ? ofCall.get(message['tool_call_id']) : undefined;
    if (called !== undefined) {
      called.push(message);
      continue;
    }
    const group = [message];
    groups.push(group);
    for (const call of listOf(message['tool_calls'])) ofCall.set((call as JsonObject)['id'], group);
  }
  return groups.flat();
}

/** What the message of a tool says that returned nothing but media. */
const SEE_BELOW = 'See the next message of the user.';

/**
 * The messages with images and files that tools returned in a message of the user's behind them, which says whose they are:
 * chat servers take nothing but texts of a tool.
 */
export function withMediaBehindResults(messages: readonly JsonObject[]): JsonObject[] {
  const out: JsonObject[] = [];
  let media: JsonObject[] = [];
  for (const message of messages) {
    const { role, content, tool_call_id: id } = message;
    if (role === 'tool' && Array.isArray(content)) {
      const parts = content.filter(isObject);
      const texts = parts.filter(isText);
      const others = parts.filter((part) => !isText(part));
      const text = texts.length === 0 ? SEE_BELOW : textOrParts(texts);
      out.push({ ...message, content: text });
      // Not spread: there may be very many.
      media.push({ type: 'text', text: `Returned by the call ${String(id)}:` });
      for (const part of others) media.push(part);
    } else if (role === 'tool' || media.length === 0) out.push(message);
    else {
      // Templates that want the turns to alternate refuse two of the user's.
      if (role === 'user') out.push({ ...message, content: media.concat(partsOf(content)) });
      else out.push({ role: 'user', content: media }, message);
      media = [];
    }
  }
  if (media.length > 0) out.push({ role: 'user', content: media });
  return out;
}

function partsOf(content: unknown): JsonObject[] {
  if (typeof content !== 'string') return listOf(content).filter(isObject);
  return content === '' ? [] : [{ type: 'text', text: content }];
}
