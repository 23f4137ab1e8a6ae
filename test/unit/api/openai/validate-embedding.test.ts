import { describe } from 'vitest';
import { validateEmbedding } from '#api/openai/validate.ts';
import { acceptsEdges, embedding, refuses } from './rules.ts';

describe('validateEmbedding', () => {
  refuses(validateEmbedding, [
    ['a missing input', { model: 'm' }, 'input'],
    ['a null input', embedding({ input: null }), 'input'],
    ['an empty string', embedding({ input: '' }), 'input'],
    ['an empty array', embedding({ input: [] }), 'input'],
    ['an empty string among others', embedding({ input: ['a', ''] }), 'input', 'input[1]'],
    ['mixed inputs', embedding({ input: [1, 'a'] }), 'input', 'input[1]'],
    ['mixed token arrays', embedding({ input: [[1], [1, 'x']] }), 'input', 'input[1][1]'],
    ['a fractional token id', embedding({ input: [1.5] }), 'input', 'input[0]'],
    [
      'more than 2,048 inputs',
      embedding({ input: Array.from({ length: 2049 }, () => 'a') }),
      'input',
    ],
    ['an input that is an object', embedding({ input: {} }), 'input'],
    ['an unknown encoding_format', embedding({ encoding_format: 'hex' }), 'encoding_format'],
    ['a stream, which embeddings are not', embedding({ stream: true }), 'stream'],
    ['dimensions: 0', embedding({ dimensions: 0 }), 'dimensions'],
    ['user of 513 characters', embedding({ user: 'x'.repeat(513) }), 'user'],
    ['a receipt mode that does not exist', embedding({ receipt: 'no' }), 'receipt'],
  ]);
  acceptsEdges(validateEmbedding, embedding, {
    input: ['a', ['a'], Array.from({ length: 2048 }, () => 'a'), [0, 1], [[0], [1, 2]]],
    encoding_format: ['float', 'base64', null],
    dimensions: [1, 1536, null],
    stream: [false, null],
    user: ['x'],
    unknown_extra: [{ kept: true }],
  });
});
