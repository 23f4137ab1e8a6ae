import { isIP } from 'node:net';
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { MINUTE_MS } from '#shared/kernel/time.ts';
import type { PasskeyKey } from '#shared/persons/postgres/passkeys.ts';
import type { Person } from '#shared/persons/roles.ts';

/** Longer than any device's answer. */
const ANSWER_LENGTH_MAX = 20_000;
/** WebAuthn, 14.6.3: how long browsers wait for the person. */
const WAIT_MS = 5 * MINUTE_MS;

/** Ed25519, ES256 and RS256 (RFC 9053): every device signs with one of them. */
const ALGORITHMS = [-8, -7, -257];

/** Where passkeys are good: the name that browsers bind them to, and the address of pages that use them. */
export interface Site {
  id: string;
  origins: string[];
}

/**
 * The site of our public address. Browsers bind passkeys to names and to no bare address: a machine of one's own is
 * `localhost` by any of its names, on any port that it was reached, and at another bare address there are none.
 */
export function siteOf(publicUrl: string, host: string): Site | undefined {
  const { hostname, origin } = new URL(publicUrl);
  const isLocal = hostname === 'localhost' || hostname === '127.0.0.1' || hostname === '[::1]';
  if (isLocal) return { id: 'localhost', origins: [origin, `http://${host}`] };
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0
    ? { id: hostname, origins: [origin] }
    : undefined;
}

/** What a browser is asked to make a passkey by. */
export function creationOptions(site: Site, person: Person, known: readonly { id: string }[]) {
  return generateRegistrationOptions({
    rpName: 'Docket',
    rpID: site.id,
    userName: person.email,
    userDisplayName: person.name,
    userID: new TextEncoder().encode(person.id),
    timeout: WAIT_MS,
    attestationType: 'none',
    supportedAlgorithmIDs: ALGORITHMS,
    excludeCredentials: known.map(({ id }) => ({ id })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
}

/** What a browser is asked to show a passkey by: any of the person's that it finds. */
export function requestOptions(site: Site) {
  return generateAuthenticationOptions({
    rpID: site.id,
    timeout: WAIT_MS,
    userVerification: 'required',
  });
}

/** The answer of a browser as a form brought it; null for what is none, and for one of a page in another site's frame. */
export function readAnswer(text: string): { id: string; challenge: string; json: object } | null {
  if (text.length > ANSWER_LENGTH_MAX) return null;
  try {
    const json = JSON.parse(text) as { id?: unknown; response?: { clientDataJSON?: unknown } };
    const { id, response } = json;
    const data = response?.clientDataJSON;
    if (typeof id !== 'string' || typeof data !== 'string') return null;
    const { challenge, crossOrigin } = JSON.parse(Buffer.from(data, 'base64url').toString()) as {
      challenge?: unknown;
      crossOrigin?: unknown;
    };
    if (typeof challenge !== 'string' || crossOrigin === true) return null;
    return { id, challenge, json };
  } catch {
    return null;
  }
}

/** The key that a device has made, if it made sure who its person is; null for what does not hold. */
export async function readCreated(
  site: Site,
  { json, challenge }: { json: object; challenge: string },
): Promise<PasskeyKey | null> {
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: json as RegistrationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: site.origins,
      expectedRPID: site.id,
      supportedAlgorithmIDs: ALGORITHMS,
    });
    if (!verified) return null;
    const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
    return { id, publicKey, counter, transports };
  } catch {
    // A form may bring what is no answer of a device, for which the library throws.
    return null;
  }
}

/** How often the device has signed, if this is its signature after it made sure who its person is; null otherwise. */
export async function readShown(
  site: Site,
  { json, challenge }: { json: object; challenge: string },
  key: PasskeyKey,
): Promise<number | null> {
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: json as AuthenticationResponseJSON,
      expectedChallenge: challenge,
      expectedOrigin: site.origins,
      expectedRPID: site.id,
      credential: { ...key, transports: [...key.transports] as never },
      requireUserVerification: true,
    });
    return verified ? authenticationInfo.newCounter : null;
  } catch {
    return null;
  }
}
