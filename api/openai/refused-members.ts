import { invalidParam } from '#shared/kernel/errors.ts';
import { isObject } from '#shared/kernel/json-object.ts';
import { ANSWER_BOUNDS } from './fields.ts';
import { likenessOf } from './letter-case.ts';
import { ChatBody, CompletionBody, EmbeddingBody } from './requests.ts';
import { ResponseBody } from './responses.ts';

const WORK = 'it multiplies what one request has generated. Send several requests.';
const UNREAD = 'the policy of this service cannot read it. Send the text itself.';

interface Refused {
  name: string;
  why: string;
}

/**
 * Extras of open-source servers that are not passed on, with the reason, by what all spellings of their names have in
 * common. `n` is the member that is bounded and counted.
 */
const REFUSED: ReadonlyMap<string, Refused> = new Map([
  ...['best_of', 'use_beam_search', 'beam_width', 'num_beams', 'num_beam_groups'].map(reason(WORK)),
  ...['num_return_sequences', 'n_cmpl', 'generation_config'].map(reason(WORK)),
  ...['chat_template', 'prompt_embeds', 'prompt_token_ids'].map(reason(UNREAD)),
  ...['input_ids', 'input_embeds'].map(reason(UNREAD)),
]);

function reason(why: string) {
  return (name: string): [string, Refused] => [likenessOf(name), { name, why }];
}

/** What any route checks at the top of a body, in the same way. */
const CHECKED: ReadonlyMap<string, string> = new Map(
  [ChatBody, CompletionBody, EmbeddingBody, ResponseBody]
    .flatMap((schema) => Object.keys(schema.properties))
    .concat(ANSWER_BOUNDS)
    .map((name) => [likenessOf(name), name] as const),
);
const EXTRA = 'extra_body';
const EXTRA_LIKENESS = likenessOf(EXTRA);

/**
 * Refuses members that would make one request the work of many, or say to a model what screening cannot read: at the top of
 * a body, except where its schema bounds them, and in `extra_body`, whose members some servers take for those of the body.
 * A name is refused in every spelling that a server may take for it.
 * @throws Fault `invalid_<param>`
 */
export function refuseMembers(body: object, properties: Readonly<Record<string, unknown>>): void {
  for (const name in body) {
    if (Object.hasOwn(properties, name)) continue;
    const value = (body as Record<string, unknown>)[name];
    const likeness = likenessOf(name);
    const refused = REFUSED.get(likeness);
    if (likeness === EXTRA_LIKENESS) refuseInside(value, EXTRA);
    else if (refused !== undefined)
      refuse(refused, { param: refused.name, path: refused.name, spelt: name }, value);
  }
}

function refuseInside(extra: unknown, path: string): void {
  if (!isObject(extra)) return;
  for (const name in extra) {
    const likeness = likenessOf(name);
    const refused = REFUSED.get(likeness);
    const checked = CHECKED.get(likeness);
    if (likeness === EXTRA_LIKENESS) refuseInside(extra[name], `${path}.${EXTRA}`);
    else if (refused !== undefined)
      refuse(refused, { param: EXTRA, path: `${path}.${refused.name}`, spelt: name }, extra[name]);
    else if (checked !== undefined) {
      const at = `${path}.${checked}`;
      const message = `\`${at}\` must stand in the body itself, where it is checked.`;
      throw invalidParam(EXTRA, message, at);
    }
  }
}

/** Clients send these for "not set" and for "as without it". */
const UNSET: ReadonlySet<unknown> = new Set([null, false, 1]);

function refuse(
  { name, why }: Refused,
  { param, path, spelt }: { param: string; path: string; spelt: string },
  value: unknown,
): void {
  if (UNSET.has(value)) return;
  // The caller's spelling may be any text, so it is not repeated.
  const where = spelt === name ? '' : ' in any spelling';
  throw invalidParam(param, `\`${path}\` is not offered${where}: ${why}`, path);
}
