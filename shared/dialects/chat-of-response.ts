import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';
import { argumentsOfCustom, functionOfCustom } from './custom-tools.ts';
import {
  addSystem,
  BETWEEN_SYSTEM_TEXTS,
  BETWEEN_TEXTS,
  textOrParts,
  withMediaBehindResults,
  withResultsBehindCalls,
} from './chat-parts.ts';
import { allowedIn, type ChatTools, chatToolsOf } from './response-tools.ts';

/**
 * Fields of a request for a response that say something to a chat server under another name, or nothing at all. What is in
 * neither list passes through: extras of open-source servers have the same names in both interfaces.
 */
const TRANSLATED = ['input', 'instructions', 'max_output_tokens', 'reasoning', 'text'] as const;
/** What only a server of responses acts upon. They are repeated in the answer. */
const NOT_PASSED_ON = [
  'background',
  'client_metadata',
  'conversation',
  'include',
  'max_tool_calls',
  'metadata',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'store',
  'stream_options',
  'tool_choice',
  'tools',
  'top_logprobs',
  'truncation',
] as const;
const OWN: ReadonlySet<string> = new Set([...TRANSLATED, ...NOT_PASSED_ON]);

/**
 * A request for a response as a request for a chat completion, which every upstream speaks. The api has validated it; what a
 * chat server cannot run, and what it has no words for, is left out.
 * @param takesReasoning whether the messages of the assistant may have `reasoning_content`
 */
export function chatRequestOf(body: JsonObject, takesReasoning = false): JsonObject {
  const chat: JsonObject = {};
  for (const name in body) if (!OWN.has(name) && body[name] !== null) chat[name] = body[name];
  const known = chatToolsOf(body);
  chat['messages'] = messagesOf(body, known, takesReasoning);
  // Not `max_completion_tokens`, which many servers of open models do not know; OpenAI's own speak responses.
  if (body['max_output_tokens'] != null) chat['max_tokens'] = body['max_output_tokens'];
  const { effort } = (body['reasoning'] ?? {}) as JsonObject;
  if (effort != null) chat['reasoning_effort'] = effort;
  const { format, verbosity } = (body['text'] ?? {}) as JsonObject;
  if (isObject(format) && format['type'] !== 'text')
    chat['response_format'] = responseFormatOf(format);
  if (verbosity != null) chat['verbosity'] = verbosity;
  if (known.tools.length > 0) {
    chat['tools'] = known.tools.map(({ name, tool }) => toolOf({ ...tool, name }));
    if (known.choice !== undefined) chat['tool_choice'] = toolChoiceOf(known.choice, known);
    // Servers refuse it where there are no tools.
  } else delete chat['parallel_tool_calls'];
  const wanted = Number(body['top_logprobs'] ?? 0);
  if (wanted > 0 || listOf(body['include']).includes('message.output_text.logprobs')) {
    chat['logprobs'] = true;
    if (wanted > 0) chat['top_logprobs'] = wanted;
  }
  return chat;
}

function messagesOf(
  { instructions, input }: JsonObject,
  tools: ChatTools,
  takesReasoning: boolean,
): JsonObject[] {
  const messages: JsonObject[] = [];
  if (typeof instructions === 'string' && instructions !== '') addSystem(instructions, messages);
  if (typeof input === 'string') messages.push({ role: 'user', content: input });
  let thoughts: string[] = [];
  for (const item of listOf(input)) {
    if (!isObject(item)) continue;
    // Chat servers refuse what a model thought, or make it text, unless it is known that they do not.
    if (item['type'] === 'reasoning') {
      if (takesReasoning) for (const thought of thoughtsOf(item)) thoughts.push(thought);
    } else if (addItem(item, messages, tools)) {
      addThoughts(thoughts, messages.at(-1)!);
      thoughts = [];
    }
  }
  return withMediaBehindResults(withResultsBehindCalls(messages));
}

/** What a model thought, in full where that is told. */
function thoughtsOf({ content, summary }: JsonObject): string[] {
  const parts = listOf(content).length > 0 ? content : summary;
  return listOf(parts)
    .filter(isObject)
    .flatMap(({ text }) => (typeof text === 'string' && text !== '' ? [text] : []));
}

/** What was thought belongs to what was said or called behind it; behind it is nothing of the assistant's. */
function addThoughts(thoughts: readonly string[], message: JsonObject): void {
  if (thoughts.length === 0 || message['role'] !== 'assistant') return;
  const before = message['reasoning_content'];
  const more = thoughts.join('\n\n');
  // Not joined with the rest, which would be copied for each of thousands of thoughts.
  message['reasoning_content'] = typeof before === 'string' ? `${before}\n\n${more}` : more;
}

/**
 * Adds what an item says; false where that is nothing to a chat server. What an assistant said and called in a row is one
 * message of a chat.
 */
