import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  validateChat,
  validateCompletion,
  validateEmbedding,
  validateResponse,
} from '#api/openai/validate.ts';
import { runs } from '#test/support/depth.ts';
import {
  chat,
  completion,
  embedding,
  faultOf,
  type Make,
  refuses,
  type Validate,
} from '#test/unit/api/openai/rules.ts';

const response: Make = (over) => ({ model: 'm', input: 'hello', ...over });
const ROUTES: readonly (readonly [Validate, Make])[] = [
  [validateChat, chat],
  [validateCompletion, completion],
  [validateEmbedding, embedding],
  [validateResponse, response],
];
const MEMBERS = {
  use_beam_search: true,
  num_beams: 50,
  num_return_sequences: 50,
  n_cmpl: 50,
  generation_config: '{"num_beams":50}',
  chat_template: '{{ "ba" ~ "ke" }}',
  prompt_embeds: ['AA=='],
  prompt_token_ids: [1, 2],
  kv_transfer_params: { remote_host: '169.254.169.254' },
  disaggregated_params: { ctx_request_id: 1 },
  session_params: { id: 'of-another' },
  bootstrap_host: '169.254.169.254',
  bootstrap_port: 80,
  bootstrap_room: 7,
  ec_transfer_params: { peer: 'of-another' },
  disagg_prefill_dp_rank: 3,
  data_parallel_rank: 1,
  routed_dp_rank: 0,
  custom_logit_processor: '{"callable":"80049"}',
  logits_processors: ['os.system'],
  lora_path: '/adapters/of-another',
  lora_request: { lora_name: 'a', lora_int_id: 1, lora_path: '/adapters/of-another' },
  lora: [{ id: 0, scale: 1 }],
  adapters: '/adapters/of-another',
  draft_model: 'another',
  fallbacks: ['another'],
  api_base: 'https://another.example',
  base_url: 'https://another.example',
  custom_llm_provider: 'openai',
  user_config: { model_list: [] },
  mock_response: 'never said by a model',
  mock_tool_calls: [],
  models: ['another'],
  priority: -1,
  num_retries: 50,
  chat_template_str: '{{ "ba" ~ "ke" }}',
  instruction_template_str: '{{ "ba" ~ "ke" }}',
  data_sources: [{ type: 'azure_search', parameters: { endpoint: 'https://another.example' } }],
  prompt_id: 'kept-elsewhere',
  adapter_id: 'another/adapter',
  context_window_fallbacks: [{ m: ['another'] }],
  content_policy_fallbacks: [{ m: ['another'] }],
  request_id: 'the same twice',
  rid: 'the same twice',
  id_slot: 0,
  stop_regex: '(a+)+$',
  service_tier: 'priority',
  speed: 'fast',
};

/** The ways in which a server may meet a letter, and a gap between words. */
const LIKENESSES: Readonly<Record<string, readonly string[]>> = {
  _: ['_', '-', '', '__'],
  i: ['i', 'I', 'ı'],
  k: ['k', 'K', '\u212a'],
  s: ['s', 'S', 'ſ'],
};

/** A name in one of its spellings. */
const speltAs = (name: string) =>
  array(constantFrom(0, 1, 2, 3), { minLength: name.length, maxLength: name.length }).map(
    (choices) =>
      Array.from(name, (letter, i) => {
        const spellings = LIKENESSES[letter] ?? [letter, letter.toUpperCase()];
        return spellings[choices[i]! % spellings.length]!;
      }).join(''),
  );

