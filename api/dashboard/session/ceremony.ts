import { hash } from 'node:crypto';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import type { Passkeys, PasskeyKey } from '#shared/persons/postgres/passkeys.ts';
import type { Errands } from '#shared/persons/postgres/errands.ts';
import type { Person } from '#shared/persons/roles.ts';
import {
  creationOptions,
  readAnswer,
  readCreated,
  readShown,
  requestOptions,
  type Site,
} from './passkey.ts';

/** How long a person may take with their device, and with a page that asks for something in between. */
const CEREMONY_MS = 10 * MINUTE_MS;

export interface CeremonyParts {
  passkeys: Passkeys;
  errands: Errands;
  now: () => number;
}

export { siteOf } from './passkey.ts';
export type Ceremony = ReturnType<typeof createCeremony>;

/**
 * Making and showing passkeys at a site. A challenge is for one subject (a session, or a visitor who has none) and one use, so
 * that an answer that a stranger has got hold of opens nothing.
 */
export function createCeremony({ passkeys, errands, now }: CeremonyParts, site: Site) {
  const nameOf = (what: string, subject: string, challenge: string): string =>
    hash('sha256', JSON.stringify(['passkey', what, subject, challenge]));
  const begin = async <Options extends { challenge: string }>(
    what: 'make' | 'show',
    subject: string,
    options: Options,
  ): Promise<Options> => {
    await errands.keep(nameOf(what, subject, options.challenge), '', now() + CEREMONY_MS);
    return options;
  };
  const answerTo = async (what: 'make' | 'show', subject: string, text: string) => {
    const answer = readAnswer(text);
    if (answer === null) return undefined;
    const asked = await errands.take(nameOf(what, subject, answer.challenge));
    return asked === undefined ? undefined : answer;
  };

  return {
    async beginMaking(subject: string, person: Person) {
      const known = await passkeys.of(person.id);
      return begin('make', subject, await creationOptions(site, person, known));
    },

    beginShowing: async (subject: string) => begin('show', subject, await requestOptions(site)),

    /** The passkey that was made; undefined for what does not hold. */
    async made(subject: string, text: string): Promise<PasskeyKey | undefined> {
      const answer = await answerTo('make', subject, text);
      return answer === undefined ? undefined : ((await readCreated(site, answer)) ?? undefined);
    },

    /** The passkey that was shown, and whose it is; undefined for what does not hold. */
    async shown(
      subject: string,
      text: string,
    ): Promise<{ id: string; personId: string } | undefined> {
      const answer = await answerTo('show', subject, text);
      const key = answer && (await passkeys.find(answer.id));
      if (answer === undefined || key === undefined) return undefined;
      const counter = await readShown(site, answer, key);
      if (counter === null || !(await passkeys.use(key.id, counter))) return undefined;
      return { id: key.id, personId: key.personId };
    },
  };
}
