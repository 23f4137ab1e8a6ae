import type { TSchema } from 'typebox';
import { FORMAT_1 } from '#shared/receipts/format-1.ts';

/**
 * A receipt for readers: the description that it is checked with, without the notes on linked data, and open to fields
 * that later forms may have. What its fields say of each other is decided by `parseReceipt`.
 */
export const Receipt = forReaders(FORMAT_1) as TSchema;

function forReaders(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(forReaders);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(
    ([keyword]) => !keyword.startsWith('x-') && keyword !== 'additionalProperties',
  );
  return Object.fromEntries(kept.map(([keyword, value]) => [keyword, forReaders(value)]));
}
