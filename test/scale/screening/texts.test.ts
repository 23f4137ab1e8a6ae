import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatRequestOf } from '#shared/dialects/chat-of-response.ts';
import type { Dialect, Route } from '#shared/kernel/inference.ts';
import {
  BESIDE_TEXTS_MAX,
  countedTextsOf,
  SCREENED_CHARS_MAX,
  textsOf,
  translatedTextsOf,
} from '#shared/screening/texts.ts';
import { forAll } from '#test/support/for-all.ts';

const decode = (tokens: readonly number[]): string => `<${tokens.join(' ')}>`;

describe('the texts of a request', () => {
  it('are all texts that a chat model reads, from every role', () => {
    const body = {
      messages: [
        { role: 'system', content: 'system' },
        {
          role: 'developer',
          content: [
            { type: 'text', text: 'part 1' },
            { type: 'text', text: 'part 2' },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
            { type: 'text', text: 'user' },
          ],
        },
        {
          role: 'assistant',
          content: null,
          refusal: 'refusal',
          tool_calls: [
            { type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
            { type: 'custom', custom: { name: 'c', input: 'custom' } },
          ],
          function_call: { name: 'g', arguments: '{"b":2}' },
        },
        { role: 'tool', content: 'tool' },
      ],
      tools: [{ type: 'function', function: { name: 'f', description: 'described' } }],
      functions: [{ name: 'g', description: 'legacy' }],
      prediction: { type: 'content', content: 'predicted' },
    };
    expect(textsOf('chat.completions', body).prompt).toEqual([
      'system',
      'part 1',
      'part 2',
      'user',
      'refusal',
      '{"a":1}',
      'custom',
      '{"b":2}',
      'tool',
      'described',
      'legacy',
      'predicted',
    ]);
  });

  it.each<[string, Dialect, unknown, string[]]>([
    ['a prompt', 'completions', { prompt: 'a', suffix: 'b' }, ['a', 'b']],
    ['prompts', 'completions', { prompt: ['a', 'b'] }, ['a', 'b']],
    ['a prompt of tokens', 'completions', { prompt: [1, 2] }, ['<1 2>']],
    ['prompts of tokens', 'completions', { prompt: [[1], [2, 3]] }, ['<1>', '<2 3>']],
    ['an input', 'embeddings', { input: 'a' }, ['a']],
    ['inputs', 'embeddings', { input: ['a', '', 'b'] }, ['a', 'b']],
    ['inputs of tokens', 'embeddings', { input: [[7, 8]] }, ['<7 8>']],
    ['nothing', 'embeddings', {}, []],
  ])('are listed for %s', (_, route, body, expected) => {
    expect(textsOf(route, body, decode).prompt).toEqual(expected);
  });

  it('stand in the order in which servers put them together, and not in that of the members', () => {
    const messages = [{ refusal: 'b', content: 'a', role: 'assistant' }];
    expect(textsOf('chat.completions', { tools: [{ description: 'c' }], messages }).prompt).toEqual(
      ['a', 'b', 'c'],
    );
  });

  it.each(['reasoning_content', 'reasoning'])(
    'have what an assistant thought (%s) before what it said, are read without it too, and counted without it',
    (name) => {
      const thinking = { content: ' a cake', role: 'assistant', [name]: 'how to bake' };
      const messages = [{ role: 'user', content: 'Hi' }, thinking];
      const { prompt, joined, beside } = textsOf('chat.completions', { messages });
      expect(prompt).toEqual(['Hi', 'how to bake', ' a cake']);
      expect(joined).toEqual(['Hi', ' a cake']);
      expect(countedTextsOf('chat.completions', { messages })).toEqual(['Hi', ' a cake']);
      expect(beside).toEqual([]);
    },
  );

  it.each(['data:text/plain;charset=utf-8;base64,', 'data:;base64,', ''])(
    'are also those of files that are texts: %s',
    (head) => {
      const file_data = `${head}${Buffer.from('bake').toString('base64')}`;
      const content = [{ type: 'file', file: { file_data } }];
      expect(textsOf('chat.completions', { messages: [{ role: 'user', content }] }).prompt).toEqual(
        ['bake'],
      );
    },
  );

  it('leave out tokens whose vocabulary is unknown', () => {
    expect(textsOf('completions', { prompt: [1, 2] }).prompt).toEqual([]);
  });

  it('are listed without an error for any body', () => {
    const key = fc.constantFrom(
      'messages',
      'content',
      'text',
      'tool_calls',
      'function',
      'prompt',
      'input',
      'tools',
    );
    const { body } = fc.letrec<{ body: unknown }>((tie) => ({
      body: fc.oneof(
        { maxDepth: 5 },
        fc.anything(),
        fc.dictionary(key, tie('body')),
        fc.array(tie('body')),
      ),
    }));
    forAll(
      [
        fc.constantFrom<Dialect>('chat.completions', 'completions', 'embeddings', 'responses'),
        body,
      ],
      (route, value) => {
        const { prompt, joined, beside } = textsOf(route, value, decode);
        for (const text of [...prompt, ...joined, ...beside]) expect(typeof text).toBe('string');
      },
    );
  });
});

describe('the texts of a request as servers may put them together', () => {
  const joinedOf = (...content: object[]): string[] =>
    textsOf('chat.completions', {
      messages: [
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content },
      ],
    }).joined;
  const text = (of: string): object => ({ type: 'text', text: of });
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };

  it('are those of the whole request with the parts of a message in one, and those between its media', () => {
    expect(joinedOf(text('ba'), text('ke'))).toEqual(['Hi', 'bake']);
    expect(joinedOf(text('ba'), text('ke'), image, text('s'))).toEqual([
      'Hi',
      'bakes',
      'Hi',
      'bake',
      's',
    ]);
  });

  it('are not listed again where they read the same apart', () => {
    expect(joinedOf(text('bake '), text('a cake'))).toEqual([]);
    expect(joinedOf(image, text('bake'))).toEqual([]);
  });

  it('are also those without files that are texts, which are media to some servers', () => {
    const file_data = `data:text/plain;base64,${Buffer.from('in').toString('base64')}`;
    const file = { type: 'file', file: { file_data } };
    expect(joinedOf(text('ba'), file, text('ke'))).toEqual(
      [['bainke'], ['ba', 'ke'], ['bake']].flatMap((said) => ['Hi', ...said]),
    );
  });

  it('are also those without refusals', () => {
    const refusal = { type: 'refusal', refusal: 'I' };
    expect(joinedOf(text('ba'), refusal, text('ke'))).toEqual([
      'Hi',
      'baIke',
      'Hi',
      'ba',
      'ke',
      'Hi',
      'bake',
    ]);
  });

  it('are also those whose tags are read, beside those in which they only cut words', () => {
    const inTags = (said: string): string =>
      Array.from(said, (one) => String.fromCodePoint(0xe0000 + one.codePointAt(0)!)).join('');
    const spelt = `Look: ${inTags('bake a cake')}`;
    expect(joinedOf(text(spelt))).toEqual(['Look: bake a cake']);
    const beside = textsOf('chat.completions', {
      messages: [{ role: 'user', content: 'Hi', name: inTags('bake') }],
    });
    expect(beside.joined).toContain('bake');
    // Cut by a part, or by an escape in arguments, as well.
    expect(joinedOf(text(inTags('ba')), text(inTags('ke')))).toContain('bake');
    const escaped = Array.from(inTags('bake'), (tag) => {
      const [high, low] = [tag.charCodeAt(0), tag.charCodeAt(1)];
      return `\\u${high.toString(16)}\\u${low.toString(16)}`;
    }).join('');
    const call = { type: 'function', function: { name: 'f', arguments: `{"a":"${escaped}"}` } };
    const messages = [{ role: 'assistant', tool_calls: [call] }];
    expect(textsOf('chat.completions', { messages }).joined).toContain('{"a":"bake"}');
  });

  it.each([
    ['texts', { role: 'user', content: 'ba' }, { role: 'user', content: 'ke' }],
    [
      'of two names of a role',
      { role: 'developer', content: 'ba' },
      { role: 'system', content: 'ke' },
    ],
    [
      'and one that says nothing',
      { role: 'user', content: 'ba' },
      { role: 'assistant', content: '' },
      { role: 'user', content: 'ke' },
    ],
    [
      'with a thought between them',
      { role: 'assistant', content: 'ba' },
      { role: 'assistant', reasoning: 'I', content: 'ke' },
    ],
    [
      'with a medium that some leave out',
      { role: 'user', content: 'ba' },
      { role: 'user', content: [image] },
      { role: 'user', content: 'ke' },
    ],
    // What follows would else make another word of it in each way in which these are one.
    [
      'before a medium',
      { role: 'user', content: 'ba' },
      { role: 'user', content: 'ke' },
      { role: 'user', content: [image, text('s')] },
    ],
    [
      'of parts that stay apart',
      { role: 'user', content: [text('a'), text('ba')] },
      { role: 'user', content: [text('ke'), text('s')] },
    ],
    [
      'after another role',
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'ba' },
      { role: 'assistant', content: 'ke' },
    ],
  ])('are also those with messages of one role in a row in one: %s', (_, ...messages) => {
    expect(textsOf('chat.completions', { messages }).joined).toContain('bake');
    expect(textsOf('embeddings', { input: 'x', messages }).joined).toContain('bake');
  });

  it('have input items of one role in one too, with instructions and without reasoning', () => {
    const item = (role: string, said: string) => ({ role, content: said });
    const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I' }] };
    for (const body of [
      { instructions: 'ba', input: [item('developer', 'ke')] },
      { input: [item('user', 'ba'), item('user', 'ke')] },
      { input: [item('user', 'ba'), thought, item('user', 'ke')] },
    ])
      expect(textsOf('responses', body).joined).toContain('bake');
  });

  it('keep messages apart that no server joins, and are none of them twice', () => {
    const user = { role: 'user', content: 'ba' };
    const tool = { role: 'tool', tool_call_id: 'a', content: 'ke' };
    for (const messages of [
      [user, { role: 'assistant', content: 'ke' }, user],
      [user, tool, tool],
    ])
      expect(textsOf('chat.completions', { messages, prediction: user }).joined).toEqual([]);
  });

  it('are those of messages too where the interface has none, and servers take them all the same', () => {
    const messages = [{ role: 'user', content: [text('ba'), text('ke')] }];
    for (const route of ['embeddings', 'completions', 'responses'] as const)
      expect(textsOf(route, { messages }).joined).toContain('bake');
  });

  it('are put together no further than to see that there are too many', () => {
    const words = 'one two '.repeat(500_000);
    const content = [text(`${words}ba`), { type: 'refusal', refusal: 'No.' }, text(`ke${words}`)];
    const messages = [{ role: 'assistant', reasoning_content: 'Hm.', content }, { content }];
    const { prompt, joined } = textsOf('chat.completions', {
      messages: [...messages, ...messages],
    });
    const chars = (texts: readonly string[]) => texts.reduce((sum, { length }) => sum + length, 0);
    expect(chars(prompt)).toBeGreaterThan(32_000_000);
    expect(chars(joined)).toBeGreaterThan(SCREENED_CHARS_MAX);
    expect(chars(joined)).toBeLessThan(SCREENED_CHARS_MAX + 10_000_000);
  });

  it.each<[string, Route, Record<string, unknown>]>([
    ['a message', 'chat.completions', { messages: [{ role: 'user', name: 'a', content: 'b' }] }],
    [
      'a message in parts',
      'chat.completions',
      { messages: [{ role: 'user', name: 'a', content: [{ type: 'text', text: 'b' }] }] },
    ],
    ['a tool', 'chat.completions', { tools: [{ function: { description: 'b', name: 'a' } }] }],
    [
      'a call',
      'chat.completions',
      { messages: [{ tool_calls: [{ function: { arguments: '\\u0062', name: 'a' } }] }] },
    ],
    ['a tool of a response', 'responses', { input: [], tools: [{ name: 'a', description: 'b' }] }],
    [
      'a call of a response',
      'responses',
      { input: [{ type: 'function_call', name: 'a', arguments: 'b' }] },
    ],
    [
      'a custom call of a response',
      'responses',
      { input: [{ type: 'custom_tool_call', name: 'a', input: 'b' }] },
    ],
  ])('have the name of %s with what servers write behind it', (_, route, body) => {
    expect(textsOf(route, body).joined).toContain('a b');
  });

  it('have the title of what was found with its text', () => {
    const block = { type: 'search_result', source: 's', title: 'a', content: [{ text: 'b' }] };
    const messages = [{ role: 'user', content: [block] }];
    expect(textsOf('messages', { messages }).joined).toContain('s a b');
  });

  it('have arguments of calls without their escapes', () => {
    const call = { type: 'function', function: { name: 'f', arguments: '{"a":"\\u0062ake\\n"}' } };
    const messages = [{ role: 'assistant', tool_calls: [call] }];
    expect(textsOf('chat.completions', { messages }).joined).toContain('{"a":"bake\n"}');
  });
});

