import { describe } from 'vitest';
import { validateCompletion } from '#api/openai/validate.ts';
import { acceptsEdges, completion, refuses, samplerEdges, samplerRows } from './rules.ts';

describe('validateCompletion', () => {
  refuses(validateCompletion, samplerRows(completion));
  acceptsEdges(validateCompletion, completion, samplerEdges);
  acceptsEdges(validateCompletion, completion, {
    prompt: ['', 'x', ['a', ''], [1, 2], [[1], [2, 3]]],
    logprobs: [0, 5, null],
    echo: [true, null],
    suffix: ['x', null],
    // Scoring generates nothing.
    max_tokens: [0],
    best_of: [1, 8],
  });
  refuses(validateCompletion, [
    ['a missing prompt', { model: 'm' }, 'prompt'],
    ['a null prompt', completion({ prompt: null }), 'prompt'],
    ['an empty array as prompt', completion({ prompt: [] }), 'prompt'],
    ['mixed prompts', completion({ prompt: ['a', 1] }), 'prompt', 'prompt[1]'],
    ['a negative token id', completion({ prompt: [1, -1] }), 'prompt', 'prompt[1]'],
    ['an empty token array', completion({ prompt: [[1], []] }), 'prompt', 'prompt[1]'],
    ['logprobs as a boolean', completion({ logprobs: true }), 'logprobs'],
    ['logprobs: 6', completion({ logprobs: 6 }), 'logprobs'],
    ['echo as a string', completion({ echo: 'yes' }), 'echo'],
    ['best_of: 0', completion({ best_of: 0 }), 'best_of'],
    ['best_of: 9', completion({ best_of: 9 }), 'best_of'],
    ['stream_options without stream', completion({ stream_options: {} }), 'stream_options'],
  ]);
});
