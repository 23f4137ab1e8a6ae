import { invalidParam } from '#shared/kernel/errors.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { MINUTE_MS } from '#shared/kernel/time.ts';

/** How many days the public is shown, and are kept. */
export const HISTORY_DAYS = 90;
/** How often the state of each part is noted, by whichever process looks first. */
export const LOOK_EVERY_MS = 5 * MINUTE_MS;

/** How often a part was found in which state on a day. */
export interface StatusDay {
  /** `2026-11-22`, UTC. */
  day: string;
  component: string;
  found: Readonly<Record<string, number>>;
}

/** A line; a part of the service, and an hour, stand beside it. */
export const INCIDENT_TITLE_MAX = 120;
/** Some paragraphs of what is known; more belongs elsewhere, with a link. */
export const INCIDENT_TEXT_MAX = 2_000;

/** What operators tell everyone of something that went wrong. */
export interface Incident {
  /** `inc_…` */
  id: string;
  title: string;
  /** `ledger`, or `region:` and a code; none for all of the service. */
  components: readonly string[];
  /** Epoch milliseconds. */
  beganAt: number;
  /** Null while it lasts. */
  endedAt: number | null;
  /** What was said of it, newest first. */
  words: readonly { at: number; text: string }[];
}

/** @throws Fault `invalid_title` */
export function checkIncidentTitle(text: string): string {
  const title = text.replaceAll(/\s+/g, ' ').trim();
  if (isPrintable(title, INCIDENT_TITLE_MAX)) return title;
  throw invalidParam('title', `A title has 1 to ${INCIDENT_TITLE_MAX} printable characters.`);
}

/** @throws Fault `invalid_text` */
export function checkIncidentText(text: string): string {
  const said = text.replaceAll(/\s+/g, ' ').trim();
  if (isPrintable(said, INCIDENT_TEXT_MAX)) return said;
  throw invalidParam(
    'text',
    `Say in 1 to ${INCIDENT_TEXT_MAX} printable characters what is known.`,
  );
}

/**
 * The parts that an incident is of, each named as the status page knows it.
 * @param known `ledger`, and `region:` with the code of each region that is open to everyone
 * @throws Fault `invalid_components`
 */
export function checkComponents(asked: readonly string[], known: readonly string[]): string[] {
  const odd = asked.find((each) => !known.includes(each));
  if (odd === undefined) return [...new Set(asked)];
  throw invalidParam(
    'components',
    `${odd} is no part of the service. There are ${known.join(', ')}.`,
  );
}

/** Those parts that are open to everyone. */
export function componentsOf(
  regions: Iterable<{ code: string; organisations?: readonly string[] | undefined }>,
): string[] {
  const open = [...regions].filter(({ organisations }) => organisations === undefined);
  return ['ledger', ...open.map(({ code }) => `region:${code}`)];
}
