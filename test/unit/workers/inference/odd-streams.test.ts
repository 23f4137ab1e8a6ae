import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { receiptIdNamed } from '#shared/kernel/answer-ids.ts';
import type { Route, UnknownUsage, Usage } from '#shared/kernel/inference.ts';
import type { UpstreamRequest } from '#workers/inference/providers/provider.ts';
import { callForAnswer } from '#workers/inference/upstream-call.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { COUNTED, delivery, ScriptedProvider, streams, workerWith } from './doubles.ts';

/** A chunk as clients read them. */
interface Chunk {
  id: string;
  choices: {
    index: number;
    delta: { content?: string | null; tool_calls?: ToolCall[] };
    finish_reason: string | null;
  }[];
  usage?: {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens?: number;
    prompt_tokens_details?: { cached_tokens?: number };
  } | null;
}

interface ToolCall {
  index: number;
  id?: string;
  function: { name?: string; arguments?: string };
}

const USAGE = { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 };
const NONE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
const part = (delta: object | undefined, finish: string | null = null, rest: object = {}) => ({
  id: 'chatcmpl-x1',
  created: 1_790_000_000,
  choices: [{ index: 0, delta, finish_reason: finish }],
  ...rest,
});
const said = (content: string, finish: string | null = null, rest: object = {}) =>
  part({ content }, finish, rest);

/** What the client of a stream of these chunks gets, and what its receipt will say. */
async function streamed(
  chunks: object[] | ScriptedProvider,
  includeUsage = false,
  over: Parameters<typeof delivery>[0] = {},
) {
  const provider = !Array.isArray(chunks)
    ? chunks
    : new ScriptedProvider(streams(...chunks.map((chunk) => JSON.stringify(chunk))));
  const { run, outbox, handed } = workerWith(provider);
  await run(delivery({ stream: true, includeUsage, ...over }));
  const told = outbox.replies.flatMap((reply) =>
    reply.kind === 'frames'
      ? reply.payload
          .split('\n\n')
          .flatMap((frame) => frame.replace(/^(event: .*\n)?data: /, '') || [])
      : reply.kind === 'last'
        ? [reply.payload]
        : [],
  );
  const error = outbox.replies.find(({ kind }) => kind === 'error');
  const got = told.map((payload) => JSON.parse(payload) as Chunk);
  return { got, error, record: handed()[0]?.record };
}

/** The text of each choice, as client code puts it together that guards against nothing. */
function textsOf(chunks: readonly Chunk[]): string[] {
  const texts: string[] = [];
  for (const { choices, usage } of chunks) {
    if (choices.length === 0 && usage != null) continue;
    const { index, delta } = choices[0]!;
    texts[index] = (texts[index] ?? '') + (delta.content ?? '');
  }
  return texts;
}

/** Calls as libraries put them together: by index, texts behind each other. */
function callsOf(chunks: readonly Chunk[]): { id: string; name: string; arguments: string }[] {
  const calls: { id: string; name: string; arguments: string }[] = [];
  for (const { choices } of chunks)
    for (const { index, id, function: called } of choices[0]?.delta.tool_calls ?? []) {
      const call = (calls[index] ??= { id: '', name: '', arguments: '' });
      call.id ||= id ?? '';
      call.name ||= called.name ?? '';
      call.arguments += called.arguments ?? '';
    }
  return calls;
}

