import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from '@ai-sdk/provider';
import { filePart, type TakesUrl } from './files.ts';
import { isObject, type Json, listOf, textOf } from '#shared/kernel/json-object.ts';
import { Untranslatable } from './untranslatable.ts';

type UserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number];
type AssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number];

/** What is known of the conversation so far: tool results name a call, providers want the tool's name as well. */
interface Context {
  /** Id of a tool call → name of the tool. */
  tools: Map<string, string>;
  takesUrl: TakesUrl;
}

/** The messages of a chat in the terms of the AI SDK. @throws Untranslatable */
export function promptOf(messages: unknown, takesUrl: TakesUrl): LanguageModelV4Prompt {
  const context: Context = { tools: new Map(), takesUrl };
  const prompt: LanguageModelV4Message[] = [];
  let leads = true;
  for (const [index, message] of listOf(messages).entries()) {
    if (!isObject(message)) continue;
    const next = messageOf(message, `messages[${index}]`, leads, context);
    leads &&= next.role === 'system';
    const last = prompt.at(-1);
    if (last?.role === next.role) endText(last);
    prompt.push(next);
  }
  return prompt;
}

/** Between texts that were members or messages of their own, where a provider has one for both. */
const BETWEEN = '\n\n';

/**
 * Some libraries make one message of several of one role: a word would go on from one into the next. It stands at the end,
 * because they trim what an assistant said last.
 */
function endText(message: LanguageModelV4Message): void {
  if (message.role === 'system') message.content += BETWEEN;
  else {
    const last = message.content.findLast((part) => part.type === 'text');
    if (last !== undefined) last.text += BETWEEN;
  }
}

function messageOf(
  message: Json,
  at: string,
  leads: boolean,
  context: Context,
): LanguageModelV4Message {
  switch (message['role']) {
    case 'system':
    case 'developer': {
      const text = plainText(message['content'], `${at}.content`);
      // Native interfaces have one system prompt, before everything else; later instructions keep their place instead.
      return leads
        ? { role: 'system', content: text }
        : { role: 'user', content: [{ type: 'text', text }] };
    }
    case 'assistant':
      return { role: 'assistant', content: assistantParts(message, at, context) };
    case 'tool':
      return toolResult(textOf(message['tool_call_id']) ?? '', message, at, context);
    case 'function':
      return toolResult(legacyCallId(textOf(message['name']) ?? ''), message, at, context);
    default:
      return { role: 'user', content: userParts(message['content'], `${at}.content`, context) };
  }
}

function userParts(content: unknown, at: string, { takesUrl }: Context): UserPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listOf(content).map((part, index) => {
    const where = `${at}[${index}]`;
    if (isObject(part)) {
      const text = textOf(part['text']);
      if (part['type'] === 'text' && text !== undefined) return { type: 'text', text };
      const file = filePart(part, where, takesUrl);
      if (file !== null) return file;
    }
    throw new Untranslatable(where, 'This model does not take such a content part.');
  });
}

function assistantParts(message: Json, at: string, { tools }: Context): AssistantPart[] {
  const parts: AssistantPart[] = [];
  const said = [plainText(message['content'], `${at}.content`), textOf(message['refusal']) ?? ''];
  const text = said.filter((one) => one !== '').join(BETWEEN);
  if (text !== '') parts.push({ type: 'text', text });
  const call = (id: string, called: unknown, where: string): void => {
    if (!isObject(called)) throw new Untranslatable(where, 'This model calls functions only.');
    const toolName = textOf(called['name']) ?? '';
    tools.set(id, toolName);
    const input = argumentsOf(called['arguments'], `${where}.arguments`);
    parts.push({ type: 'tool-call', toolCallId: id, toolName, input });
  };
  for (const [index, one] of listOf(message['tool_calls']).entries()) {
    if (!isObject(one)) continue;
    const where = `${at}.tool_calls[${index}].function`;
    call(textOf(one['id']) ?? `call_${index}`, one['function'], where);
  }
  const legacy = message['function_call'];
  if (isObject(legacy)) {
    call(legacyCallId(textOf(legacy['name']) ?? ''), legacy, `${at}.function_call`);
  }
  return parts;
}

/** Calls had no ids before tools existed; the name stands for one. */
const legacyCallId = (name: string): string => `call_${name}`;

/** Arguments were written by a model, and come back as it wrote them. */
function argumentsOf(text: unknown, at: string): unknown {
  if (text === undefined || text === null || text === '') return {};
  try {
    return JSON.parse(textOf(text) ?? 'not text');
  } catch {
    throw new Untranslatable(at, 'Arguments of a call must be JSON.');
  }
}

function toolResult(
  toolCallId: string,
  message: Json,
  at: string,
  context: Context,
): LanguageModelV4Message {
  const toolName = context.tools.get(toolCallId);
  if (toolName === undefined) {
    throw new Untranslatable(`${at}.tool_call_id`, 'No message before this one made this call.');
  }
  const output = outputOf(message['content'], `${at}.content`, context);
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] };
}

function outputOf(content: unknown, at: string, context: Context): LanguageModelV4ToolResultOutput {
  if (!Array.isArray(content)) return { type: 'text', value: textOf(content) ?? '' };
  // Urls in results are not handed on: some providers' libraries would fetch them from here.
  const parts = userParts(content, at, { ...context, takesUrl: () => false });
  return {
    type: 'content',
    value: parts.map((part) =>
      part.type === 'text'
        ? { type: 'text', text: part.text }
        : { type: 'file', mediaType: part.mediaType, data: part.data },
    ),
  };
}

/** A text, or the text of its parts. */
function plainText(content: unknown, at: string): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part, index) => {
      const text = isObject(part) ? (textOf(part['text']) ?? textOf(part['refusal'])) : undefined;
      if (text === undefined) throw new Untranslatable(`${at}[${index}]`, 'Only text can be here.');
      return text;
    })
    .join('');
}
