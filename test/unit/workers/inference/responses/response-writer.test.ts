import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Usage } from '#shared/kernel/inference.ts';
import { ResponseWriter } from '#workers/inference/responses/response-writer.ts';
import { answerOfChat, TranslatedStream } from '#workers/inference/translated-stream.ts';

type Json = Record<string, unknown>;
interface Event extends Json {
  type: string;
  sequence_number: number;
  output_index?: number;
  item_id?: string;
  delta?: string;
  item?: Json & { id: string };
  response?: Json & { output: Json[] };
}

const OPTIONS = { body: '{}', requestId: 'req_01', startedAt: 1_000, model: 'm' };
const USAGE: Usage = { inputTokens: 5, cachedInputTokens: 1, outputTokens: 7, source: 'upstream' };

/** What a stream of these deltas becomes. */
function eventsOf(deltas: readonly Json[], reason = 'stop'): Event[] {
  const events: Event[] = [];
  const emit = (text: string): void => void events.push(JSON.parse(text) as Event);
  const stream = new TranslatedStream(new ResponseWriter({ ...OPTIONS, emit }), undefined);
  const chunks = [...deltas.map((delta) => ({ delta })), { delta: {}, finish_reason: reason }];
  for (const choice of chunks) stream.accept('', { choices: [{ index: 0, ...choice }] });
  emit(stream.finish(USAGE));
  return events;
}

const word = fc.string({ minLength: 1, maxLength: 8 });
/** Pieces of an answer in any order: text, refusal and reasoning, and calls that take turns, of a name and with no end of their own. */
const anyDelta = fc.oneof(
  word.map((content): Json => ({ content })),
  word.map((refusal): Json => ({ refusal })),
  word.map((text): Json => ({ reasoning_content: text })),
  fc.tuple(fc.nat(2), fc.boolean(), word).map(([index, isNamed, text]): Json => {
    const called = { ...(isNamed ? { name: `f${index}` } : {}), arguments: `-${text}` };
    return { tool_calls: [{ index, function: called }] };
  }),
  fc.constant<Json>({ role: 'assistant', content: '' }),
);

describe('the events of a response that is written from chunks', () => {
  it('are numbered without a gap, open before they speak, close once, and add up to the response', () => {
    fc.assert(
      fc.property(fc.array(anyDelta, { maxLength: 12 }), (deltas) => {
        const events = eventsOf(deltas);
        expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
        const open = new Set<number>();
        const closed = new Map<number, Json>();
        const spoken = new Map<string, string>();
        for (const { type, output_index: index, item, item_id: id, delta } of events) {
          if (type === 'response.output_item.added') {
            expect(index).toBe(open.size + closed.size);
            open.add(index!);
          } else if (type === 'response.output_item.done') {
            expect(open.delete(index!)).toBe(true);
            closed.set(index!, item!);
          } else if (index !== undefined) expect(open.has(index), type).toBe(true);
          if (delta !== undefined) spoken.set(id!, (spoken.get(id!) ?? '') + delta);
        }
        expect(open.size).toBe(0);
        const { response } = events.at(-1)!;
        expect(response!.output).toEqual(
          [...closed].toSorted(([a], [b]) => a - b).map(([, one]) => one),
        );
        for (const item of response!.output) {
          const parts = (item['content'] ?? []) as { text?: string; refusal?: string }[];
          const whole =
            (item['arguments'] as string | undefined) ??
            parts.map(({ text, refusal }) => text ?? refusal).join('');
          expect(spoken.get(item['id'] as string) ?? '').toBe(whole);
        }
        // And nothing that was generated is lost.
        const sent = deltas.map(
          (delta) => delta['content'] ?? delta['refusal'] ?? delta['reasoning_content'] ?? '',
        );
        const calls = deltas.flatMap(
          (delta) => (delta['tool_calls'] ?? []) as { function: Json }[],
        );
        const chars = [...sent, ...calls.map((call) => call.function['arguments'])].join('').length;
        expect([...spoken.values()].join('').length).toBe(chars);
      }),
    );
  });

  it('end in the response that a whole answer is', () => {
    const message = {
      reasoning_content: 'Hm.',
      content: 'Ja.',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    };
    const chat = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] };
    const whole = answerOfChat(new ResponseWriter(OPTIONS), chat, USAGE, true);
    expect(eventsOf([message], 'tool_calls').at(-1)).toMatchObject({
      type: 'response.completed',
      response: whole,
    });
    expect(whole).toMatchObject({
      output: [
        { type: 'reasoning' },
        { type: 'message' },
        { type: 'function_call', call_id: 'call_1' },
      ],
      usage: { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
    });
    // Clients that hold an answer against its schema want both.
    expect(whole['usage']).toMatchObject({
      input_tokens_details: { cached_tokens: 1, cache_write_tokens: 0 },
    });
  });

  it('say why an answer was cut short, and that one is failed which its server did not finish', () => {
    for (const [reason, told] of [
      ['length', 'max_output_tokens'],
      ['content_filter', 'content_filter'],
    ] as const) {
      expect(eventsOf([{ content: 'Half' }], reason).at(-1)).toMatchObject({
        type: 'response.incomplete',
        response: {
          status: 'incomplete',
          incomplete_details: { reason: told },
          output: [{ status: 'incomplete' }],
        },
      });
    }
    const writer = new ResponseWriter(OPTIONS);
    writer.take({ message: { content: 'Half' } });
    expect(writer.end({ source: 'unknown', reason: 'upstream_cut' }, 0, false)).toMatchObject({
      status: 'failed',
      error: { code: 'server_error' },
      usage: null,
    });
  });
});
