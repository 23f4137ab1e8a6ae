import { Type, type TObject, type TSchema } from 'typebox';
import type { Page } from '#shared/kernel/page.ts';

/** Query of every list: the cursor pages of the OpenAI SDK work on it. */
export const Listing = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 64 })),
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
  order: Type.Union([Type.Literal('asc'), Type.Literal('desc')], { default: 'desc' }),
});

const Nullable = Type.Union([Type.String(), Type.Null()]);

/** Schema of a list of `item`s. */
export function listSchema<T extends TSchema>(
  item: T,
): TObject<{
  object: ReturnType<typeof Type.Literal<'list'>>;
  data: ReturnType<typeof Type.Array<T>>;
  first_id: typeof Nullable;
  last_id: typeof Nullable;
  has_more: ReturnType<typeof Type.Boolean>;
}> {
  return Type.Object({
    object: Type.Literal('list'),
    data: Type.Array(item),
    first_id: Nullable,
    last_id: Nullable,
    has_more: Type.Boolean(),
  });
}

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
