import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';

/**
 * Fields of a request for a response that say something to a chat server under another name, or nothing at all. What is in
 * neither list passes through: extras of open-source servers have the same names in both interfaces.
 */
const TRANSLATED = ['input', 'instructions', 'max_output_tokens', 'reasoning', 'text'] as const;
/** What only a server of responses acts upon. They are repeated in the answer. */
const NOT_PASSED_ON = [
  'background',
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
 * A request for a response as a request for a chat completion, which every upstream speaks. The api has validated it: what
 * could not be translated was refused there.
 */
export function chatRequestOf(body: JsonObject): JsonObject {
  const chat: JsonObject = {};
  for (const name in body) if (!OWN.has(name) && body[name] !== null) chat[name] = body[name];
  chat['messages'] = messagesOf(body);
  // Not `max_completion_tokens`, which many servers of open models do not know; OpenAI's own speak responses.
  if (body['max_output_tokens'] != null) chat['max_tokens'] = body['max_output_tokens'];
  const { effort } = (body['reasoning'] ?? {}) as JsonObject;
  if (effort != null) chat['reasoning_effort'] = effort;
  const { format, verbosity } = (body['text'] ?? {}) as JsonObject;
  if (isObject(format) && format['type'] !== 'text')
    chat['response_format'] = responseFormatOf(format);
  if (verbosity != null) chat['verbosity'] = verbosity;
  const tools = listOf(body['tools']);
  if (tools.length > 0) {
    chat['tools'] = tools.map(toolOf);
    if (body['tool_choice'] != null) chat['tool_choice'] = toolChoiceOf(body['tool_choice']);
  }
  const wanted = Number(body['top_logprobs'] ?? 0);
  if (wanted > 0 || listOf(body['include']).includes('message.output_text.logprobs')) {
    chat['logprobs'] = true;
    if (wanted > 0) chat['top_logprobs'] = wanted;
  }
  return chat;
}

function messagesOf({ instructions, input }: JsonObject): JsonObject[] {
  const messages: JsonObject[] = [];
  if (typeof instructions === 'string' && instructions !== '')
    messages.push({ role: 'system', content: instructions });
  if (typeof input === 'string') messages.push({ role: 'user', content: input });
  for (const item of listOf(input)) if (isObject(item)) addItem(item, messages);
  return messages;
}

/** Adds what an item says. What an assistant said and called in a row is one message of a chat. */
function addItem(item: JsonObject, messages: JsonObject[]): void {
  switch (item['type'] ?? 'message') {
    case 'message': {
      const role = item['role'];
      if (role === 'assistant') return addAssistant(item['content'], messages);
      // `developer` is OpenAI's newer name, which few servers know.
      messages.push({
        role: role === 'developer' ? 'system' : role,
        content: contentOf(item['content']),
      });
      return;
    }
    case 'function_call':
      return addCall(messages, {
        id: item['call_id'],
        type: 'function',
        function: { name: item['name'], arguments: item['arguments'] },
      });
    case 'custom_tool_call':
      return addCall(messages, {
        id: item['call_id'],
        type: 'custom',
        custom: { name: item['name'], input: item['input'] },
      });
    case 'function_call_output':
    case 'custom_tool_call_output':
      messages.push({
        role: 'tool',
        tool_call_id: item['call_id'],
        content: contentOf(item['output']),
      });
      return;
    default:
    // Reasoning is given back to servers that know what to do with it; chat servers refuse it, or make it text.
  }
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
  last['tool_calls'] = [...listOf(last['tool_calls']), call];
}

/** A single text as such: templates of open models take parts seldom better than a text. */
function contentOf(content: unknown): unknown {
  if (typeof content === 'string') return content;
  const parts = listOf(content).filter(isObject).map(partOf);
  const [first] = parts;
  return parts.length === 1 && first?.['type'] === 'text' ? first['text'] : parts;
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

function toolOf(tool: unknown): JsonObject {
  const { type, format, ...rest } = tool as JsonObject;
  if (type !== 'custom') return { type: 'function', function: present(rest, FUNCTION_FIELDS) };
  const custom = present(rest, CUSTOM_FIELDS);
  if (isObject(format)) {
    const { type: kind, ...grammar } = format;
    custom['format'] = kind === 'grammar' ? { type: kind, grammar } : format;
  }
  return { type: 'custom', custom };
}

const FUNCTION_FIELDS = ['name', 'description', 'parameters', 'strict'];
const CUSTOM_FIELDS = ['name', 'description'];

function present(from: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(
    names.flatMap((name) => (from[name] != null ? [[name, from[name]]] : [])),
  );
}

function toolChoiceOf(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { type, name, mode, tools } = choice;
  if (type !== 'allowed_tools') return { type, [String(type)]: { name } };
  return { type, allowed_tools: { mode, tools: listOf(tools).map(toolChoiceOf) } };
}

function responseFormatOf(format: JsonObject): JsonObject {
  const { type, ...schema } = format;
  return type === 'json_schema' ? { type, json_schema: schema } : { type };
}
