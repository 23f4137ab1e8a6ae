import { describe, expect, it } from 'vitest';
import { calledBy } from '#workers/inference/responses/output.ts';

describe('what a tool call calls', () => {
  const both = { name: 'run', arguments: '{"a":1}', input: 'raw' };

  it('a function is called with its arguments, a custom tool with its input, with anything beside them', () => {
    const ofFunction = { kind: 'function_call', name: 'run', input: '{"a":1}' };
    const ofCustom = { kind: 'custom_tool_call', name: 'run', input: 'raw' };
    expect(calledBy({ function: both })).toMatchObject(ofFunction);
    expect(calledBy({ custom: both })).toMatchObject(ofCustom);
    for (const none of [null, '', 'run', 0])
      expect(calledBy({ function: none, custom: both })).toMatchObject(ofCustom);
  });

  it('a call of neither kind has no name and no input', () => {
    for (const none of [undefined, null, 'run', []])
      expect(calledBy({ function: none })).toMatchObject({ name: '', input: '' });
  });
});
