import { describe, expect, it } from 'vitest';
import { inputItems } from '#api/inference/kept/conversation.ts';
import type { Before } from '#api/inference/kept/kept-responses.ts';
import { goOn, read } from '#api/inference/read.ts';
import { routed } from '#api/inference/route.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { thrownBy } from '#test/support/thrown-by.ts';
import { CREDENTIAL, NOW, openEdge, REQUEST_ID } from '../doubles.ts';

const ULID = '01M7W53ZF4Z6X0T8WB5N2K9MVC';
const CALL = {
  type: 'function_call',
  id: `fc_${ULID}_2`,
  call_id: 'call_1',
  name: 'f',
  arguments: '{}',
  status: 'completed',
};
const SAID = {
  type: 'message',
  id: `msg_${ULID}_1`,
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'It turns.', annotations: [] }],
};
const THOUGHT = {
  type: 'reasoning',
  id: `rs_${ULID}_0`,
  summary: [],
  content: [{ type: 'reasoning_text', text: 'Lamps turn.' }],
};
const kept = (output: unknown[], input = '"Why?"', ulid = ULID): string =>
  `{"input":${input},"response":${JSON.stringify({ id: `resp_${ulid}`, output })}}`;
const KEPT = kept([THOUGHT, SAID, CALL]);
const RESULT = { type: 'function_call_output', call_id: 'call_1', output: 'Rain.' };
const USER = { role: 'user', content: 'And?' };
const reference = (id: string) => ({ type: 'item_reference', id });

