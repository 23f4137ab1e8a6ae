import { describe, expect, it } from 'vitest';
import { validateChat, validateCompletion, validateEmbedding } from '#api/openai/validate.ts';
import { chat, faultOf, type Validate, withMessage } from './rules.ts';

describe('refusals', () => {
  it('a refusal says in plain words what was expected', () => {
    const message = (validate: Validate, body: unknown) => faultOf(validate, body).message;
    expect(message(validateChat, chat({ temperature: 3 }))).toBe(
      '`temperature` must be a number from 0 to 2.',
    );
    expect(message(validateChat, chat({ temperature: 'hot' }))).toBe(
      '`temperature` must be a number from 0 to 2.',
    );
    expect(message(validateChat, chat({ stop: 5 }))).toBe(
      '`stop` must be a string or an array of at most 4 strings.',
    );
    expect(message(validateChat, chat({ user: 5 }))).toBe(
      '`user` must be a string of at most 512 characters.',
    );
    expect(message(validateChat, chat({ max_tokens: 0 }))).toBe(
      '`max_tokens` must be an integer of 1 or more.',
    );
    expect(message(validateChat, { model: 'm' })).toBe(
      '`messages` is required: a non-empty array of messages.',
    );
    expect(message(validateChat, withMessage({ role: 'bot' }))).toBe(
      '`messages[0].role` must be one of `system`, `developer`, `user`, `assistant`, `tool`, `function`.',
    );
  });

  it.each([null, 5, 'x', true, [], [1]])('a body that is %j is refused', (body) => {
    for (const validate of [validateChat, validateCompletion, validateEmbedding]) {
      expect(faultOf(validate, body)).toMatchObject({ code: 'invalid_body', param: 'body' });
    }
  });

  it('a refusal never quotes what the client sent [errors.silent-on-content]', () => {
    const secret = 'my secret prompt';
    const bodies = [
      chat({ temperature: secret }),
      chat({ receipt: secret }),
      chat({ logit_bias: { [secret]: 'x' } }),
      withMessage({ role: secret, content: secret }),
      withMessage({ role: 'user', content: [{ type: secret }] }),
    ];
    for (const body of bodies) {
      const fault = faultOf(validateChat, body);
      expect(`${fault.message}${fault.param}${fault.code}`).not.toContain(secret);
    }
  });
});
