import { type TSchema, Type } from 'typebox';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';

/**
 * A receipt as it is issued, for readers: the description that it is checked with, without the notes on linked data, and open to fields
 * that later forms may have. What its fields say of each other is decided by `parseReceipt`.
 */
export const Receipt = forReaders(FORMAT_1);

/** What stands in its place while it is late. */
const PendingReceipt = Type.Object(
  {
    id: Type.String({ description: 'The id that the receipt will have.' }),
    type: Type.Array(Type.Literal('PendingReceipt'), { minItems: 1, maxItems: 1 }),
    tier: Type.Literal('pending'),
    explanation: Type.String(),
    retrieve: Type.String({ description: 'Where the signed receipt can be fetched.' }),
  },
  {
    title: 'PendingReceipt',
    description:
      'The answer was ready before its receipt, which is issued under the same id. Not signed: it proves nothing.',
  },
);

/** The `receipt` of an answer. */
export const AnswerReceipt = Type.Union([Receipt, PendingReceipt]);

/** A description without what is of no use to readers. */
export function forReaders(schema: unknown): TSchema {
  return readable(schema) as TSchema;
}

function readable(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(readable);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([keyword]) => !keyword.startsWith('x-') && keyword !== 'additionalProperties',
  );
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, readable(value)]));
}