const readBody = (body: object) =>
  read(
    { newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA', processId: 'api-1', shards: 1 },
    {
      id: REQUEST_ID,
      route: 'responses',
      rawBody: Buffer.from(JSON.stringify({ model: 'both', ...body })),
      headers: {},
      credential: { ...CREDENTIAL, keepResponses: true },
      now: NOW,
    },
  );

/** What a model gets of an input, and what is kept of it. */
function asked(input: unknown, { turns = [], referred = [] }: Partial<Before>, rest = {}) {
  const { body } = readBody({ input, ...rest });
  const gone = goOn(body, { turns, referred });
  const of = (text: string) => JSON.parse(text) as { id?: string }[];
  const { input: whole } = gone.body.parsed as { input: { id?: string }[] };
  return { whole, own: of(gone.body.ownInput!), reference: gone.asked.reference };
}

const faultOf = (work: () => unknown): Fault => thrownBy(Fault, work)!;

describe('a reference to an item [responses.references]', () => {
  it('is named where a request is read, and a request without one asks nothing more', () => {
    const input = [reference(SAID.id), { id: CALL.id }, USER];
    expect(readBody({ input }).unrouted.references).toEqual([SAID.id, CALL.id]);
    expect(readBody({ input: [USER] }).unrouted).not.toHaveProperty('references');
    expect(readBody({ input: 'Hi.' }).unrouted).not.toHaveProperty('references');
  });

  it('is the item, in its place, for the model and for what is kept of the request', () => {
    const input = [reference(THOUGHT.id), reference(SAID.id), reference(CALL.id), RESULT, USER];
    const { whole, own } = asked(input, { referred: [KEPT] });
    expect(whole).toEqual([THOUGHT, SAID, CALL, RESULT, USER]);
    expect(own).toEqual(whole);
  });

  it('finds every item under the id by which it is listed, an input without an id of its own too', () => {
    const mine = '[{"role":"user","content":"a","id":"mine"},{"role":"user","content":"b"}]';
    const first = kept([SAID], mine);
    const listed = JSON.parse(
      inputItems([first, kept([], '"c"', '01M7W53ZF4Z6X0T8WB5N2K9MVD')], {
        limit: 100,
        order: 'asc',
      }),
    ) as { data: { id: string }[] };
    const ids = listed.data.slice(0, 3).map(({ id }) => id);
    expect(ids).toEqual(['mine', `msg_${ULID}_in_1`, SAID.id]);
    const { whole } = asked(ids.map(reference), { referred: [first] });
    expect(whole).toEqual([
      { role: 'user', content: 'a', id: 'mine' },
      { role: 'user', content: 'b' },
      SAID,
    ]);
  });

  it('to an item of the conversation that is gone on from does not repeat it, and its output has its call there', () => {
    const { whole, own } = asked(
      [reference(CALL.id), RESULT],
      { turns: [KEPT] },
      { previous_response_id: `resp_${ULID}` },
    );
    expect(whole).toEqual([{ role: 'user', content: 'Why?' }, THOUGHT, SAID, CALL, RESULT]);
    expect(own).toEqual([RESULT]);
  });

  it('to what can be no input (a search that a server ran) is left out', () => {
    const searched = { type: 'web_search_call', id: 'ws_theirs' };
    const { whole } = asked([reference('ws_theirs'), USER], { referred: [kept([searched])] });
    expect(whole).toEqual([USER]);
  });

  it.each([
    ['unknown, deleted, expired or another organisation’s', reference(`msg_${ULID}_7`)],
    ['of a response that was not found', reference('msg_01M7W53ZF4Z6X0T8WB5N2K9MVD_0')],
    ['without a type', { id: `fc_${ULID}_9` }],
  ])('that leads to nothing is refused with its place: one %s', (_what, item) => {
    const fault = faultOf(() => asked([USER, item], { referred: [KEPT] }));
    expect(fault).toMatchObject({ code: 'invalid_input', param: 'input[1].id', status: 400 });
  });

  it('that leads to nothing here goes to servers of responses alone, also out of a conversation', () => {
    const theirs = reference('msg_theirs');
    const { whole, reference: place } = asked([USER, theirs], { referred: [] });
    expect([whole, place]).toEqual([[USER, theirs], 'input[1].id']);
    const turns = [kept([SAID], JSON.stringify([theirs]))];
    const later = asked('And?', { turns }, { previous_response_id: `resp_${ULID}` });
    expect(later.reference).toBe('previous_response_id');
    const { deps } = openEdge();
    const { unrouted } = readBody({ input: [theirs] });
    const route = (param?: string) => () =>
      routed(
        deps,
        { ...unrouted, asked: { ...unrouted.asked, reference: param } },
        { ...CREDENTIAL },
      );
    expect(route()).not.toThrow();
    expect(faultOf(route('input[1].id'))).toMatchObject({
      code: 'invalid_input',
      param: 'input[1].id',
    });
  });

  it('is refused where an item is named twice, so that a short request cannot become one of any length', () => {
    const fault = faultOf(() => readBody({ input: [reference('a'), USER, { id: 'a' }] }));
    expect(fault).toMatchObject({ code: 'invalid_input', param: 'input[2].id' });
    const many = Array.from({ length: 1_001 }, (_, at) => reference(`msg_${at}`));
    expect(faultOf(() => readBody({ input: many }))).toMatchObject({ code: 'invalid_input' });
  });
});

describe('what came of a call [responses.chain]', () => {
  const previous = { previous_response_id: `resp_${ULID}` };

  it('is refused without the call, alone, beside a conversation and beside references, with its place', () => {
    const orphan = { ...RESULT, call_id: 'call_9' };
    const place = { code: 'invalid_input', param: 'input[1].call_id' };
    expect(faultOf(() => readBody({ input: [USER, orphan] }))).toMatchObject(place);
    const beside = () => asked([USER, orphan], { turns: [KEPT] }, previous);
    expect(faultOf(beside)).toMatchObject(place);
    const referring = () => asked([reference(SAID.id), orphan], { referred: [KEPT] });
    expect(faultOf(referring)).toMatchObject(place);
  });

  it('goes with a call of the conversation, and with one beside it', () => {
    expect(asked([RESULT], { turns: [KEPT] }, previous).whole.at(-1)).toEqual(RESULT);
    expect(() => readBody({ input: [CALL, RESULT] })).not.toThrow();
  });
});
