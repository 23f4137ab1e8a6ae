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
const called = (args: string, name?: string) => ({
  function: { ...(name === undefined ? {} : { name }), arguments: args },
});

describe('tool calls', () => {
  it.each<[how: string, pieces: Piece[]]>([
    ['white space first', [called(' ', 'f'), called('{"a":1}'), called('{"a":2}')]],
    ['lists', [called('[1]', 'f'), called('[2]')]],
    ['more closed than opened', [called('{"a":1}}', 'f'), called('{"a":2}')]],
    ['another name before any arguments', [called('', 'f'), called('{"a":2}', 'g')]],
  ])('end the stream where nothing says which one goes on: %s', (_how, pieces) => {
    expect(() => calls(...pieces.map((piece) => ({ index: 0, ...piece })))).toThrow(UpstreamError);
  });

  it('of one frame are told apart in a moment, however many its server has put there, and have a bound', () => {
    const many = Array.from({ length: 16_384 }, (_, index) => ({
      index,
      id: `call_${index}`,
      ...called('{"a":', 'f'),
    }));
    const taken = new ToolCalls();
    taken.indexed({ tool_calls: many });
    const rest = Array.from({ length: 300_000 }, (_, at) => ({
      index: at % many.length,
      ...called('1'),
    }));
    // One piece after the other would keep all streams of its worker waiting for minutes.
    const { tool_calls: told } = taken.indexed({ tool_calls: rest });
    expect((told as Piece[]).at(-1)?.index).toBe(299_999 % many.length);
    const next = { index: many.length, id: 'more', ...called('{}', 'f') };
    expect(() => taken.indexed({ tool_calls: [next] })).toThrow(UpstreamError);
  });

  it('another name behind white space and whole arguments begins another call', () => {
    const pieces = [called(' ', 'f'), called('{"a":1}'), called('{"a":2}', 'g')];
    const put = calls(...pieces.map((piece) => ({ index: 0, ...piece })));
    expect(put).toEqual(['f {"a":1}', 'g{"a":2}']);
  });

  it('a name with a new index begins a call, though the id is that of another', () => {
    const first = { index: 0, id: 'a', ...called('', 'f') };
    const second = { index: 1, id: 'a', ...called('', 'g') };
    const rest = [
      { index: 0, ...called('{"a":1}') },
      { index: 1, id: 'a', ...called('{"b":2}') },
    ];
    expect(calls(first, second, ...rest)).toEqual(['f{"a":1}', 'g{"b":2}']);
  });

  it('an id and an index of two calls end the stream', () => {
    const first = { index: 0, id: 'a', ...called('{', 'f') };
    const second = { index: 1, id: 'b', ...called('{', 'g') };
    expect(() => calls(first, second, { index: 1, id: 'a', ...called('}') })).toThrow(
      UpstreamError,
    );
  });

  it('the rest of a name behind an id belongs to it', () => {
    const pieces = [
      { index: 0, id: 'a', ...called('', 'get_') },
      { index: 0, ...called('', 'it') },
    ];
    expect(calls(...pieces, { index: 0, ...called('{}') })).toEqual(['get_it{}']);
  });

  it('the input of a custom tool goes on after any beginning', () => {
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
