import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { JsonObject } from '#shared/kernel/json-object.ts';
import { GrowingText } from '#workers/inference/growing-text.ts';
import { EventRelay } from '#workers/inference/event-relay.ts';
import { ResponseWriter } from '#workers/inference/responses/response-writer.ts';
import { TranslatedStream } from '#workers/inference/translated-stream.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { forAll } from '#test/support/for-all.ts';
import { endpoint } from '#test/unit/catalogue/routed-catalogue.ts';

it('a text that comes in pieces is what they are together, halves of characters included', () => {
  forAll(
    [
      fc.array(fc.string({ unit: anyCharacter, maxLength: 9_000 }), { maxLength: 8 }),
      fc.constantFrom('\ud83c', '\udf0a', ''),
    ],
    (pieces, half) => {
      const text = new GrowingText();
      const all = [...pieces, half, 'x'.repeat(16_384), ...pieces];
      for (const piece of all) text.add(piece);
      expect(String(text)).toBe(all.join(''));
      expect(text.length).toBe(all.join('').length);
    },
  );
});

function responseRelay(): EventRelay {
  const options = {
    body: '{}',
    requestId: 'req_01K5Y0V8Z3M4N5P6Q7R8S9T0AB',
    startedAt: 0,
    model: 'm',
  };
  const relay = new EventRelay(
    ({ energy }, emit) => new TranslatedStream(new ResponseWriter({ ...options, emit }), energy),
    (payload) => payload,
    () => {},
  );
  relay.readFrom(endpoint('e', ['eu']));
  return relay;
}

it('a response keeps what was said and the odds of its tokens until its last event, and both are counted', () => {
  const relay = responseRelay();
  const say = (logprobs: object | null): number => {
    const chunk = { choices: [{ index: 0, delta: { content: 'word' }, logprobs }] } as JsonObject;
    const given = JSON.stringify(chunk);
    relay.accept(given, chunk);
    return given.length;
  };
  say(null);
  expect(relay.kept).toBe(8);
  const chars = say({ content: [{ token: 'word', logprob: -1, bytes: null, top_logprobs: [] }] });
  expect(relay.kept).toBe(16 + chars);
});

it('a response keeps the arguments of a call three times: as generated, to tell its calls apart, and for its last event', () => {
  const relay = responseRelay();
  const called = { name: 'f', arguments: '{"a":1}' };
  const delta = { tool_calls: [{ index: 0, id: 'a', function: called }] };
  const chunk = { choices: [{ index: 0, delta }] };
  relay.accept(JSON.stringify(chunk), chunk);
  expect(relay.kept).toBe(2 * 'f{"a":1}'.length + '{"a":1}'.length);
});
