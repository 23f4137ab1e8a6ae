/** What becomes of each field of OpenAI's request for a response, found by asking the code that reads it. */
import { onlyInResponses } from '#api/openai/only-native.ts';
import { validateResponse } from '#api/openai/validate.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { chatRequestOf } from '#shared/dialects/chat-of-response.ts';
import { IGNORED_TOOLS } from '#shared/dialects/response-tools.ts';
import { ResponseWriter } from '#workers/inference/responses/response-writer.ts';

const BASE = { model: 'm', input: 'Hi' };
const TOOL = { type: 'function', name: 'f', parameters: {} };

/** A value of each field of OpenAI's request, as its SDK types them. */
export const SAMPLES: Readonly<Record<string, unknown>> = {
  access_programs: { cyber: 'standard' },
  background: true,
  context_management: [{ type: 'compaction' }],
  conversation: 'conv_1',
  image: { context_compression: 'auto' },
  include: ['message.output_text.logprobs'],
  input: 'Hello',
  instructions: 'Be short.',
  max_output_tokens: 16,
  max_tool_calls: 2,
  metadata: { team: 'harbour' },
  model: 'n',
  moderation: { model: 'omni-moderation-latest' },
  parallel_tool_calls: false,
  previous_response_id: 'resp_1',
  prompt: { id: 'pmpt_1' },
  prompt_cache_key: 'key',
  prompt_cache_options: { mode: 'implicit' },
  prompt_cache_retention: '24h',
  reasoning: { effort: 'low' },
  safety_identifier: 'user-1',
  service_tier: 'flex',
  store: true,
  stream: true,
  stream_options: { include_obfuscation: false },
  temperature: 0.5,
  text: { format: { type: 'json_object' }, verbosity: 'low' },
  tool_choice: 'required',
  tools: [TOOL],
  top_logprobs: 2,
  top_p: 0.5,
  truncation: 'auto',
  user: 'me',
};
/** What some of them need beside them. */
const WITH: Readonly<Record<string, object>> = {
  tool_choice: { tools: [TOOL] },
  stream_options: { stream: true },
  parallel_tool_calls: { tools: [TOOL] },
};

/** Input items, parts and tools, as far as they are told apart. */
const INPUTS: Readonly<Record<string, object>> = {
  'a `namespace` of tools': { tools: [{ type: 'namespace', name: 'n', tools: [TOOL] }] },
  'a tool that OpenAI runs': { tools: [{ type: 'web_search' }] },
  'an item of a tool that OpenAI runs': withItem({ type: 'web_search_call', id: 'ws_1' }),
  'a `reasoning` item with `encrypted_content`, or a text of an open server': withItem({
    type: 'reasoning',
    summary: [],
    encrypted_content: 'x',
  }),
  'a `file_id` or a `file_url`': withPart({ type: 'input_file', file_id: 'file-1' }),
  'an item `compaction`': withItem({ type: 'compaction', encrypted_content: 'x' }),
  'an item or a part of any other type': withItem({ type: 'tide_table' }),
};

function withPart(part: object): object {
  return { input: [{ role: 'user', content: [part] }] };
}

function withItem(item: object): object {
  return { input: [{ role: 'user', content: BASE.input }, item] };
}

/** Rows of: field, to an upstream that speaks responses, to one that speaks chat completions. */
export function responseRows(): string[][] {
  const fields = Object.entries(SAMPLES).map(([field, sample]) => {
    const beside = { ...BASE, ...WITH[field] };
    return [`\`${field}\``, ...fateOf(field, beside, { ...beside, [field]: sample })];
  });
  const inputs = Object.entries(INPUTS).map(([what, body]) => [
    what,
    ...fateOf('', BASE, { ...BASE, ...body }),
  ]);
  return [...fields, ...inputs, REFERENCE];
}

/** What it becomes is known where kept responses are read. */
const REFERENCE = [
  'an `item_reference`',
  'replaced by the item, in `input`; passed where none of that id is kept here',
  'replaced by the item, in `input`; refused where none of that id is kept here',
];

function fateOf(field: string, before: object, body: Record<string, unknown>): [string, string] {
  try {
    validateResponse(body);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [`refused: ${error.message}`, 'refused'];
  }
  const native = OURS[field] ?? 'passed';
  const isOnly = onlyInResponses(body) !== undefined;
  return [native, isOnly ? 'refused, by its name and place' : inChat(field, before, body)];
}

const OURS: Readonly<Record<string, string>> = {
  model: 'translated: the upstream’s name',
  store: 'always `false`: the response is kept here',
  previous_response_id: 'replaced by the conversation, in `input`',
};

/** How a field changes the chat that a request becomes; or that only the answer repeats it. */
function inChat(field: string, before: object, body: Record<string, unknown>): string {
  const [was, is] = [chatRequestOf({ ...before }), chatRequestOf(body)];
  const changed = Object.keys(is).filter(
    (name) => JSON.stringify(is[name]) !== JSON.stringify(was[name]),
  );
  const options = { body: JSON.stringify(body), requestId: 'req_1', startedAt: 0, model: 'm' };
  const answer = new ResponseWriter(options).end({ source: 'unknown', reason: 'not_counted' }, 0);
  if (field === 'model' || field === 'previous_response_id') return OURS[field]!;
  if (changed.includes(field) && JSON.stringify(is[field]) === JSON.stringify(body[field]))
    return 'passed';
  if (changed.length > 0) return `translated: ${changed.map((name) => `\`${name}\``).join(', ')}`;
  const { metadata } = answer as { metadata: object };
  if (IGNORED_TOOLS in metadata) return `left out, named in \`metadata.${IGNORED_TOOLS}\``;
  if (field === '') return 'left out';
  const repeated = JSON.stringify(answer[field]) === JSON.stringify(body[field]);
  return repeated ? 'not passed on; repeated in the answer' : 'not passed on';
}
