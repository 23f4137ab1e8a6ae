import { expect, it } from 'vitest';
import { ReaderHere } from '#api/inference/body-reader.ts';
import { loadScreen } from '#shared/screening/files/load.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { CREDENTIAL, NOW, REQUEST_ID } from '#test/unit/api/inference/doubles.ts';

const MODEL = { id: 'both', contextWindow: 10_000_000, tokenizer: 'o200k_base' };

it('a body that is made to be screened in many ways is refused before it is, as a prompt that is too long', () => {
  const reader = new ReaderHere({
    processId: 'api-1',
    shards: 1,
    newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA',
    screen: loadScreen(),
    tokens: createTokenCounter(),
  });
  const part = (text: string) => ({ type: 'input_text', text });
  const words = 'one two '.repeat(250_000);
  const input = [
    {
      role: 'user',
      content: [
        part(`${words}a`),
        { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' },
        { type: 'input_file', file_data: 'data:text/plain;base64,aGVsbG8=' },
        part(`b${words}`),
      ],
    },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
    { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
  ];
  reader.read({
    id: REQUEST_ID,
    route: 'responses',
    rawBody: Buffer.from(JSON.stringify({ model: 'both', input })),
    headers: {},
    credential: CREDENTIAL,
    now: NOW,
  });
  const refusal = expect.objectContaining({ code: 'prompt_too_long', param: 'input' });
  expect(() => reader.readPrompt(MODEL)).toThrow(refusal);
});