it('a file that servers decode differently is named by its field', () => {
  const content = [{ type: 'file', file: { file_data: 'data:text/plain;base64,a=G93' } }];
  expect(textsOf('chat.completions', { messages: [{ role: 'user', content }] }).unlike).toBe(
    'messages',
  );
  const input = [{ role: 'user', content: [{ type: 'input_file', file_data: 'aG-93' }] }];
  expect(textsOf('responses', { input }).unlike).toBe('input');
  const data = { type: 'base64', media_type: 'text/plain,a', data: 'aG93' };
  const document = [{ role: 'user', content: [{ type: 'document', source: data }] }];
  expect(textsOf('messages', { messages: document }).unlike).toBe('messages');
});

describe('the texts beside the prompt', () => {
  const canary = (n: number): string => `canary ${n}`;

  it('are names, schemas and every field that passes through, wherever a model could read them', () => {
    const body = {
      messages: [
        { role: 'user', name: canary(1), content: 'read already' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'read already', cache_control: { type: canary(2) } },
            {
              type: 'file',
              file: { file_data: 'data:image/png;base64,iVBORw0KGgo=', filename: canary(3) },
            },
            { type: 'image_url', image_url: { url: 'https://files.example/x', detail: canary(4) } },
            { type: 'input_audio', input_audio: { data: 'AA==', format: canary(20) } },
            { type: 'file', file: { file_id: canary(21) } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          audio: { id: canary(5) },
          tool_calls: [
            { id: canary(6), type: 'function', function: { name: canary(7), arguments: 'read' } },
          ],
        },
        { role: 'tool', tool_call_id: canary(8), content: 'read already' },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: canary(9),
            description: 'read already',
            parameters: {
              type: 'object',
              properties: { [canary(10)]: { type: 'string', enum: [canary(11)] } },
            },
          },
        },
        { type: 'custom', custom: { name: canary(12), description: canary(13) } },
      ],
      tool_choice: { type: 'function', function: { name: canary(14) } },
      response_format: {
        type: 'json_schema',
        json_schema: { name: canary(15), schema: { description: canary(16) } },
      },
      documents: [{ title: canary(17), words: [[canary(18)]] }],
      guided_regex: canary(19),
      temperature: 1,
      user: 'not read by a model',
      logit_bias: { 1: 2 },
    };
    const { beside: texts } = textsOf('chat.completions', body);
    const expected = Array.from({ length: 21 }, (_, index) => canary(index + 1));
    expect(texts.filter((text) => text.startsWith('canary')).toSorted()).toEqual(
      expected.toSorted(),
    );
    expect(texts.filter((text) => !text.startsWith('canary'))).toEqual(['words']);
  });

  it('are what data hold in places that no interface has, whichever server looks there, and names of files in addresses', () => {
    const address = (text: string): string =>
      `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;
    const file = {
      file_data: 'data:text/plain;name="canary 1.txt";base64,AAAA',
      file_url: address('canary 2'),
      file_id: `data:text/plain,${encodeURIComponent('canary 3')}`,
    };
    const chat = textsOf('chat.completions', {
      messages: [{ role: 'user', content: [{ type: 'file', file }] }],
      attachments: [{ note: address('canary 4') }],
    });
    const output = { type: 'computer_screenshot', image_url: address('canary 5') };
    const response = textsOf('responses', { input: [{ type: 'computer_call_output', output }] });
    const embedding = textsOf('embeddings', { input: 'x', messages: [address('canary 6')] });
    const all = [chat, response, embedding].flatMap(({ beside }) => beside).join('\n');
    for (let i = 1; i <= 6; i += 1) expect(all).toContain(`canary ${i}`);
    expect(chat.unlike).toBeUndefined();
  });

  it('of input items are what names them and their media, and reasoning that came back sealed', () => {
    const image = {
      type: 'input_image',
      image_url: 'data:image/png;base64,iVBORw0KGgo=',
      detail: canary(1),
    };
    const audio = { type: 'input_audio', input_audio: { data: 'AA==', format: canary(2) } };
    const file = {
      type: 'input_file',
      file_data: 'data:image/png;base64,iVBORw0KGgo=',
      filename: canary(3),
    };
    const input = [
      { type: 'message', role: 'user', content: [image, audio, file], id: canary(4) },
      { type: 'reasoning', summary: [], encrypted_content: canary(5) },
    ];
    const texts = Array.from({ length: 5 }, (_, index) => canary(index + 1));
    expect(textsOf('responses', { input }).beside.toSorted()).toEqual(texts);
  });

  it('of completions and embeddings are the fields beside prompt and input', () => {
    const body = { model: 'm', prompt: 'a', suffix: 'b', input: 'c', extra: 'd' };
    expect(textsOf('completions', body).beside).toEqual(['c', 'd']);
    expect(textsOf('embeddings', body).beside).toEqual(['a', 'b', 'd']);
  });

  it('are bounded, and the field that has too many is named', () => {
    const many = Array.from({ length: BESIDE_TEXTS_MAX + 1 }, () => 'a');
    const body = { messages: [{ role: 'user', content: 'x' }], documents: [many] };
    expect(textsOf('chat.completions', body).tooMany).toBe('documents');
    expect(textsOf('responses', { input: [many] }).tooMany).toBe('input');
  });
});

describe('the texts of a request for a response, at a server of chats', () => {
  const word = fc.constantFrom('Rain.', 'Wind.', 'Sea.', 'Ice.');
  const parts = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: word.map((text) => ({ type: 'input_text', text })) },
      fc.constant({ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }),
    ),
    { minLength: 1, maxLength: 3 },
  );
  const callId = fc.constantFrom('a', 'b');
  const name = fc.constantFrom(...Array.from({ length: 9 }, () => 'look'), 'sea.look');
  const call = { call_id: callId, name };
  const output = fc.constantFrom('function_call_output', 'custom_tool_call_output');
  const item = fc.oneof(
    fc.record({ role: fc.constantFrom('user', 'system'), content: fc.oneof(word, parts) }),
    fc.record({ role: fc.constant('assistant'), content: word }),
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant('function_call'), ...call, arguments: word }),
    },
    fc.record({ type: fc.constant('custom_tool_call'), ...call, input: word }),
    {
      weight: 3,
      arbitrary: fc.record({ type: output, call_id: callId, output: fc.oneof(word, word, parts) }),
    },
  );
  const tool = fc.record({ type: fc.constantFrom('function', 'custom'), name });
  const read = (texts: readonly string[]) => texts.join(' ').split(/\s+/).join(' ');

  it('are read as they stand there, or stand in that order and in those words in the request', () => {
    let same = 0;
    forAll(
      [
        fc.array(item, { minLength: 1, maxLength: 6 }),
        fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.tuple(tool)),
      ],
      { numRuns: 1_000 },
      (input, tools) => {
        const body = { instructions: 'Be short.', input, tools };
        const { messages, tools: sent } = chatRequestOf(body);
        const chat = textsOf('chat.completions', { messages, tools: sent });
        const translated = translatedTextsOf(body);
        if (translated !== undefined) {
          expect(translated).toEqual(chat);
          return;
        }
        same += 1;
        const asked = textsOf('responses', body);
        expect(read(asked.prompt)).toBe(read(chat.prompt));
        expect(asked.beside).toEqual(expect.arrayContaining(namesOf(chat.beside)));
      },
    );
    expect(same).toBeGreaterThan(100);
  });

  /** Without what says in a chat what is what. */
  const namesOf = (beside: readonly string[]) => beside.filter((text) => text.includes('look'));
});
