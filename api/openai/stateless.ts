import { invalidParam } from '#shared/kernel/errors.ts';
import { likenessOf } from './letter-case.ts';
import { referencesIn, refuseOrphans } from './references.ts';

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
};

/** By what all spellings of a name have in common. */
const REFUSED_NAMES: ReadonlyMap<string, string> = new Map(
  Object.keys(REFUSALS).map((name) => [likenessOf(name), name]),
);

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
  const { input, previous_response_id: previous } = body;
  // The call may be in the conversation, or be referred to: then this is judged when both are known.
  if (previous == null && referencesIn(input).length === 0) refuseOrphans(input);
}
