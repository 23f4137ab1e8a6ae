/** What becomes of each field of Anthropic's request for a message, found by asking the code that reads it. */
import { validateMessage } from '#api/anthropic/validate.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { JsonObject } from '#shared/kernel/json-object.ts';

const BASE = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
const TOOL = { name: 'f', input_schema: {} };
const FORMAT = { type: 'json_schema', schema: {} };

/** A value of each field of Anthropic's request, as its SDK types them with all that it calls beta. */
export const SAMPLES: Readonly<Record<string, unknown>> = {
  billing_policy: 'strict',
  betas: ['a-2026-01-01'],
  cache_control: { type: 'ephemeral' },
  compaction: { enabled: true },
  container: 'container_1',
  context_management: { edits: [] },
  diagnostics: {},
  fallback_credit_token: 'token',
  fallbacks: [],
  inference_geo: 'eu',
  max_tokens: 16,
  mcp_servers: [{ type: 'url', name: 's', url: 'https://tools.example' }],
  messages: [{ role: 'user', content: 'Hello' }],
  metadata: { user_id: 'user-1' },
  model: 'n',
  output_config: { effort: 'low', format: FORMAT },
  output_format: FORMAT,
  service_tier: 'auto',
  speed: 'fast',
  stop_sequences: ['END'],
  stream: true,
  system: 'Be short.',
  temperature: 0.5,
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  thread: {},
  tool_choice: { type: 'any', disable_parallel_tool_use: true },
  tools: [TOOL],
  top_k: 4,
  top_p: 0.5,
  user_profile_id: 'profile_1',
  workspace_id: 'w_1',
};
/** What some of them need beside them. */
const WITH: Readonly<Record<string, object>> = { tool_choice: { tools: [TOOL] } };

const saying = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const answering = (...content: object[]) => ({
  messages: [...BASE.messages, { role: 'assistant', content }],
});
const PNG = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const PDF = { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' };

/** Blocks and tools, as far as they are told apart. */
const INPUTS: Readonly<Record<string, object>> = {
  'a block `image`, `base64` or `url`': saying({ type: 'image', source: PNG }),
  'a block `image`, `file`': saying({ type: 'image', source: { type: 'file', file_id: 'f' } }),
  'a block `document`, `base64`': saying({ type: 'document', source: PDF }),
  'a block `document`, `text` or `content`': saying({
    type: 'document',
    source: { type: 'text', data: 'x' },
  }),
  'a block `document`, `url` or `file`': saying({
    type: 'document',
    source: { type: 'url', url: 'https://papers.example/a.pdf' },
  }),
  'a block `search_result`': saying({
    type: 'search_result',
    source: 's',
    title: 't',
    content: [{ type: 'text', text: 'x' }],
  }),
  'a block `tool_result`': saying({ type: 'tool_result', tool_use_id: 'a', content: 'x' }),
  'a block `tool_use`': answering({ type: 'tool_use', id: 'a', name: 'f', input: {} }),
  'a block `thinking`': answering({ type: 'thinking', thinking: 'x', signature: '' }),
  'a block `redacted_thinking`': answering({ type: 'redacted_thinking', data: 'x' }),
  'a block of a tool that Anthropic runs': answering({ type: 'server_tool_use', id: 'a' }),
  'a block `tool_reference`, in what a tool returned': saying({
    type: 'tool_result',
    tool_use_id: 'a',
    content: [{ type: 'tool_reference', tool_name: 'f' }],
  }),
  'a block `compaction` with a text': answering({ type: 'compaction', content: 'x' }),
  'a block `compaction` with `encrypted_content` alone': answering({
    type: 'compaction',
    encrypted_content: 'x',
  }),
  'a block `container_upload` of the user': saying({ type: 'container_upload', file_id: 'f' }),
  'a block of any other type': saying({ type: 'tide_table' }),
  'more than four `stop_sequences`': { stop_sequences: ['a', 'b', 'c', 'd', 'e'] },
  '`max_tokens: 0`, which caches a prompt': { max_tokens: 0 },
  'a tool that Anthropic runs, or knows by its type': {
    tools: [{ type: 'web_search_20250305', name: 'web_search' }],
  },
};

/** Rows of: field, block or tool, and what becomes of it. */
export function messageRows(): string[][] {
  const fields = Object.entries(SAMPLES).map(([field, sample]) => {
    const beside = { ...BASE, ...WITH[field] };
    return [`\`${field}\``, fateOf(field, beside, { ...beside, [field]: sample })];
  });
  const inputs = Object.entries(INPUTS).map(([what, body]) => [
    what,
    fateOf('', BASE, { ...BASE, ...body }),
  ]);
  return [...fields, ...inputs];
}

function fateOf(field: string, before: object, body: JsonObject): string {
  if (field === 'model') return 'translated: the upstream’s name';
  try {
    if (validated(body).only !== undefined) return 'refused, by its name and place';
    const [was, is] = [chatOf(before), chatOf(body)];
    const changed = Object.keys(is).filter(
      (name) => JSON.stringify(is[name]) !== JSON.stringify(was[name]),
    );
    if (field === 'messages') return 'translated: `messages`';
    const isSame = JSON.stringify(is[field]) === JSON.stringify(body[field]);
    if (changed.includes(field) && isSame) return 'passed';
    if (field === '') return inputFate(is, was);
    if (changed.length > 0) return `translated: ${changed.map((name) => `\`${name}\``).join(', ')}`;
    return 'not passed on';
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return `refused: ${error.message}`;
  }
}

const validated = (value: object) => validateMessage({ value, text: JSON.stringify(value) });

const chatOf = (value: object): JsonObject => validated(value).chat;

/** What a block has become: the parts or members of the last message of the chat. */
function inputFate(is: JsonObject, was: JsonObject): string {
  const last = (is['messages'] as JsonObject[]).at(-1)!;
  if (JSON.stringify(is) === JSON.stringify(was)) return 'left out';
  const { role, content } = last;
  if (role === 'tool') return 'a message of the role `tool`';
  if (role === 'assistant') {
    const members = Object.keys(last).filter((name) => name !== 'role' && name !== 'content');
    if (members.length === 0 && content !== '') return 'a text';
    return members.length === 0 ? 'left out' : `in \`${members.join('`, `')}\``;
  }
  if (!Array.isArray(content)) return 'a text';
  const types = (content as JsonObject[]).map(({ type }) => `\`${String(type)}\``);
  return `a part ${types.join(', ')}`;
}