describe('usage in a stream that breaks off', () => {
  const told = (completion_tokens: number) => ({ usage: { ...USAGE, completion_tokens } });
  const thought = part({ reasoning_content: 'So' });
  const broken = async (chunks: object[], countUsage?: () => Promise<Usage | UnknownUsage>) => {
    const provider = new ScriptedProvider((sink) => {
      for (const one of chunks) sink.onPayload(JSON.stringify(one));
      sink.onFailure({ kind: 'connection', detail: 'reset' });
    });
    const { run, handed } = workerWith(provider, countUsage && { countUsage });
    await run(delivery({ stream: true }));
    return handed()[0]!.record;
  };

  it('is of the whole of it where it came with the last text or behind it', async () => {
    for (const chunks of [
      [said('Hi', null, told(1)), said(' you', null, told(2))],
      [said('Hi'), said(' you', null, told(2)), part({})],
      [said('Hi'), thought, { id: 'c', choices: [], ...told(2) }],
    ])
      expect(await broken(chunks)).toMatchObject({
        outcome: 'truncated',
        usage: { source: 'upstream', outputTokens: 2 },
        relayedTokens: 2,
      });
  });

  it('is of a part of it where text came behind it, and what was received is counted', async () => {
    for (const chunks of [
      [said('Hi', null, told(1)), said(' you'), said(' all'), said(' there')],
      [{ id: 'c', choices: [], ...told(1) }, said('Hi'), said(' you'), thought, said(' all')],
    ]) {
      const record = await broken(chunks);
      expect(record.usage).toEqual(COUNTED);
      expect(record.relayedTokens).toBe(4);
    }
  });

  it('stands where its server had told of more than was received', async () => {
    const { outputTokens } = COUNTED;
    const record = await broken([said('Hi', null, told(outputTokens + 1)), said(' you')]);
    expect(record.usage).toMatchObject({ source: 'upstream', outputTokens: outputTokens + 1 });
  });

  it('is not known where what was received cannot be counted, or nothing came', async () => {
    const unknown = { source: 'unknown', reason: 'not_counted' } as const;
    for (const [chunks, count] of [
      [[said('Hi', null, told(1)), said(' you')], () => Promise.resolve(unknown)],
      [[part({ role: 'assistant' }, null, told(0))], undefined],
    ] as const)
      expect((await broken([...chunks], count)).usage).toMatchObject({
        source: 'unknown',
        reason: 'upstream_cut',
      });
  });
});

describe('usage in a stream', () => {
  it.each<[where: string, chunks: object[]]>([
    [
      'in a chunk of its own',
      [said('Hi'), part({}, 'stop'), { id: 'c', choices: [], usage: USAGE }],
    ],
    ['in the chunk that finishes', [said('Hi'), part({}, 'stop', { usage: USAGE })]],
    [
      'in the chunk that finishes, and again in a choice that says nothing',
      [said('Hi'), part({}, 'stop', { usage: USAGE }), part({}, null, { usage: USAGE })],
    ],
    [
      'in every chunk, growing',
      [
        said('Hi', null, { usage: { ...USAGE, completion_tokens: 1 } }),
        said(' you', null, { usage: { ...USAGE, completion_tokens: 3 } }),
        part({}, 'stop', { usage: USAGE }),
      ],
    ],
    [
      'in every chunk, growing, and at the end on its own',
      [
        said('Hi', 'stop', { usage: { ...USAGE, completion_tokens: 1 } }),
        { id: 'c', choices: [], usage: USAGE },
      ],
    ],
    [
      'in the choice that finishes',
      [
        said('Hi'),
        { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: USAGE }] },
      ],
    ],
    [
      'under the names of another interface',
      [said('Hi', 'stop'), { id: 'c', choices: [], usage: { input_tokens: 9, output_tokens: 4 } }],
    ],
    [
      'at the end, with zeros for what was told before',
      [
        said('Hi', 'stop', { usage: { ...USAGE, completion_tokens: 1 } }),
        { id: 'c', choices: [], usage: { ...NONE, completion_tokens: 4 } },
      ],
    ],
    [
      'in a place of Groq’s',
      [
        said('Hi', null, { x_groq: { id: 'req_1' } }),
        part({}, 'stop', { x_groq: { usage: USAGE } }),
      ],
    ],
    [
      'in a place of Groq’s, and in a chunk of its own',
      [
        said('Hi', 'stop'),
        { id: 'c', choices: [], usage: USAGE, x_groq: { id: 'req_1', usage: USAGE } },
      ],
    ],
    [
      'with a sum that is none',
      [said('Hi', 'stop'), { choices: [], usage: { ...USAGE, total_tokens: 99 } }],
    ],
    [
      'with more cached than there is, which is no count',
      [
        said('Hi', 'stop'),
        {
          choices: [],
          usage: {
            ...USAGE,
            completion_tokens: 3,
            prompt_tokens_details: { cached_tokens: 20 },
          },
        },
      ],
    ],
    ['nowhere', [said('Hi'), part({}, 'stop')]],
    [
      'as one token for two hundred bytes',
      [said('Hi'.repeat(100), 'stop'), { choices: [], usage: { ...USAGE, completion_tokens: 1 } }],
    ],
    ['as zeros of an answer that is not empty', [said('Hi', 'stop'), { choices: [], usage: NONE }]],
  ])(
    'is told once, last and as the receipt has it, to who asked, and else nowhere: %s [operations.endpoints]',
    async (_where, chunks) => {
      const asked = await streamed(chunks, true);
      const last = asked.got.at(-1)!;
      const before = asked.got.slice(0, -1);
      expect(asked.record).toMatchObject({ outcome: 'complete' });
      const usage = asked.record!.usage as Usage;
      expect(last.choices).toEqual([]);
      expect(last.usage).toMatchObject({
        prompt_tokens: usage.inputTokens,
        completion_tokens: usage.outputTokens,
      });
      expect(last.usage!.total_tokens).toBe(usage.inputTokens + usage.outputTokens);
      const { cached_tokens: cached = 0 } = last.usage!.prompt_tokens_details ?? {};
      expect(cached).toBe(usage.cachedInputTokens);
      expect(JSON.stringify(asked.got).split('prompt_tokens"')).toHaveLength(2);
      expect(before.map((chunk) => chunk.usage)).toEqual(before.map(() => null));
      expect(textsOf(before).join('')).toBe(textsOf(chunks as Chunk[]).join(''));
      const silent = await streamed(chunks);
      expect(JSON.stringify(silent.got)).not.toContain('usage');
      expect(silent.got.filter(({ choices }) => choices.length === 0)).toEqual([]);
      const isCounted = usage.source === 'counted';
      const theirs = { inputTokens: 9, outputTokens: 4, source: 'upstream' };
      expect(usage).toMatchObject(isCounted ? COUNTED : theirs);
      expect(isCounted).toBe(!JSON.stringify(chunks).includes('tokens":4'));
      expect(silent.record!.usage).toEqual(usage);
    },
  );
});

