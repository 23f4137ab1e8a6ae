import { members, setMember } from '#shared/kernel/json-text.ts';
import type { JsonObject } from './json.ts';

/**
 * Writes the catalogue's id of a model where an answer has the upstream's name for it: one name for callers, which
 * `/v1/models` knows. Every other byte stays. An answer that names no model is left as it is.
 */
export function modelNamer(model: string): (text: string, parsed: JsonObject) => string {
  const name = JSON.stringify(model);
  // Chunks of one stream begin alike: id, object, time, model. What ends with the model is looked for once.
  let before = '';
  let after = '';
  return (text, parsed) => {
    const given = parsed['model'];
    if (given === undefined || given === model) return text;
    if (before !== '' && text.startsWith(before)) return after + text.slice(before.length);
    const member = members(text).find(({ key }) => key === 'model');
    if (member !== undefined && text[member.valueEnd - 1] === '"') {
      before = text.slice(0, member.valueEnd);
      after = text.slice(0, member.valueStart) + name;
    }
    return setMember(text, 'model', name);
  };
}
