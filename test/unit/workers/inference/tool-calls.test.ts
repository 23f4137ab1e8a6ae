import { describe, expect, it } from 'vitest';
import { ToolCalls } from '#workers/inference/tool-calls.ts';
import { UpstreamError } from '#workers/inference/providers/upstream-failure.ts';

interface Piece {
  index?: number;
  id?: string;
  function?: { name?: string; arguments?: string };
  custom?: { name?: string; input?: string };
}

/** The calls that a client puts together of these pieces, each of which comes in a chunk of its own. */
function calls(...pieces: Piece[]): string[] {
  const taken = new ToolCalls();
  const put: string[] = [];
  for (const piece of pieces) {
    const { tool_calls: told } = taken.indexed({ tool_calls: [piece] });
    for (const { index, function: called, custom } of told as Piece[]) {
      const { name = '' } = called ?? custom ?? {};
      put[index!] = `${put[index!] ?? ''}${name}${called?.arguments ?? custom?.input ?? ''}`;
    }
  }
  return put;
}

const custom = (input: string, name?: string) => ({
  custom: { ...(name === undefined ? {} : { name }), input },
});

describe('tool calls', () => {
  it('the input of a custom tool goes on, whatever it begins with', () => {
    const pieces = [
      { index: 0, id: 'a', ...custom('{}', 'x') },
      { index: 0, ...custom(' more') },
    ];
    expect(calls(...pieces, { index: 0, ...custom('{}') })).toEqual(['x{} more{}']);
  });

  it('two inputs of a custom tool that nothing tells apart end the stream', () => {
    const pieces = [
      { index: 0, ...custom('{}', 'x') },
      { index: 0, ...custom('{"a":1}', 'x') },
    ];
    expect(() => calls(...pieces)).toThrow(UpstreamError);
  });
});
