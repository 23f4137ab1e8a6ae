import { invalidParam } from '#shared/kernel/errors.ts';
import { isObject } from '#shared/kernel/json-object.ts';
import { ChatBody, CompletionBody, EmbeddingBody } from './requests.ts';
import { ResponseBody } from './responses.ts';

const WORK = 'it multiplies what one request has generated. Send several requests.';
const UNREAD = 'the policy of this service cannot read it. Send the text itself.';

/** Extras of open-source servers that are not passed on, with the reason. `n` is the member that is bounded and counted. */
const REFUSED: ReadonlyMap<string, string> = new Map([
  ...['best_of', 'use_beam_search', 'beam_width', 'num_beams', 'num_beam_groups'].map(reason(WORK)),
  ...['num_return_sequences', 'n_cmpl', 'generation_config'].map(reason(WORK)),
  ...['chat_template', 'prompt_embeds', 'prompt_token_ids'].map(reason(UNREAD)),
  ...['input_ids', 'input_embeds'].map(reason(UNREAD)),
]);

function reason(why: string) {
  return (name: string): [string, string] => [name, why];
}

/** What any route checks at the top of a body. */
const CHECKED: ReadonlySet<string> = new Set(
  [ChatBody, CompletionBody, EmbeddingBody, ResponseBody].flatMap((schema) =>
    Object.keys(schema.properties),
  ),
);

/**
 * Refuses members that would make one request the work of many, or say to a model what screening cannot read: at the top of
 * a body, except where its schema bounds them, and in `extra_body`, whose members some servers take for those of the body.
 * @throws Fault `invalid_<param>`
 */
export function refuseMembers(body: object, properties: Readonly<Record<string, unknown>>): void {
  for (const name in body) {
    const value = (body as Record<string, unknown>)[name];
    if (REFUSED.has(name) && !Object.hasOwn(properties, name)) refuse(name, name, value);
    else if (name === 'extra_body') refuseInside(value, name);
  }
}

function refuseInside(extra: unknown, path: string): void {
  if (!isObject(extra)) return;
  for (const name in extra) {
    const at = `${path}.${name}`;
    if (REFUSED.has(name)) refuse('extra_body', at, extra[name]);
    else if (CHECKED.has(name)) {
      const message = `\`${at}\` must stand in the body itself, where it is checked.`;
      throw invalidParam('extra_body', message, at);
    } else if (name === 'extra_body') refuseInside(extra[name], at);
  }
}

/** Clients send these for "not set" and for "as without it". */
const UNSET: ReadonlySet<unknown> = new Set([null, false, 1]);

function refuse(param: string, path: string, value: unknown): void {
  if (UNSET.has(value)) return;
  const name = path.slice(path.lastIndexOf('.') + 1);
  throw invalidParam(param, `\`${path}\` is not offered: ${REFUSED.get(name)!}`, path);
}
