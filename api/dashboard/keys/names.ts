import type { Html } from '#api/html.ts';
import type { DashboardDeps } from '../deps.ts';
import { choice } from '../parts/elements.ts';

/** Keys whose names are shown; an organisation with more sees ids of the older ones. */
const KEY_NAMES_MAX = 100;

/** How keys are named, by their ids. After a rotation two have one name: what they begin with tells them apart. */
export async function keyNames(
  { keys }: Pick<DashboardDeps, 'keys'>,
  orgId: string,
): Promise<ReadonlyMap<string, string>> {
  const { items } = await keys.list({ orgId, limit: KEY_NAMES_MAX, order: 'desc' });
  const playgrounds = await keys.playgrounds(orgId);
  return new Map([
    ...items.map(({ id, name, display }) => [id, `${display.head}… ${name}`] as const),
    ...playgrounds.map(({ id, name }) => [id, name] as const),
  ]);
}

/** The choice of a key in a list's filters; one that was asked for and is not among the newest is named by its id. */
export function keyField({
  search: { key },
  keys,
}: {
  search: { key: string };
  keys: ReadonlyMap<string, string>;
}): Html {
  const asked = keys.has(key) || key === '' ? [] : [[key, key] as const];
  return choice({ name: 'key', label: 'Key' }, key, [['', 'all'], ...asked, ...keys]);
}