describe('an end in a stream', () => {
  it('is told with the last chunk of its choice, though its server tells it with every one', async () => {
    const chunks = [said('One ', 'stop'), said('two ', 'stop'), said('three', 'stop')];
    const { got, record } = await streamed(chunks);
    expect(textsOf(got)).toEqual(['One two three']);
    expect(got.map(({ choices }) => choices[0]!.finish_reason)).toEqual([null, null, 'stop']);
    expect(record).toMatchObject({ outcome: 'complete' });
  });

  it('is told in a chunk of ours where its server told it too early', async () => {
    const { got } = await streamed([said('One ', 'length'), said('two')]);
    expect(textsOf(got)).toEqual(['One two']);
    expect(got.map(({ choices }) => choices[0]!.finish_reason)).toEqual([null, null, 'length']);
  });

  it.each<[what: string, rogue: object]>([
    ['without a delta', { choices: [{ index: 0, finish_reason: null, offsets: { check: 1 } }] }],
    ['with an empty one', { choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] }],
    ['with none', { choices: [{ index: 0, delta: null }] }],
    ['with a choice that is none', { choices: [null] }],
    ['without a choice', { choices: [] }],
    ['without choices', { prompt_filter_results: [] }],
  ])(
    'is not followed by a chunk %s, and no client stumbles over it before',
    async (_what, rogue) => {
      const odd = { id: '', object: '', created: 0, model: '', ...rogue };
      const { got, record } = await streamed([odd, said('Hi'), odd, part({}, 'stop'), odd]);
      expect(textsOf(got)).toEqual(['Hi']);
      expect(got.at(-1)!.choices[0]!.finish_reason).toBe('stop');
      expect(record).toMatchObject({ outcome: 'complete' });
    },
  );

  it('every choice gets all of its text and one end, its last chunk, however servers tell ends', async () => {
    const anyPart = fc.tuple(
      fc.integer({ min: 0, max: 2 }),
      fc.constantFrom('', 'a', 'b '),
      fc.constantFrom(null, null, 'stop', 'length'),
    );
    let complete = 0;
    await forAllAsync(
      [fc.array(anyPart, { minLength: 1, maxLength: 12 })],
      { numRuns: runs(300) },
      async (parts) => {
        const chunks = parts.map(([index, content, finish]) => ({
          id: 'c',
          choices: [{ index, delta: { content }, finish_reason: finish }],
        }));
        const { got, record } = await streamed(chunks);
        const isComplete = record!.outcome === 'complete';
        if (isComplete) complete += 1;
        const ofChoice = Map.groupBy(got, ({ choices }) => choices[0]!.index);
        for (const [index, all] of Map.groupBy(parts, ([one]) => one)) {
          const told = ofChoice.get(index)!.flatMap(({ choices }) => choices);
          expect(told.map(({ delta }) => delta.content ?? '').join('')).toBe(
            all.map(([, content]) => content).join(''),
          );
          const ends = told.map(({ finish_reason: reason }) => reason);
          expect(ends.slice(0, -1).every((reason) => reason === null)).toBe(true);
          if (isComplete) expect(ends.at(-1)).not.toBeNull();
        }
      },
    );
    expect(complete).toBeGreaterThan(0);
  });
});

