import { createHash } from 'node:crypto';

/** OpenAI's bound of a name, which chat servers have as well. */
const NAME_CHARS_MAX = 64;
const HASH_CHARS = 8;
const FITTING = new RegExp(`^[\\w-]{1,${NAME_CHARS_MAX}}$`);

/** What tools are called at a chat server, where that is not what their caller calls them. */
export interface ToolNames {
  /** The name at the server of a tool that its caller calls so. */
  readonly nameOf: (name: string) => string;
  /** Every name of a server's, and whose it is, where the two differ. */
  readonly changed: ReadonlyMap<string, string>;
  /** All names at the server. */
  readonly taken: ReadonlySet<string>;
}

/** Whether chat servers take a name as it is: they want letters, digits, `_` and `-`. */
export function isFitting(name: string): boolean {
  return FITTING.test(name);
}

/** A name that chat servers take, the same one in each request. */
export function fittingName(name: string): string {
  const spelt = name.replaceAll(/[^\w-]/g, '_');
  return spelt.length > NAME_CHARS_MAX ? shortenedName(spelt, name) : spelt;
}

/** Told apart by a hash of the whole, so that a call in a later request has the same name. */
export function shortenedName(name: string, whole: string): string {
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_CHARS);
  return `${name.slice(0, NAME_CHARS_MAX - HASH_CHARS - 1)}_${hash}`;
}

/** Names that chat servers take, for tools of these names; one that fits is kept. */
export function toolNamesOf(names: readonly string[]): ToolNames {
  const taken = new Set(names.filter(isFitting));
  const known = new Map<string, string>();
  const changed = new Map<string, string>();
  for (const name of names) {
    if (isFitting(name) || known.has(name)) continue;
    const fitting = fittingName(name);
    const free = taken.has(fitting) ? shortenedName(fitting, name) : fitting;
    taken.add(free);
    known.set(name, free);
    changed.set(free, name);
  }
  return { nameOf: (name) => known.get(name) ?? fittingName(name), changed, taken };
}
