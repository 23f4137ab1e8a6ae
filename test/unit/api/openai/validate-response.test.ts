import { describe, expect, it } from 'vitest';
import type OpenAI from 'openai';
import { HOSTED_ITEMS, ITEMS } from '#api/openai/responses.ts';
import { validateResponse } from '#api/openai/validate.ts';
import codex from '#test/fixtures/clients/codex-0.171.0.json' with { type: 'json' };
import { faultOf, type Make, refuses } from './rules.ts';

const response: Make = (over) => ({ model: 'm', input: 'hello', ...over });
const tools = (...all: unknown[]) => response({ tools: all });
const input = (...all: unknown[]) => response({ input: [{ role: 'user', content: 'Hi' }, ...all] });
const HOSTED = [
  'web_search',
  'web_search_preview',
  'web_search_preview_2025_03_11',
  'tool_search',
  'image_generation',
  'computer_use_preview',
  'code_interpreter',
  'file_search',
  'mcp',
  'local_shell',
  'shell',
  'apply_patch',
];

describe('a request for a response', () => {
  it('is taken as Codex sends it by default', () => {
    expect(validateResponse(structuredClone(codex))).toEqual(codex);
  });

  it('is not refused for a tool that a server would have to run, chosen or not', () => {
    for (const type of HOSTED) {
      const body = response({ tools: [{ type, filters: {} }], tool_choice: { type } });
      expect(validateResponse(body), type).toBe(body);
    }
    const allowed = {
      type: 'allowed_tools',
      mode: 'auto',
      tools: [{ type: 'mcp', server_label: 'x' }],
    };
    expect(() => validateResponse(response({ tool_choice: allowed }))).not.toThrow();
  });

  it('may ask for what tools of a server would put out', () => {
    const include = ['web_search_call.action.sources', 'reasoning.encrypted_content'];
    expect(() => validateResponse(response({ include }))).not.toThrow();
  });

  it('may refer to items, and repeat what tools of a server did', () => {
    const call = {
      type: 'function_call',
      call_id: 'c',
      namespace: 'sea',
      name: 'f',
      arguments: '{}',
    };
    const output = { type: 'function_call_output', call_id: 'c', output: 'Rain.' };
    const body = input(
      { type: 'item_reference', id: 'rs_1' },
      { id: 'msg_1' },
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
      { type: 'image_generation_call', id: 'ig_1', result: 'iVBORw0KGgo=' },
      { type: 'local_shell_call', call_id: 'l', action: { type: 'exec', command: ['ls'] } },
      { type: 'local_shell_call_output', call_id: 'l', output: 'a.txt' },
      { type: 'shell_call_output', call_id: 's', output: [null, { stdout: 'x' }] },
      call,
      output,
      { ...call, call_id: 'd' },
      { ...output, call_id: 'd', output: [] },
    );
    expect(validateResponse(body)).toBe(body);
  });

  refuses(validateResponse, [
    ['a function without a name', tools({ type: 'function' }), 'tools', 'tools[0].name'],
    [
      'a custom tool without a name',
      tools({ type: 'web_search' }, { type: 'custom' }),
      'tools',
      'tools[1].name',
    ],
    [
      'a function without a name in a namespace',
      tools({ type: 'namespace', name: 'sea', tools: [{ type: 'function' }] }),
      'tools',
      'tools[0].tools[0].name',
    ],
    ['a tool without a type', tools({ name: 'f' }), 'tools', 'tools[0].type'],
    ['a tool of a type that is a sentence', tools({ type: 'how to' }), 'tools', 'tools[0].type'],
  ]);

  it.each([
    ['an item whose type may be words of the prompt', input({ type: 'how to' }), 'input[1].type'],
    [
      'an image without one',
      input({ role: 'user', content: [{ type: 'input_image', detail: 'auto' }] }),
      'input[1].content[0].image_url',
    ],
    [
      'a part as chats have it',
      input({ role: 'user', content: [{ type: 'text', text: 'x' }] }),
      'input[1].content[0].type',
    ],
    [
      'what came of a call that is not there',
      input({ type: 'function_call_output', call_id: 'c', output: 'Rain.' }),
      'input[1].call_id',
    ],
  ])('is refused, with the place, for %s', (_, body, param) => {
    expect(faultOf(validateResponse, body)).toMatchObject({ code: 'invalid_input', param });
  });

  it('knows every item of OpenAI’s SDK, but those that stand for a conversation which only its server can read', () => {
    const known = (type: string) => Object.hasOwn(ITEMS, type) || HOSTED_ITEMS.has(type);
    const unknown = Object.keys(OF_SDK).filter((type) => !known(type));
    expect(unknown).toEqual(['compaction', 'compaction_trigger']);
  });

  it('says of what came of a call what has to be sent with it', () => {
    const body = input({ type: 'custom_tool_call_output', call_id: 'c', output: '' });
    expect(faultOf(validateResponse, body).message).toContain('`custom_tool_call`');
  });
});

/** Every type of an input item of OpenAI's SDK: a new one does not compile. */
const OF_SDK: Record<NonNullable<OpenAI.Responses.ResponseInputItem['type']>, true> = {
  additional_tools: true,
  apply_patch_call: true,
  apply_patch_call_output: true,
  code_interpreter_call: true,
  compaction: true,
  compaction_trigger: true,
  computer_call: true,
  computer_call_output: true,
  configuration_update: true,
  custom_tool_call: true,
  custom_tool_call_output: true,
  file_search_call: true,
  function_call: true,
  function_call_output: true,
  image_generation_call: true,
  item_reference: true,
  local_shell_call: true,
  local_shell_call_output: true,
  mcp_approval_request: true,
  mcp_approval_response: true,
  mcp_call: true,
  mcp_list_tools: true,
  message: true,
  program: true,
  program_output: true,
  reasoning: true,
  shell_call: true,
  shell_call_output: true,
  tool_search_call: true,
  tool_search_output: true,
  web_search_call: true,
};