type Told = [index: number | undefined, id: string, name: string, args: string];

/** Chunks with a piece of a call each, or with several. */
function calling(...chunks: Told[][]): object[] {
  const pieces = chunks.map((told) =>
    part({
      tool_calls: told.map(([index, id, name, args]) => ({
        ...(index === undefined ? {} : { index }),
        ...(id === '' ? {} : { id, type: 'function' }),
        function: { ...(name === '' ? {} : { name }), arguments: args },
      })),
    }),
  );
  return [part({ role: 'assistant', content: null }), ...pieces, part({}, 'tool_calls')];
}

const A = '{"a":1}';
const B = '{"a":2}';
const no = undefined;

describe('calls of tools in a stream', () => {
  it.each<[how: string, chunks: object[]]>([
    ['by index', calling([[0, 'a', 'add', A]], [[1, 'b', 'add', B]])],
    ['by indexes that do not begin at 0', calling([[1, 'a', 'add', A]], [[3, 'b', 'add', B]])],
    ['by id alone', calling([[no, 'a', 'add', A]], [[no, 'b', 'add', B]])],
    ['by id, all with index 0', calling([[0, 'a', 'add', A]], [[0, 'b', 'add', B]])],
    [
      'by id, in one chunk',
      calling([
        [no, 'a', 'add', A],
        [no, 'b', 'add', B],
      ]),
    ],
    ['by name, one after the other', calling([[no, '', 'add', A]], [[no, '', 'add', B]])],
    ['by name, all with index 0', calling([[0, '', 'add', A]], [[0, '', 'add', B]])],
    [
      'by id, in pieces behind their beginning',
      calling(
        [[no, 'a', 'add', '']],
        [[no, '', '', '{"a"']],
        [[no, '', '', ':1}']],
        [[no, 'b', 'add', '']],
        [[no, '', '', B]],
      ),
    ],
    [
      'by id, in pieces that take turns',
      calling(
        [
          [no, 'a', 'add', '{"a"'],
          [no, 'b', 'add', '{'],
        ],
        [[no, 'b', '', '"a":2}']],
        [[no, 'a', '', ':1}']],
      ),
    ],
    [
      'by place, in pieces of both',
      calling(
        [
          [no, 'a', 'add', '{"a"'],
          [no, 'b', 'add', '{"a"'],
        ],
        [
          [no, '', '', ':1}'],
          [no, '', '', ':2}'],
        ],
      ),
    ],
    [
      'by index, with an id of its own on each piece',
      calling([[0, 'a', 'add', '{"a"']], [[0, 'x', '', ':1}']], [[1, 'b', 'add', B]]),
    ],
    [
      'by index, with the name on each piece',
      calling([[0, 'a', 'add', '{"a"']], [[0, 'a', 'add', ':1}']], [[1, 'b', 'add', B]]),
    ],
  ])('keep apart, with indexes from 0, in chat and in responses: %s', async (_how, chunks) => {
    const { got, record } = await streamed(chunks);
    expect(callsOf(got).map((call) => [call.name, call.arguments])).toEqual([
      ['add', A],
      ['add', B],
    ]);
    expect(record).toMatchObject({ outcome: 'complete' });
    const translated = await streamed(chunks, false, { route: 'responses' });
    expect(translated.record).toMatchObject({ outcome: 'complete' });
    expect(outputOf(translated.got)).toEqual([A, B]);
  });

  it.each<[how: string, chunks: object[]]>([
    ['arguments go on behind their end', calling([[0, 'a', 'add', A]], [[0, 'a', '', B]])],
    ['a call is told twice', calling([[0, 'a', 'add', A]], [[0, 'a', 'add', A]])],
    [
      'a piece may belong to one of two',
      calling(
        [
          [no, 'a', 'add', '{'],
          [no, 'b', 'add', '{'],
        ],
        [[no, '', '', '"a":1}']],
      ),
    ],
    [
      'only ids are told, of no call that is known',
      calling([[no, 'a', 'add', '{']], [[no, 'b', '', '}']]),
    ],
    ['a name comes again', calling([[no, '', 'add', '']], [[no, '', 'add', A]])],
  ])('end the stream where they cannot be told apart: %s', async (_how, chunks) => {
    for (const route of ['chat.completions', 'responses'] as const) {
      const { got, error, record } = await streamed(chunks, false, { route });
      expect(error).toMatchObject({ error: { code: 'upstream_error' } });
      expect(record).toMatchObject({ outcome: 'truncated' });
      expect(JSON.stringify(got)).not.toContain(JSON.stringify(A + B).slice(1, -1));
    }
  });

  it('pass on as they came where their server numbers them, with any arguments', async () => {
    const anyArguments = fc
      .dictionary(fc.string(), fc.jsonValue())
      .map((value) => JSON.stringify(value));
    const cut = fc.tuple(anyArguments, fc.array(fc.nat({ max: 60 }), { maxLength: 6 }));
    await forAllAsync(
      [fc.array(cut, { minLength: 1, maxLength: 3 })],
      { numRuns: runs(200) },
      async (calls) => {
        const chunks = calls.flatMap(([text, places], index) => {
          const at = [0, ...places.toSorted((a, b) => a - b), text.length];
          const pieces = at
            .slice(1)
            .map((to, i): Told[] => [[index, '', '', text.slice(at[i], to)]]);
          return [[[index, `id${index}`, 'add', '']] satisfies Told[], ...pieces];
        });
        const { got, record } = await streamed(calling(...chunks));
        expect(callsOf(got).map((call) => call.arguments)).toEqual(calls.map(([text]) => text));
        expect(record).toMatchObject({ outcome: 'complete' });
      },
    );
  });
});

