import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import { type Json, listOf, numberOf } from '#shared/kernel/json-object.ts';
import { Untranslatable } from './untranslatable.ts';

export interface EmbeddingCall {
  model: EmbeddingModelV4;
  signal: AbortSignal;
  headers: Record<string, string>;
}

/** Embeds the inputs of a request, in as many calls as the provider needs; the JSON text of the answer. */
export async function embeddingsAnswer(body: Json, call: EmbeddingCall): Promise<string> {
  const values = inputsOf(body['input']);
  const most = (await call.model.maxEmbeddingsPerCall) ?? Number.POSITIVE_INFINITY;
  const dimensions = numberOf(body['dimensions']);
  const data: object[] = [];
  let tokens: number | undefined = 0;
  for (let from = 0; from < values.length; from += most) {
    const { embeddings, usage } = await call.model.doEmbed({
      values: values.slice(from, from + most),
      abortSignal: call.signal,
      headers: call.headers,
      ...(dimensions === undefined ? {} : { dimensions }),
    });
    for (const embedding of embeddings) {
      data.push({ object: 'embedding', index: data.length, embedding });
    }
    tokens =
      tokens === undefined || usage?.tokens === undefined ? undefined : tokens + usage.tokens;
  }
  const known = tokens !== undefined && Number.isFinite(tokens);
  return JSON.stringify({
    object: 'list',
    data,
    model: call.model.modelId,
    ...(known ? { usage: { prompt_tokens: tokens, total_tokens: tokens } } : {}),
  });
}

function inputsOf(input: unknown): string[] {
  const values = typeof input === 'string' ? [input] : listOf(input);
  if (values.every((value) => typeof value === 'string')) return values.slice();
  throw new Untranslatable('input', 'This model takes text, not token ids.');
}
