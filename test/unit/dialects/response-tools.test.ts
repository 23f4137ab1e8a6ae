import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatRequestOf } from '#shared/dialects/chat-of-response.ts';
import { answeredMetadata, chatToolsOf, namedIgnored } from '#shared/dialects/response-tools.ts';
import { validateResponse } from '#api/openai/validate.ts';
import codex from '#test/fixtures/clients/codex-0.171.0.json' with { type: 'json' };
import { forAll } from '#test/support/for-all.ts';

const parameters = { type: 'object' };
const fn = (name: string) => ({ type: 'function', name, parameters });
const inSpace = (name: string, ...names: string[]) => ({
  type: 'namespace',
  name,
  description: 'Harbour.',
  tools: names.map(fn),
});
const namesIn = (chat: Record<string, unknown>) =>
  ((chat['tools'] ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name);

describe('the tools of a request for a response, at a chat server', () => {
  it('are those that its caller runs, of Codex as it asks by default', () => {
    const chat = chatRequestOf(codex);
    expect(namesIn(chat)).toEqual([
      'exec_command',
      'write_stdin',
      'view_image',
      'multi_agent_v1__close_agent',
      'multi_agent_v1__spawn_agent',
    ]);
    expect(chatToolsOf(codex).ignored).toEqual(['tool_search', 'web_search']);
    expect(chat).toMatchObject({ tool_choice: 'auto', parallel_tool_calls: true });
    for (const name of ['client_metadata', 'include', 'prompt_cache_key', 'store'])
      expect(chat).not.toHaveProperty(name);
  });

  it('have names that chat servers take, none of them twice, and each leads back', () => {
    const name = fc.string({
      minLength: 1,
      maxLength: 70,
      unit: fc.constantFrom('a', '_', '.', 'é'),
    });
    const spaces = fc.uniqueArray(
      fc.record({ space: name, names: fc.uniqueArray(name, { minLength: 1, maxLength: 3 }) }),
      { selector: ({ space }) => space, maxLength: 4 },
    );
    forAll([fc.uniqueArray(name, { maxLength: 3 }), spaces], (alone, all) => {
      const tools = [...all.map(({ space, names }) => inSpace(space, ...names)), ...alone.map(fn)];
      const known = chatToolsOf({ tools });
      const names = known.tools.map((tool) => tool.name);
      expect(new Set(names).size).toBe(names.length);
      for (const { space, names: inside } of all)
        for (const one of inside) {
          const called = String(known.nameOf(one, space));
          expect(called).toMatch(/^[\w-]{1,64}$/);
          expect(known.callerNameOf(called)).toEqual({ name: one, namespace: space });
        }
      for (const one of alone) {
        const called = String(known.nameOf(one));
        expect(called).toMatch(/^[\w-]{1,64}$/);
        expect(known.callerNameOf(called)).toEqual({ name: one });
        // In a later request that no longer offers it, a name that needed no hash is the same.
        if (/^[\w-]{1,64}$/.test(one)) expect(called).toBe(one);
      }
    });
  });

  it('have the same names in the calls of earlier turns, also when they are no longer offered', () => {
    const call = {
      type: 'function_call',
      call_id: 'c',
      namespace: 'sea',
      name: 'sail',
      arguments: '{}',
    };
    const input = [{ role: 'user', content: 'Sail.' }, call];
    for (const tools of [[inSpace('sea', 'sail')], []]) {
      const { messages } = chatRequestOf({ input, tools });
      expect(messages).toMatchObject([{}, { tool_calls: [{ function: { name: 'sea__sail' } }] }]);
    }
  });

  it('that are added by an item of the input are offered as well', () => {
    const item = { type: 'additional_tools', role: 'developer', tools: [inSpace('sea', 'sail')] };
    const chat = chatRequestOf({
      input: [{ role: 'user', content: 'Hi' }, item],
      tools: [fn('f')],
    });
    expect(namesIn(chat)).toEqual(['f', 'sea__sail']);
    expect(chat['messages']).toHaveLength(1);
  });

  it('may be chosen by name, and a choice of one that is left out is free, or none where none is left', () => {
    const chosen = (choice: unknown, tools: object[]) =>
      chatRequestOf({ input: 'Hi', tools, tool_choice: choice })['tool_choice'];
    const search = { type: 'web_search' };
    const tools = [fn('f'), inSpace('sea', 'sail', 'sink'), search];
    expect(chosen({ type: 'function', name: 'f' }, tools)).toEqual({
      type: 'function',
      function: { name: 'f' },
    });
    expect(chosen({ type: 'function', name: 'sail' }, tools)).toMatchObject({
      function: { name: 'sea__sail' },
    });
    expect(chosen(search, tools)).toBe('auto');
    expect(chosen('required', tools)).toBe('required');
    const allowed = (...some: object[]) => ({
      type: 'allowed_tools',
      mode: 'required',
      tools: some,
    });
    expect(chosen(allowed(search), tools)).toBe('auto');
    expect(
      chosen(allowed(search, { type: 'namespace', name: 'sea' }, fn('f')), tools),
    ).toMatchObject({
      allowed_tools: {
        mode: 'required',
        tools: [
          { function: { name: 'sea__sail' } },
          { function: { name: 'sea__sink' } },
          { function: { name: 'f' } },
        ],
      },
    });
    for (const choice of ['auto', 'required', search, allowed(search)]) {
      const body = { input: 'Hi', tools: [search], tool_choice: choice, parallel_tool_calls: true };
      const chat = chatRequestOf(body);
      for (const name of ['tools', 'tool_choice', 'parallel_tool_calls'])
        expect(chat).not.toHaveProperty(name);
      expect(chatToolsOf(body).choice).toBe('none');
    }
  });

  it('of a namespace that has one of a server’s among them are the others, and its type is named', () => {
    const space = inSpace('sea', 'sail');
    const mixed = { ...space, tools: [{ type: 'web_search' }, ...space.tools, inSpace('x', 'y')] };
    const hosted = { type: 'namespace', name: 'web', tools: [{ type: 'mcp', server: 'x' }] };
    const body = { model: 'm', input: 'Hi', tools: [mixed, hosted] };
    expect(validateResponse(body)).toBe(body);
    expect(namesIn(chatRequestOf(body))).toEqual(['sea__sail']);
    expect(chatToolsOf(body).ignored).toEqual(['web_search', 'namespace', 'mcp']);
    const chosen = { type: 'namespace', name: 'web' };
    const choice = { type: 'allowed_tools', mode: 'required', tools: [chosen] };
    expect(chatRequestOf({ ...body, tool_choice: choice })['tool_choice']).toBe('auto');
  });

  it('that are left out are named where the answer has the caller’s metadata, which loses nothing', () => {
    const theirs = { team: 'harbour', ignored_tools: 'mine' };
    expect(answeredMetadata(theirs, [])).toBe(theirs);
    expect(answeredMetadata(theirs, ['mcp'])).toEqual({
      team: 'harbour',
      ignored_tools: 'mcp',
      ignored_tools_of_request: 'mine',
    });
    // A caller that sends the metadata of an answer back gets the same again.
    const again = { ignored_tools: 'mcp' };
    expect(answeredMetadata(again, ['mcp'])).toEqual(again);
  });

  it('that are left out are named in at most 512 characters, each whole', () => {
    const types = Array.from({ length: 40 }, (_, at) => `a_tool_of_a_server_${at}`);
    const named = namedIgnored(types);
    expect(named.length).toBeLessThanOrEqual(512);
    expect(types.join(',').startsWith(`${named},`)).toBe(true);
  });
});

describe('what a chat server keeps nothing of', () => {
  const said = (text: string) => ({ role: 'assistant', content: [{ type: 'output_text', text }] });
  const thought = (text: string) => ({
    type: 'reasoning',
    summary: [{ type: 'summary_text', text }],
  });
  const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'c', output: 'Rain.' };
  const input = [
    { role: 'user', content: 'Weather?' },
    thought('I look.'),
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    call,
    output,
    { type: 'item_reference', id: 'rs_1' },
    { id: 'msg_1' },
    thought('Rain, then.'),
    thought('And wind?'),
    said('It rains.'),
    { type: 'local_shell_call', call_id: 'l', action: { type: 'exec', command: ['ls'] } },
    { type: 'local_shell_call_output', call_id: 'l', output: 'a.txt' },
    thought('Nothing follows.'),
    { role: 'user', content: 'Thanks.' },
  ];

  it('is left out of its messages: references, what tools of servers did, and what a model thought', () => {
    expect(chatRequestOf({ input })['messages']).toEqual([
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c', content: 'Rain.' },
      { role: 'assistant', content: 'It rains.' },
      { role: 'user', content: 'Thanks.' },
    ]);
  });

  it('but for what a model thought, where it takes that: with what was said or called behind it', () => {
    const messages = chatRequestOf({ input }, true)['messages'] as Record<string, unknown>[];
    expect(messages.map((message) => message['reasoning_content'])).toEqual([
      undefined,
      'I look.',
      undefined,
      'Rain, then.\n\nAnd wind?',
      undefined,
    ]);
    const whole = {
      type: 'reasoning',
      summary: [],
      content: [{ type: 'reasoning_text', text: 'Hm.' }],
    };
    expect(chatRequestOf({ input: [whole, said('Ja.')] }, true)['messages']).toEqual([
      { role: 'assistant', content: 'Ja.', reasoning_content: 'Hm.' },
    ]);
  });
});
