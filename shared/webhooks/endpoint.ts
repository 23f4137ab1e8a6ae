import { CHOSEN_TYPES, type WebhookType } from '#shared/accounts/webhook-events.ts';
import { invalidParam } from '#shared/kernel/errors.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { isAddress, isPublicAddress } from '#shared/kernel/public-address.ts';
import { DAY_MS } from '#shared/kernel/time.ts';

/** Endpoints of one organisation: each is called for each event. */
export const ENDPOINTS_MAX = 5;
/** How long the secret before signs beside the new one: a receiver is deployed meanwhile. */
export const SECRET_BEFORE_MS = DAY_MS;
/** As long as addresses with a token in their path are, and no longer than the database takes. */
export const ADDRESS_LENGTH_MAX = 500;
export const DESCRIPTION_LENGTH_MAX = 100;

/** What people say about an endpoint. */
export interface EndpointTerms {
  address: string;
  description: string;
  events: readonly WebhookType[];
}

/** An endpoint as pages show it: without its secrets. */
export interface WebhookEndpoint extends EndpointTerms {
  id: string;
  orgId: string;
  /** Epoch milliseconds. */
  createdAt: number;
  /** Until when the secret before signs as well; null where there is none. */
  secretBeforeUntil: number | null;
  /** Since when every attempt has failed; null where the last one has not. */
  failingSince: number | null;
  paused: { at: number; reason: 'gone' | 'failing' } | null;
}

/**
 * @param inside origins within our own network that an operator allows
 * @throws Fault `invalid_<param>`
 */
export function checkEndpoint(
  { address, description, events }: { address: string; description: string; events: string[] },
  inside: readonly string[],
): EndpointTerms {
  const isGood = description === '' || isPrintable(description, DESCRIPTION_LENGTH_MAX);
  if (!isGood) {
    throw invalidParam(
      'description',
      `A description has at most ${DESCRIPTION_LENGTH_MAX} printable characters.`,
    );
  }
  const chosen = CHOSEN_TYPES.filter((type) => events.includes(type));
  if (chosen.length === 0) throw invalidParam('events', 'Choose at least one event.');
  return { address: checkAddress(address, inside), description, events: chosen };
}

function checkAddress(typed: string, inside: readonly string[]): string {
  if (typed.length <= ADDRESS_LENGTH_MAX && /^[\x21-\x7e]+$/.test(typed) && URL.canParse(typed)) {
    const { origin, protocol, username, password, hash, hostname } = new URL(typed);
    const literal = hostname.replace(/^\[(.*)\]$/, '$1');
    const isOutside = protocol === 'https:' && !(isAddress(literal) && !isPublicAddress(literal));
    if ((isOutside || inside.includes(origin)) && username + password + hash === '') return typed;
  }
  throw invalidParam(
    'address',
    `The address begins with https://, is that of a server of the internet, has at most ${ADDRESS_LENGTH_MAX} characters, no name or password before its host, and nothing behind a #.`,
  );
}
