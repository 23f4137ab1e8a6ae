import { invalidParam } from '#shared/kernel/errors.ts';
import { emailTyped } from './checks.ts';
import type { OrganisationRole } from './roles.ts';

/** The part of a person who comes by single sign-on for the first time. More is given on the page of the team. */
export const PROVISIONED_ROLES = [
  'member',
  'auditor',
] as const satisfies readonly OrganisationRole[];
export type ProvisionedRole = (typeof PROVISIONED_ROLES)[number];

/** A domain of e-mail addresses that an organisation says is its own. */
export interface SignInDomain {
  domain: string;
  /** Epoch milliseconds; null until an operator has confirmed it. */
  confirmedAt: number | null;
}

/** The issuer at which members of an organisation sign in. */
export interface SingleSignOn {
  issuer: string;
  clientId: string;
  /** Sealed for the organisation. */
  sealedSecret: string;
  role: ProvisionedRole;
  /** Whether members other than owners get in by it alone. */
  required: boolean;
  /** When a person first came in by it as it is now, in epoch milliseconds. */
  workedAt: number | null;
  changedAt: number;
}

/** What an issuer says of a person, after its signature was checked. */
export interface IssuerClaims {
  subject: string;
  email: string | undefined;
  emailVerified: boolean;
  name: string | undefined;
}

const CLIENT_LENGTH_MAX = 500;
const DOMAIN =
  /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;

/** The issuer as it names itself. Throws `invalid_issuer`. */
export function checkIssuer(typed: string, inside: readonly string[]): string {
  if (URL.canParse(typed) && typed.length <= CLIENT_LENGTH_MAX) {
    const { origin, protocol, username, password, search, hash } = new URL(typed);
    const isWeb = protocol === 'https:' || (protocol === 'http:' && inside.includes(origin));
    if (isWeb && username + password + search + hash === '') return typed;
  }
  throw invalidParam(
    'issuer',
    'The issuer is an address that begins with https:// and has no query, as it stands in its discovery document.',
  );
}

/** What the issuer calls us, or our secret with it (RFC 6749, A.1). Throws `invalid_<param>`. */
export function checkClientText(param: string, typed: string): string {
  if (typed !== '' && typed.length <= CLIENT_LENGTH_MAX && !/[^\x20-\x7e]/.test(typed))
    return typed;
  throw invalidParam(
    param,
    `Client id and secret have 1 to ${CLIENT_LENGTH_MAX} printable ASCII characters.`,
  );
}

/** A domain in the form that it is kept in. Throws `invalid_domain`. */
export function checkDomain(typed: string): string {
  const domain = domainOf(emailTyped(`x@${typed.trim().replace(/^@/, '')}`));
  if (!DOMAIN.test(domain)) {
    throw invalidParam('domain', 'Enter what stands behind the @ of your addresses: example.org');
  }
  return domain;
}

/** What stands behind the @. */
export function domainOf(email: string): string {
  return email.slice(email.lastIndexOf('@') + 1).toLowerCase();
}

/** Why a person whom an issuer knows is not let in. */
const ENTRY_REFUSALS = {
  no_email: 'The issuer says no e-mail address. Its administrator has to send the claim email.',
  unverified_email:
    'The issuer does not say that the e-mail address is verified. Its administrator has to send the claim email_verified.',
  other_domain: 'The e-mail address is of no domain that is confirmed for this organisation.',
  other_person:
    'The issuer has called you by another name before. An owner can remove you from the team and invite you again.',
  removed:
    'You were taken out of the team. An owner or admin can invite you again; then sign in once more.',
} as const;

export class EntryRefused extends Error {
  readonly code: keyof typeof ENTRY_REFUSALS;

  constructor(code: keyof typeof ENTRY_REFUSALS) {
    super(ENTRY_REFUSALS[code]);
    this.name = 'EntryRefused';
    this.code = code;
  }
}
