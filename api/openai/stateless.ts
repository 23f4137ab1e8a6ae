import { invalidParam } from '#shared/kernel/errors.ts';
import { likenessOf } from './letter-case.ts';
import { referencesIn, refuseOrphans } from './references.ts';
import { HOSTED_ITEMS, ITEMS } from './responses.ts';

/**
 * What OpenAI's interface of responses has for servers that keep more than responses. It is refused by name and with the
 * reason, rather than as a field of the wrong type.
 */
const REFUSALS: Readonly<Record<string, string>> = {
  conversation:
    'responses are kept here, and no conversations. Go on from one by `previous_response_id`, or send the whole conversation in `input`.',
  prompt: 'no prompt templates are kept here. Send the text in `instructions` and `input`.',
  background:
    'a response is kept when it is whole, and cannot be fetched before. Leave it out, and stream a long answer.',
  context_management:
    'nothing of a conversation is left out unasked here. Shorten `input` yourself.',
  moderation: 'the policy of this service judges every request, and takes no orders on how.',
};

const FILE_WORDS = 'No files are kept here: send the data itself, in `file_data` or `image_url`.';

/** By what all spellings of a name have in common. */
const REFUSED_NAMES: ReadonlyMap<string, string> = new Map(
  Object.keys(REFUSALS).map((name) => [likenessOf(name), name]),
);
const FILE_LIKENESSES: ReadonlySet<string> = new Set(['file_id', 'file_url'].map(likenessOf));

/**
 * Refuses what would need a memory of ours.
 * @throws Fault `invalid_<param>`
 */
export function refuseState(body: Readonly<Record<string, unknown>>): void {
  for (const spelt in body) {
    const value = body[spelt];
    const likeness = likenessOf(spelt);
    if (likeness === 'n' && value !== undefined && value !== null && value !== 1)
      throw invalidParam('n', '`n` is not offered: a response is one answer.');
    const name = REFUSED_NAMES.get(likeness);
    if (name === undefined || value === undefined || value === null || value === false) continue;
    throw invalidParam(name, `\`${name}\` is not offered: ${REFUSALS[name]!}`);
  }
  if (body['truncation'] === 'auto') {
    throw invalidParam(
      'truncation',
      '`truncation` may be `disabled` only: nothing of an input is left out unasked.',
    );
  }
  const { input, previous_response_id: previous } = body;
  for (const [at, item] of list(input).entries()) refuseItem(record(item), `input[${at}]`);
  // The call may be in the conversation, or be referred to: then this is judged when both are known.
  if (previous == null && referencesIn(input).length === 0) refuseOrphans(input);
}

function refuseItem(item: Readonly<Record<string, unknown>>, path: string): void {
  const { type } = item;
  if (typeof type === 'string' && !Object.hasOwn(ITEMS, type) && !HOSTED_ITEMS.has(type)) {
    const known = Object.keys(ITEMS).map((name) => `\`${name}\``);
    throw invalidParam(
      'input',
      `An item may be ${known.join(', ')}, or what a tool of a server of responses did.`,
      `${path}.type`,
    );
  }
  for (const field of ['content', 'output'])
    for (const [at, part] of parts(item[field]).entries()) {
      for (const [name, value] of Object.entries(record(part)))
        if (value != null && FILE_LIKENESSES.has(likenessOf(name)))
          throw invalidParam('input', FILE_WORDS, `${path}.${field}[${at}]`);
    }
}

/** Some hosted tools have one part where others have a list. */
function parts(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}
