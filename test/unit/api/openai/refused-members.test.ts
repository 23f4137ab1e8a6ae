import { describe, expect, it } from 'vitest';
import {
  validateChat,
  validateCompletion,
  validateEmbedding,
  validateResponse,
} from '#api/openai/validate.ts';
import { chat, completion, embedding, type Make, refuses, type Validate } from './rules.ts';

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
};

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
    if (validate !== validateCompletion)
      refuses(validate, [['best_of', make({ best_of: 20 }), 'best_of']]);

    it('pass where they say what a request without them says', () => {
      const body = make({
        use_beam_search: false,
        num_beams: 1,
        chat_template: null,
        extra_body: { google: { thinking_config: {} }, num_beams: 1 },
      });
      expect(validate(structuredClone(body))).toEqual(body);
    });
  }
});