/** Arguments of the calls of a response, by its last event. */
function outputOf(events: readonly unknown[]): string[] {
  const { response } = events.at(-1) as { response: { output: { arguments?: string }[] } };
  return response.output.flatMap(({ arguments: args }) => args ?? []);
}

describe('an odd shape of a stream', () => {
  it('with messages in place of deltas is passed on as deltas, also where pieces are alike', async () => {
    const piece = (content: string, finish: string | null = null) => ({
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }],
    });
    const { got, record } = await streamed([piece('ha'), piece('ha'), piece('!', 'stop')]);
    expect(textsOf(got)).toEqual(['haha!']);
    expect(JSON.stringify(got)).not.toContain('message');
    expect(record).toMatchObject({ outcome: 'complete' });
  });

  it('with the whole as a message behind its deltas says nothing twice', async () => {
    const whole = { index: 0, message: { content: 'Hi you' }, finish_reason: 'stop' };
    const { got, record } = await streamed([said('Hi '), said('you'), { choices: [whole] }]);
    expect(textsOf(got)).toEqual(['Hi you']);
    expect(got.at(-1)!.choices[0]!.finish_reason).toBe('stop');
    expect(record).toMatchObject({ outcome: 'complete' });
  });

  it('with indexes as text, or none, keeps its choices apart', async () => {
    const two = (...indexes: unknown[]) =>
      indexes.map((index, i) => ({ index, delta: { content: 'ab'[i] }, finish_reason: 'stop' }));
    for (const indexes of [
      ['0', '1'],
      [undefined, undefined],
    ]) {
      const { got, record } = await streamed([{ id: 'c', choices: two(...indexes) }]);
      const told = got.flatMap(({ choices }) => choices);
      expect(told.map(({ index, delta }) => [index, delta.content])).toEqual([
        [0, 'a'],
        [1, 'b'],
      ]);
      expect(record).toMatchObject({ outcome: 'complete' });
    }
    const call = { index: '0', id: 'a', function: { name: 'add', arguments: A } };
    const { got } = await streamed([part({ tool_calls: [call] }), part({}, 'tool_calls')]);
    expect(got[0]!.choices[0]!.delta.tool_calls).toEqual([{ ...call, index: 0 }]);
  });

  it.each(['a', ''])(
    'with arguments as an object has them as text, with the id "%s"',
    async (id) => {
      const call = (args: unknown) => ({
        ...(id === '' ? {} : { id }),
        function: { name: 'add', arguments: args },
      });
      const message = { role: 'assistant', content: null, tool_calls: [call({ a: 1 })] };
      for (const route of ['chat.completions', 'responses'] as const) {
        const { got, record } = await streamed([part(message), part({}, 'tool_calls')], false, {
          route,
        });
        expect(record).toMatchObject({ outcome: 'complete' });
        const found = route === 'responses' ? outputOf(got) : callsOf(got).map((c) => c.arguments);
        expect(found).toEqual([A]);
      }
      const whole = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage: USAGE };
      const provider = new ScriptedProvider((sink) => sink.onAnswer(JSON.stringify(whole)));
      const { run, outbox } = workerWith(provider);
      await run(delivery());
      const reply = outbox.replies.find(({ kind }) => kind === 'answer') as { payload: string };
      const answer = JSON.parse(reply.payload) as typeof whole;
      expect(answer.choices[0]!.message.tool_calls).toEqual([call(A)]);
    },
  );

  it('that was not asked for is called a stream in the log', async () => {
    const provider = new ScriptedProvider((sink) => sink.onAnswer('data: {"choices":[]}\n\n'));
    const request = { route: 'chat.completions' } as UpstreamRequest;
    await expect(callForAnswer(provider, request).opened).rejects.toMatchObject({
      failure: { kind: 'malformed', detail: 'the answer is a stream, which was not asked for' },
    });
  });
});