describe('members that multiply the work of a request, or that screening cannot read', () => {
  for (const [validate, make] of ROUTES) {
    refuses(
      validate,
      Object.entries(MEMBERS).flatMap(([name, value]) => [
        [name, make({ [name]: value }), name],
        [
          `extra_body.${name}`,
          make({ extra_body: { [name]: value } }),
          'extra_body',
          `extra_body.${name}`,
        ],
      ]),
    );
    refuses(validate, [
      ['extra_body.n', make({ extra_body: { n: 50 } }), 'extra_body', 'extra_body.n'],
      [
        'an extra_body in another',
        make({ extra_body: { extra_body: { best_of: 50 } } }),
        'extra_body',
        'extra_body.extra_body.best_of',
      ],
    ]);
    refuses(
      validate,
      [
        ['chat_template_kwargs', 'chat_template', '{{ "ba" ~ "ke" }}'],
        ['nvext', 'token_data', [1, 2]],
        ['vllm_xargs', 'kv_transfer_params', [1]],
      ].flatMap(([holder, name, value]): Parameters<typeof refuses>[1][number][] => {
        const held = { [String(holder)]: { [String(name)]: value } };
        const path = `${String(holder)}.${String(name)}`;
        return [
          [path, make(held), String(holder), path],
          [
            `${path} in an extra_body`,
            make({ extra_body: held }),
            'extra_body',
            `extra_body.${path}`,
          ],
        ];
      }),
    );
    if (validate !== validateCompletion)
      refuses(validate, [['best_of', make({ best_of: 20 }), 'best_of']]);

    it('are refused in every spelling, also in an `extra_body` in any', () => {
      const names = [...Object.keys(MEMBERS), 'best_of'] as const;
      for (const name of [...names, 'n', 'max_tokens', 'messages', 'logit_bias'])
        assert(
          property(speltAs(name), speltAs('extra_body'), (spelt, extra) => {
            const inside = faultOf(validate, make({ [extra]: { [spelt]: 5 } }));
            expect([inside.code, inside.param]).toEqual([
              'invalid_extra_body',
              `extra_body.${name}`,
            ]);
            const deeper = faultOf(validate, make({ extra_body: { [extra]: { [spelt]: 5 } } }));
            expect(deeper.param).toBe(`extra_body.extra_body.${name}`);
            const isRefused = (names as readonly string[]).includes(name) && spelt !== 'best_of';
            if (isRefused) expect(faultOf(validate, make({ [spelt]: 50 })).param).toBe(name);
          }),
          { numRuns: runs(100) },
        );
    });

    it('pass where they say what a request without them says', () => {
      const body = make({
        use_beam_search: false,
        num_beams: 1,
        chat_template: null,
        chat_template_kwargs: { enable_thinking: false, reasoning: { effort: 'low' }, tools: null },
        nvext: { ignore_eos: true, token_data: null },
        extra_body: { google: { thinking_config: {} }, num_beams: 1 },
        request_id: null,
        id_slot: -1,
        num_retries: 0,
        service_tier: 'flex',
        speed: 'standard',
      });
      expect(validate(structuredClone(body))).toEqual(body);
    });
  }
});

it.each([
  { uuid: 'sku-1' },
  { UUID: 'sku-1' },
  { image_url: { url: 'data:image/png;base64,AAAA', content_hash: 'a' } },
])('a medium that a server would take from what others have left there is refused: %j', (over) => {
  const part = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' }, ...over };
  const messages = [{ role: 'user', content: [part] }];
  for (const [validate, make] of [ROUTES[0]!, ROUTES[2]!])
    expect(faultOf(validate, make({ messages }))).toMatchObject({
      code: 'invalid_messages',
      param: 'messages[0].content[0]',
    });
});

describe('what would need a memory of ours is refused in every spelling', () => {
  const file = { type: 'input_image', detail: 'auto', image_url: 'data:,', File_ID: 'file_1' };
  it.each<[string, Record<string, unknown>, string]>([
    ['N', { N: 5 }, 'n'],
    ['previousResponseId', { previousResponseId: 'resp_1' }, 'previous_response_id'],
    ['File_ID', { input: [{ role: 'user', content: [file] }] }, 'input'],
  ])('%s', (_name, over, param) => {
    expect(faultOf(validateResponse, response(over)).code).toBe(`invalid_${param}`);
  });
});
