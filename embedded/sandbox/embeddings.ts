import type { SandboxFault } from './faults.ts';
import { BadRequest, type Input } from './input.ts';
import { isTokenArray } from './text-request.ts';
import { encode } from './tokens.ts';
import { reportedEnergy } from './usage.ts';

export interface EmbeddingRequest {
  model: string;
  /** Token ids of each input. */
  inputs: readonly (readonly number[])[];
  dimensions: number;
  base64: boolean;
}

/** As OpenAI's limit on the inputs of one request. */
const INPUTS_MAX = 2048;
const DIMENSIONS_DEFAULT = 1024;
const DIMENSIONS_MAX = 4096;

function readInput(value: unknown, path: string): readonly number[] {
  if (isTokenArray(value)) return value;
  if (typeof value !== 'string' || value === '') {
    throw new BadRequest(`${path} must be a text that is not empty, or token ids.`, path);
  }
  return encode(value);
}

export function readEmbeddingRequest(input: Input): EmbeddingRequest {
  const given = input.body['input'];
  const many = Array.isArray(given) && !isTokenArray(given);
  if (many && (given.length === 0 || given.length > INPUTS_MAX)) {
    throw new BadRequest(`input must have 1 to ${INPUTS_MAX} entries.`, 'input');
  }
  const format = input.body['encoding_format'] ?? 'float';
  if (format !== 'float' && format !== 'base64') {
    throw new BadRequest('encoding_format must be float or base64.', 'encoding_format');
  }
  return {
    model: input.text('model'),
    inputs: many
      ? given.map((item, index) => readInput(item, `input[${index}]`))
      : [readInput(given, 'input')],
    dimensions: input.number(
      'dimensions',
      { low: 1, high: DIMENSIONS_MAX, whole: true },
      DIMENSIONS_DEFAULT,
    ),
    base64: format === 'base64',
  };
}

/**
 * Adds a fixed direction of plus and minus ones that belongs to `feature`: random signs make the
 * directions of different features nearly perpendicular.
 */
function addDirection(vector: Float64Array, feature: number, weight: number): void {
  let state = (Math.imul(feature + 1, 0x9e3779b1) ^ 0x85ebca6b) >>> 0 || 1;
  for (let start = 0; start < vector.length; start += 32) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const end = Math.min(start + 32, vector.length);
    for (let index = start; index < end; index += 1) {
      (vector[index] as number) += (state >>> (index - start)) & 1 ? weight : -weight;
    }
  }
}

/** Pairs weigh less than words: order matters, but the words matter more. */
const PAIR_WEIGHT = 0.35;

/** A unit vector that depends on nothing but the tokens: texts that share words lie close together. */
function embed(tokens: readonly number[], dimensions: number): Float32Array {
  const sum = new Float64Array(dimensions);
  let last = 0;
  for (const token of tokens) {
    addDirection(sum, token, 1);
    addDirection(sum, Math.imul(last + 7, 0x27d4eb2f) ^ token, PAIR_WEIGHT);
    last = token;
  }
  let square = 0;
  for (const value of sum) square += value * value;
  // Directions may cancel out exactly, in one dimension even easily: such a text points along the first axis.
  if (square === 0) {
    sum[0] = 1;
    square = 1;
  }
  const length = Math.sqrt(square);
  return Float32Array.from(sum, (value) => value / length);
}

/** Little-endian float32 in base64, on machines of either byte order. */
function toBase64(vector: Float32Array): string {
  const bytes = Buffer.alloc(vector.length * 4);
  for (let index = 0; index < vector.length; index += 1) {
    bytes.writeFloatLE(vector[index] as number, index * 4);
  }
  return bytes.toString('base64');
}

/** The answer to an embeddings request. */
export function embeddingsAnswer(request: EmbeddingRequest, fault: SandboxFault): object {
  const asFloats = !request.base64 || fault['float-embeddings'] === true;
  const tokens = request.inputs.reduce((sum, input) => sum + input.length, 0);
  const counted = fault.usage === 'zero' ? 0 : tokens;
  return {
    object: 'list',
    data: request.inputs.map((input, index) => {
      const vector = embed(input, request.dimensions);
      return {
        object: 'embedding',
        index,
        embedding: asFloats ? [...vector] : toBase64(vector),
      };
    }),
    model: request.model,
    ...(fault.usage === 'none'
      ? {}
      : { usage: { prompt_tokens: counted, total_tokens: counted, ...reportedEnergy(fault) } }),
  };
}
