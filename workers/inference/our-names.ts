import { members, setMember } from '#shared/kernel/json-text.ts';
import type { JsonObject } from '#shared/kernel/json-object.ts';

/** What callers know an answer by. */
export interface OurNames {
  /** Absent for answers without one. */
  id: string | undefined;
  /** The model's id in the catalogue. */
  model: string;
}

/** Replaces what it knows how an answer begins by how it is to begin. */
interface Beginning {
  id: unknown;
  model: unknown;
  before: string;
  after: string;
}

/**
 * Writes our own id, and the catalogue's id of the model, where an answer has the upstream's: an id that leads to this
 * answer's receipt alone, and one name of the model, which `/v1/models` knows. Every other byte stays. An answer that names
 * no model is left without.
 */
export function namerOf({ id, model }: OurNames): (text: string, parsed: JsonObject) => string {
  const names: readonly (readonly [key: string, value: string | undefined])[] = [
    ['id', id],
    ['model', model],
  ];
  // Chunks of one stream begin alike: id, object, time, model. What ends with the last of these is looked for once.
  let known: Beginning | undefined;
  return (text, parsed) => {
    const isKnown = known?.id === parsed['id'] && known?.model === parsed['model'];
    if (known !== undefined && isKnown && text.startsWith(known.before))
      return known.after + text.slice(known.before.length);
    let named = text;
    for (const [key, value] of names) {
      const given = parsed[key];
      if (value === undefined || given === value || (given === undefined && key === 'model'))
        continue;
      named = setMember(named, key, JSON.stringify(value));
    }
    if (named !== text) known = beginningOf(text, named, parsed);
    return named;
  };
}

/** How a text begins up to the last of its names; undefined where they are not two texts, each there once. */
function beginningOf(text: string, named: string, parsed: JsonObject): Beginning | undefined {
  const { id, model } = parsed;
  if (typeof id !== 'string' || typeof model !== 'string') return undefined;
  const found = members(text).filter(({ key }) => key === 'id' || key === 'model');
  if (found.length !== 2) return undefined;
  const end = found[1]!.valueEnd;
  const after = named.slice(0, named.length - (text.length - end));
  return { id, model, before: text.slice(0, end), after };
}
