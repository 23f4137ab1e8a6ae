import { describe, expect, it } from 'vitest';
import { inputItems, type ItemsPage, withConversation } from '#api/inference/kept/conversation.ts';
import { validateResponse } from '#api/openai/validate.ts';

const turn = (input: string, output: unknown[] = [], id = 'resp_A') =>
  `{"input":${input},"response":${JSON.stringify({ id, object: 'response', output })}}`;
const said = (text: string) => ({
  type: 'message',
  id: 'msg_A_0',
  status: 'completed',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
interface Page {
  data: { id: string; content?: unknown }[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}
const pageOf = (turns: readonly string[], page: ItemsPage) =>
  JSON.parse(inputItems(turns, page)) as Page;
const itemsOf = (turns: readonly string[]) => pageOf(turns, { limit: 100, order: 'asc' }).data;
const inputOf = (body: string) => (JSON.parse(body) as { input: Record<string, unknown>[] }).input;

describe('a body that goes on from a conversation [responses.chain]', () => {
  it('has inputs and outputs in their order before its own input, texts and items alike', () => {
    const body = withConversation('{"model":"m","input":[{"role":"user","content":"three"}]}', [
      turn('"one"', [said('uno')]),
      turn('[ {"role":"user","content":"two"} ]', [said('due')]),
    ]);
    const texts = inputOf(body).map(({ content }) =>
      typeof content === 'string' ? content : (content as { text: string }[])[0]!.text,
    );
    expect(texts).toEqual(['one', 'uno', 'two', 'due', 'three']);
    expect(() => validateResponse(JSON.parse(body))).not.toThrow();
  });

  it('keeps every byte of the rest, and of inputs that were kept; a repeated member cannot hide another', () => {
    const rest = '{"seed":1.0, "big":12345678901234567890,';
    expect(withConversation(`${rest}"input":"b"}`, [turn('"\\u0061"')])).toBe(
      `${rest}"input":[{"role":"user","content":"\\u0061"},{"role":"user","content":"b"}]}`,
    );
    const twice = withConversation('{"inp\\u0075t":"x","input":"y"}', [turn('"z"')]);
    expect(twice).not.toContain('"x"');
  });

  it('has calls and their outputs, and no reasoning that would only name what is kept elsewhere', () => {
    const call = { type: 'function_call', id: 'fc', call_id: 'c', name: 'f', arguments: '{}' };
    const body = withConversation(
      '{"model":"m","input":[{"type":"function_call_output","call_id":"c","output":"Rain."}]}',
      [
        turn('"weather?"', [
          { type: 'reasoning', id: 'rs_1', summary: [] },
          { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'sealed' },
          {
            type: 'reasoning',
            id: 'rs_3',
            summary: [],
            content: [{ type: 'reasoning_text', text: 'x' }],
          },
          { type: 'reasoning', id: 'rs_4', summary: [{ type: 'summary_text', text: 'theirs' }] },
          {
            type: 'reasoning',
            id: 'rs_01M7W53ZF4Z6X0T8WB5N2K9MVC_0',
            summary: [{ type: 'summary_text', text: 'ours' }],
            content: [],
          },
          { type: 'web_search_call', id: 'ws_1' },
          call,
        ]),
      ],
    );
    expect(inputOf(body).map(({ type, id }) => id ?? type)).toEqual([
      undefined,
      'rs_2',
      'rs_3',
      'rs_01M7W53ZF4Z6X0T8WB5N2K9MVC_0',
      'fc',
      'function_call_output',
    ]);
  });
});

describe('the input items of a response [responses.read]', () => {
  it('are those of the conversation and its own, each with a type and an id of its own that stays', () => {
    const turns = [
      turn('"one"', [said('uno')], 'resp_A'),
      turn(
        '[{"role":"assistant","content":"x"},{"role":"user","content":"two","id":"mine"}]',
        [said('due')],
        'resp_B',
      ),
    ];
    const items = itemsOf(turns);
    expect(items.map(({ id }) => id)).toEqual(['msg_A_in_0', 'msg_A_0', 'msg_B_in_0', 'mine']);
    expect(items[0]).toEqual({
      type: 'message',
      id: 'msg_A_in_0',
      role: 'user',
      status: 'completed',
      content: [{ type: 'input_text', text: 'one' }],
    });
    expect(items[2]).toMatchObject({ content: [{ type: 'output_text', text: 'x' }] });
    expect(itemsOf(turns)).toEqual(items);
  });

  it('have ids by which a list goes on, also where a caller gave one twice', () => {
    const mine = '[{"role":"user","content":"a","id":"a"},{"role":"user","content":"b","id":"a"}]';
    const items = itemsOf([turn(mine, [], 'resp_A'), turn(mine, [], 'resp_B')]);
    expect(items.map(({ id }) => id)).toEqual(['a', 'msg_A_in_1', 'msg_B_in_0', 'msg_B_in_1']);
  });

  it('come in pages, from either end, and after an id that is not there nothing comes', () => {
    const three = [turn('[{"id":"a"},{"id":"b"},{"id":"c"}]')];
    const ids = ({ data, has_more: hasMore }: Page) => [data.map(({ id }) => id).join(''), hasMore];
    expect(ids(pageOf(three, { limit: 2, order: 'asc' }))).toEqual(['ab', true]);
    expect(ids(pageOf(three, { limit: 2, order: 'desc' }))).toEqual(['cb', true]);
    expect(ids(pageOf(three, { limit: 2, order: 'asc', after: 'b' }))).toEqual(['c', false]);
    expect(pageOf(three, { limit: 2, order: 'asc', after: 'z' })).toMatchObject({
      data: [],
      first_id: null,
      last_id: null,
      has_more: false,
    });
  });
});
