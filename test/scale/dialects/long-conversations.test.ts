import { describe, expect, it } from 'vitest';
import { chatRequestOf } from '#shared/dialects/chat-of-response.ts';
import { listOf } from '#shared/kernel/json-object.ts';
import { promptOf } from '#workers/inference/providers/ai-sdk/prompt.ts';

const MANY = 60_000;
const repeated = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));
const user = { role: 'user', content: 'Hi' };
const call = { type: 'function_call', call_id: 'c', name: 'none', arguments: '{}' };
const tools = (count: number) => [
  {
    type: 'namespace',
    name: 'n',
    tools: repeated(count, (at) => ({ type: 'function', name: `t${at}` })),
  },
];

// A worker translates requests of all organisations one after the other: each of these held it up for ten seconds and more.
describe('a request of a few megabytes is translated in steps that grow with it', () => {
  it('however many calls and tools it has', () => {
    const input = [user, ...repeated(MANY, () => call)];
    const { messages } = chatRequestOf({ input, tools: tools(MANY / 2) });
    const [, said] = listOf(messages) as { tool_calls?: unknown[] }[];
    expect(said!.tool_calls).toHaveLength(MANY);
  });

  it('however often its assistant thinks in one message', () => {
    const thought = (text: string) => ({
      type: 'reasoning',
      summary: [{ type: 'summary_text', text }],
    });
    const more = repeated(MANY / 4, () => [call, thought('x')]).flat();
    const { messages } = chatRequestOf(
      { input: [user, thought('a b '.repeat(500_000)), ...more] },
      true,
    );
    expect(listOf(messages)).toHaveLength(2);
  });

  it('however often its choice names a tool, which is then allowed once', () => {
    const chosen = repeated(MANY, () => ({ type: 'namespace', name: 'n' }));
    const choice = { type: 'allowed_tools', mode: 'auto', tools: chosen };
    const chat = chatRequestOf({ input: 'Hi', tools: tools(3), tool_choice: choice });
    expect(chat['tool_choice']).toEqual({
      type: 'allowed_tools',
      allowed_tools: {
        mode: 'auto',
        tools: repeated(3, (at) => ({ type: 'function', function: { name: `n__t${at}` } })),
      },
    });
  });

  it('however many words of the system come first', () => {
    const system = repeated(MANY, () => ({ role: 'system', content: 'a' }));
    expect(promptOf(system, () => false)).toHaveLength(MANY);
  });
});
