import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#shared/kernel/json-object.ts';
import { textsOf } from '#shared/screening/texts.ts';
import { forAll } from '#test/support/for-all.ts';

const textsIn = (body: object): string[] => {
  const { prompt, joined, beside } = textsOf('messages', body);
  return [...prompt, ...joined, ...beside];
};
const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const words = fc.stringMatching(/^[a-z]{12}$/);
/** A value of any shape that a block may have beside its text. */
const value = fc.jsonValue({ maxDepth: 3 }).filter((one) => one !== null);

function stringsIn(given: unknown, found: string[] = []): string[] {
  if (typeof given === 'string') found.push(given);
  else if (Array.isArray(given)) for (const one of given) stringsIn(one, found);
  else if (typeof given === 'object' && given !== null)
    for (const one of Object.values(given)) stringsIn(one, found);
  return found.filter((text) => text !== '');
}

describe('the texts of a request for a message that goes on as it came', () => {
  it('hold every text of its blocks, tools and fields, in each of their members [operations.screening]', () => {
    forAll([value, words, words], (given, one, another) => {
      const block: JsonObject = { type: 'text', text: one, note: given };
      const result = { type: 'tool_result', tool_use_id: another, content: [block] };
      const call = { type: 'tool_use', id: 'a', name: another, input: { [one]: given } };
      const document = {
        type: 'document',
        title: one,
        context: another,
        source: { type: 'content', content: [block] },
        note: given,
      };
      const all = [one, another, ...stringsIn(given)];
      for (const body of [
        user(block, result, call, document),
        { system: [block, { type: 'text', text: another }] },
        { tools: [{ name: one, description: another, input_schema: { title: given } }] },
        { mcp_servers: [{ name: one, note: [another, given] }] },
      ])
        expect(textsIn(body)).toEqual(expect.arrayContaining(all));
    });
  });

  it('hold a sentence that is cut between two blocks as one, and what was thought apart', () => {
    const parts = ['a sen', 'tence'].map((text) => ({ type: 'text', text }));
    expect(textsIn(user(...parts))).toContain('a sentence');
    const thinking = { type: 'thinking', thinking: 'hm', signature: 's' };
    expect(textsIn(user(parts[0]!, thinking, parts[1]!))).toContain('a sentence');
  });

  it('hold a sentence that is cut between turns of one role, which its server makes one', () => {
    const turn = (role: string, content: unknown) => ({ role, content });
    for (const messages of [
      [turn('user', 'a sen'), turn('user', [{ type: 'text', text: 'tence' }])],
      [turn('user', 'x'), turn('assistant', 'a sen'), turn('assistant', 'tence')],
    ])
      expect(textsIn({ messages })).toContain('a sentence');
    // What was thought by a model of another server is not sent on, and nothing is left of its turn.
    const thinking = { type: 'thinking', thinking: 'hm' };
    for (const nothing of [
      [thinking],
      [thinking, { type: 'redacted_thinking', data: 'x' }],
      [],
      '',
    ]) {
      const around = [turn('user', 'a sen'), turn('assistant', nothing), turn('user', 'tence')];
      expect(textsIn({ messages: around })).toContain('a sentence');
    }
    const apart = textsIn({ messages: [turn('user', 'a sen'), turn('assistant', 'tence')] });
    expect(apart).not.toContain('a sentence');
  });

  it('hold where its texts end, addresses, and what a tool of the server gave', () => {
    const source = {
      type: 'base64',
      media_type: 'text/plain',
      data: Buffer.from('a hidden text').toString('base64'),
    };
    const fetched = { type: 'web_fetch_result', content: { type: 'document', source } };
    const texts = textsIn({
      stop_sequences: ['an end'],
      ...user(
        { type: 'web_fetch_tool_result', content: fetched },
        { type: 'image', source: { type: 'url', url: 'https://a.example/b' } },
      ),
    });
    for (const text of ['a hidden text', 'an end', 'https://a.example/b'])
      expect(texts).toContain(text);
  });

  it('hold documents that are texts by their data, and no data of media', () => {
    const source = (mediaType: string, data: string | Uint8Array = 'a hidden text') => ({
      type: 'base64',
      media_type: mediaType,
      data: Buffer.from(data as string).toString('base64'),
    });
    expect(textsIn(user({ type: 'document', source: source('text/plain') }))).toContain(
      'a hidden text',
    );
    const image = textsIn(
      user({ type: 'image', source: source('image/png', Uint8Array.of(0x89, 0x50, 0)) }),
    );
    expect(image.filter((text) => text !== 'image/png')).toEqual([]);
  });
});
