import { Type, type TSchema } from 'typebox';
import type { Page } from '#shared/kernel/page.ts';
import { Nullable } from './fields.ts';

/** Query of every list: the cursor pages of the OpenAI SDK work on it. */
export const Listing = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 64 })),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  order: Type.Union([Type.Literal('asc'), Type.Literal('desc')], { default: 'desc' }),
});

/** Schema of a list of `item`s. */
export const listSchema = <S extends TSchema>(item: S) =>
  Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    first_id: Nullable(Type.String()),
    last_id: Nullable(Type.String()),
    has_more: Type.Boolean(),
  });

/** A page in the shape of the contract. */
export function listOf<T extends { id: string }>(
  page: Page<T>,
): {
  object: 'list';
  data: T[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
} {
  return {
    object: 'list',
    data: [...page.items],
    first_id: page.items[0]?.id ?? null,
    last_id: page.items.at(-1)?.id ?? null,
    has_more: page.hasMore,
  };
}