describe('the id of an answer', () => {
  it.each<[route: Route, prefix: string]>([
    ['chat.completions', 'chatcmpl-'],
    ['completions', 'cmpl-'],
    ['responses', 'resp_'],
  ])(
    'is ours in every chunk of %s, and leads to the receipt; the upstream’s own stands there [clients.chunks]',
    async (route, prefix) => {
      const own = (id: string) => ({ id, choices: [{ index: 0, delta: {}, text: 'a' }] });
      const chunks = [own('chatcmpl-77'), own(''), { ...own('chatcmpl-78'), usage: USAGE }];
      const end = { choices: [{ index: 0, delta: {}, text: '', finish_reason: 'stop' }] };
      const { got, record } = await streamed([...chunks, end], true, { route });
      const ids = got.flatMap((one) => {
        const { id, response } = one as { id?: string; response?: { id: string } };
        return response?.id ?? id ?? [];
      });
      const ulid = record!.requestId.replace('req_', '');
      expect(new Set(ids)).toEqual(new Set([prefix + ulid]));
      expect(receiptIdNamed(ids[0]!)).toBe(`rcpt_${ulid}`);
      expect(record!.upstreamAnswerId).toBe('chatcmpl-77');
    },
  );
});

describe('a server that does another thing than was asked of it', () => {
  it('is relayed as a stream where it answers whole, with its usage told once', async () => {
    const calls = [A, B].map((text, i) => ({
      id: `c${i}`,
      function: { name: 'add', arguments: text },
    }));
    const message = { role: 'assistant', content: 'Hi', tool_calls: calls };
    const whole = {
      id: 'x',
      choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
      usage: USAGE,
    };
    const provider = new ScriptedProvider((sink) => sink.onAnswer(JSON.stringify(whole)));
    const { got, record } = await streamed(provider, true);
    expect(textsOf(got)).toEqual(['Hi']);
    expect(callsOf(got).map((call) => call.arguments)).toEqual([A, B]);
    expect(got.at(-1)).toMatchObject({ choices: [], usage: USAGE });
    expect(record).toMatchObject({ outcome: 'complete', usage: { outputTokens: 4 } });
  });

  it('reaches no client with an error that says nothing, on which libraries throw', async () => {
    const { got, record } = await streamed([said('Hi', null, { error: {} }), part({}, 'stop')]);
    expect(got.filter((one) => 'error' in one)).toEqual([]);
    expect(record).toMatchObject({ outcome: 'complete' });
  });
});