function addItem(item: JsonObject, messages: JsonObject[], { nameOf }: ChatTools): boolean {
  const { role, name, namespace } = item;
  switch (item['type'] ?? 'message') {
    case 'message': {
      // A reference need not say what it is.
      if (typeof role !== 'string') return false;
      if (role === 'assistant') addAssistant(item['content'], messages);
      // `developer` is OpenAI's newer name, which few servers know.
      else if (role === 'developer' || role === 'system')
        addSystem(contentOf(item['content'], BETWEEN_SYSTEM_TEXTS), messages);
      else messages.push({ role, content: contentOf(item['content']) });
      return true;
    }
    case 'function_call':
      addCall(messages, {
        id: item['call_id'],
        type: 'function',
        function: { name: nameOf(name, namespace), arguments: item['arguments'] },
      });
      return true;
    case 'custom_tool_call':
      addCall(messages, {
        id: item['call_id'],
        type: 'function',
        function: { name: nameOf(name, namespace), arguments: argumentsOfCustom(item['input']) },
      });
      return true;
    case 'function_call_output':
    case 'custom_tool_call_output':
      messages.push({
        role: 'tool',
        tool_call_id: item['call_id'],
        content: contentOf(item['output']),
      });
      return true;
    default:
      // References to what no chat server keeps, and what tools did that it does not run.
      return false;
  }
}

/**
 * What tools did that a server of responses runs, or asks its caller to run by a name of its own, and what it is told of
 * itself. A chat loses no word by the lack of one; of a `compaction` it would lose a conversation, so that is among the others.
 */
export const HOSTED_ITEM_TYPES = [
  'apply_patch_call',
  'apply_patch_call_output',
  'code_interpreter_call',
  'computer_call',
  'computer_call_output',
  'configuration_update',
  'file_search_call',
  'image_generation_call',
  'local_shell_call',
  'local_shell_call_output',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_call',
  'mcp_list_tools',
  'program',
  'program_output',
  'shell_call',
  'shell_call_output',
  'tool_search_call',
  'tool_search_output',
  'web_search_call',
] as const;
const HOSTED: ReadonlySet<unknown> = new Set(HOSTED_ITEM_TYPES);

const SAID: ReadonlySet<unknown> = new Set([
  'message',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
]);

/** Whether an item is of a type that goes to servers of responses alone, and is no call that such a server has made. */
export function isOnlyInResponses(item: JsonObject): boolean {
  const { type } = item;
  return typeof type === 'string' && !isSaidInChats(item) && !HOSTED.has(type) && !QUIET.has(type);
}

/** What stands for another item, or brings tools, which are counted with the others. */
const QUIET: ReadonlySet<unknown> = new Set(['item_reference', 'additional_tools']);

/** Whether chats have words for an item, as some have for reasoning. */
export function isSaidInChats({ type, role }: JsonObject): boolean {
  return type == null ? role != null : SAID.has(type);
}

function addAssistant(content: unknown, messages: JsonObject[]): void {
  const message: JsonObject = { role: 'assistant' };
  const parts =
    typeof content === 'string' ? [{ text: content }] : listOf(content).filter(isObject);
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  const refusals = parts.flatMap(({ refusal }) => (typeof refusal === 'string' ? [refusal] : []));
  if (texts.length > 0 || refusals.length === 0) message['content'] = texts.join('');
  if (refusals.length > 0) message['refusal'] = refusals.join('');
  messages.push(message);
}

function addCall(messages: JsonObject[], call: JsonObject): void {
  let last = messages.at(-1);
  if (last?.['role'] !== 'assistant') {
    last = { role: 'assistant', content: null };
    messages.push(last);
  }
  const calls = last['tool_calls'] as JsonObject[] | undefined;
  if (calls === undefined) last['tool_calls'] = [call];
  else calls.push(call);
}

function contentOf(content: unknown, between: string = BETWEEN_TEXTS): string | JsonObject[] {
  if (typeof content === 'string') return content;
  return textOrParts(listOf(content).filter(isObject).map(partOf), between);
}

function partOf(part: JsonObject): JsonObject {
  const { type, text, image_url: url, detail, file_data: data, filename } = part;
  if (type === 'input_image')
    return { type: 'image_url', image_url: { url, ...(detail != null ? { detail } : {}) } };
  if (type === 'input_audio') return part;
  if (type === 'input_file')
    return {
      type: 'file',
      file: { file_data: data, ...(filename != null ? { filename } : {}) },
    };
  return { type: 'text', text };
}

function toolOf(tool: JsonObject): JsonObject {
  const known = tool['type'] === 'custom' ? functionOfCustom(tool) : tool;
  return { type: 'function', function: present(known, FUNCTION_FIELDS) };
}

const FUNCTION_FIELDS = ['name', 'description', 'parameters', 'strict'];

function present(from: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name) => (from[name] != null ? [[name, from[name]]] : [])),
  );
}

function toolChoiceOf(choice: unknown, tools: ChatTools): unknown {
  if (!isObject(choice)) return choice;
  const { type, name, namespace, mode } = choice;
  const named = (known: unknown) => ({ type: 'function', function: { name: known } });
  if (type !== 'allowed_tools') return named(tools.nameOf(name, namespace));
  const allowed = allowedIn(choice, tools).map(named);
  // All of them are of a namespace whose tools a server would have to run.
  if (allowed.length === 0) return 'auto';
  return { type, allowed_tools: { mode, tools: allowed } };
}

function responseFormatOf(format: JsonObject): JsonObject {
  const { type, ...schema } = format;
  return type === 'json_schema' ? { type, json_schema: schema } : { type };
}
