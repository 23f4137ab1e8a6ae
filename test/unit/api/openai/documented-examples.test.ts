import { describe, expect, it } from 'vitest';
import { validateChat, validateCompletion, validateEmbedding } from '#api/openai/validate.ts';
import { codeRow, type DocumentedCode } from '#shared/kernel/error-codes.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

const USER = { role: 'user', content: 'hello' };
const chat = (more: object) => () => validateChat({ model: 'm', messages: [USER], ...more });

describe('the refusals that the documentation shows', () => {
  it.each<[DocumentedCode, () => unknown]>([
    ['invalid_temperature', chat({ temperature: 3 })],
    ['invalid_top_p', chat({ top_p: 2 })],
    ['invalid_messages', chat({ messages: [USER, USER, { role: 'user', content: 7 }] })],
    ['invalid_prompt', () => validateCompletion({ model: 'm', prompt: 7 })],
    ['invalid_input', () => validateEmbedding({ model: 'm', input: '' })],
  ])('%s is what a caller is really told', (code, refused) => {
    const { example, param } = codeRow(code);
    expect(thrownBy(Fault, refused)).toMatchObject({ code, message: example, param });
  });
});
