import { iso31661Alpha2ToAlpha3 } from 'iso-3166/1-a2-to-1-a3.js';
import { invalidParam } from '#shared/kernel/errors.ts';
import { mailAddress } from '#shared/kernel/mail-address.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import type { Limits, Plan } from '#shared/kernel/plan.ts';
import type {
  Contact,
  Declaration,
  DeclarationDraft,
  DeclaredParty,
  ServiceContract,
} from './account.ts';
import { INDUSTRIES, STATEMENTS } from './declaration.ts';

const NAME_LENGTH_MAX = 200;
const TRADING_NAMES_MAX = 20;
/** Owners and directors of one applicant; larger boards name those who represent it. */
const PARTIES_MAX = 100;

/** The highest numbers that can be agreed; beyond them a limit limits nothing. */
export const LIMITS_MAX: Limits = {
  requestsPerSecond: 1_000_000,
  burst: 1_000_000,
  requestsPerDay: 1_000_000_000_000,
  concurrentStreams: 100_000,
};

/** What forms and refusals call each limit. */
export const LIMIT_LABELS: Readonly<Record<keyof Limits, string>> = {
  requestsPerSecond: 'Requests a second',
  burst: 'Requests at once',
  requestsPerDay: 'Requests a day',
  concurrentStreams: 'Streams at once',
};

/** What a refusal calls the label of each parameter. */
const LABELS = {
  name: 'The name',
  identifier: 'The identifier',
  billing: 'The name of the billing contact',
  technical: 'The name of the technical contact',
  regions: 'A region',
  models: 'A model',
  declared_by: 'The name of who makes the declaration',
  trading_names: 'A trading name',
  parties: 'The name of an owner or director',
  signatory: 'The name of the signatory',
} as const;

/** A printable name of 1 to 200 characters, without spaces around it. Throws `invalid_<param>`. */
export function checkLabel(text: string, param: keyof typeof LABELS): string {
  const trimmed = text.trim();
  if (!isPrintable(trimmed, NAME_LENGTH_MAX)) {
    const message = `${LABELS[param]} must be 1 to ${NAME_LENGTH_MAX} printable characters.`;
    throw invalidParam(param, message);
  }
  return trimmed;
}

/** Refuses what is no address. Whether one can be delivered to is only found by writing to it. */
export function checkContact(contact: Contact, param: 'billing' | 'technical'): Contact {
  const email = mailAddress(contact.email);
  if (email === undefined || !/@.+\..+$/.test(email)) {
    throw invalidParam(param, `The e-mail address of the ${param} contact is not one.`);
  }
  return { name: checkLabel(contact.name, param), email };
}

/** Negotiated limits: whole numbers, a burst no smaller than a second's worth, and only for enterprise. */
export function checkLimits(limits: Limits, plan: Plan): Limits {
  if (plan !== 'enterprise') {
    throw invalidParam('plan', 'Limits are negotiated on the plan enterprise only.');
  }
  for (const field of Object.keys(LIMITS_MAX) as (keyof Limits)[]) {
    const value = limits[field];
    if (!Number.isSafeInteger(value) || value < 1 || value > LIMITS_MAX[field]) {
      throw invalidParam(
        'limits',
        `${LIMIT_LABELS[field]}: a whole number from 1 to ${LIMITS_MAX[field]}.`,
      );
    }
  }
  if (limits.burst < limits.requestsPerSecond) {
    const { burst, requestsPerSecond } = LIMIT_LABELS;
    throw invalidParam('limits', `${burst}: no fewer than ${requestsPerSecond.toLowerCase()}.`);
  }
  return limits;
}

/** As many as the schema takes: a catalogue has fewer. */
const ALLOWED_MAX = 1_000;

/** Ids of what may be used, one at least, each once; null for all that is offered. Throws `invalid_<param>`. */
export function checkAllowed(
  ids: readonly string[] | null,
  param: 'regions' | 'models',
): string[] | null {
  if (ids === null) return null;
  if (ids.length === 0) {
    throw invalidParam(
      param,
      `Choose one of the ${param} at least: with none, nothing would work.`,
    );
  }
  if (ids.length > ALLOWED_MAX) throw invalidParam(param, `At most ${ALLOWED_MAX} ${param}.`);
  return [...new Set(ids.map((id) => checkLabel(id, param)))].toSorted();
}

/** The codes that ISO 3166-1 has given out. */
export const COUNTRIES: readonly string[] = Object.keys(iso31661Alpha2ToAlpha3).toSorted();

/** A declaration that is complete: every statement of its version answered, a known country form and industry. */
export function checkDeclaration(declaration: Declaration): Declaration {
  const statements = STATEMENTS[declaration.version];
  if (statements === undefined) {
    throw invalidParam('version', 'There is no such version of the declaration.');
  }
  for (const { id } of statements) {
    if (typeof declaration.statements[id] !== 'boolean') {
      throw invalidParam('statements', `The statement ${id} is not answered.`);
    }
  }
  if (Object.keys(declaration.statements).length !== statements.length) {
    throw invalidParam('statements', 'There are answers to statements that were not made.');
  }
  return {
    ...declaration,
    ...checkApplicant(declaration),
    declaredBy: checkLabel(declaration.declaredBy, 'declared_by'),
  };
}

/** Who applies: what of a declaration is not an answer to a statement. */
export function checkApplicant(declaration: DeclarationDraft): DeclarationDraft {
  checkCountry(declaration.country, 'country');
  if (!Object.hasOwn(INDUSTRIES, declaration.industry)) {
    throw invalidParam('industry', 'There is no such industry.');
  }
  if (declaration.tradingNames.length > TRADING_NAMES_MAX) {
    throw invalidParam('trading_names', `At most ${TRADING_NAMES_MAX} trading names.`);
  }
  return {
    country: declaration.country,
    industry: declaration.industry,
    parties: checkParties(declaration.parties),
    tradingNames: declaration.tradingNames.map((name) => checkLabel(name, 'trading_names')),
  };
}

/** A code that ISO 3166-1 has given out: a country that does not exist is under no rule, and would pass every one. */
function checkCountry(code: string, param: string): string {
  if (!Object.hasOwn(iso31661Alpha2ToAlpha3, code)) {
    throw invalidParam(
      param,
      `There is no country ${JSON.stringify(code)}: a country is its code of two letters (ISO 3166-1 alpha-2).`,
    );
  }
  return code;
}

function checkParties(parties: readonly DeclaredParty[]): DeclaredParty[] {
  if (parties.length < 1 || parties.length > PARTIES_MAX) {
    throw invalidParam('parties', `Name 1 to ${PARTIES_MAX} owners and directors.`);
  }
  return parties.map(({ role, name, country }) => ({
    role,
    name: checkLabel(name, 'parties'),
    country: checkCountry(country, 'parties'),
  }));
}

export function checkContract(contract: ServiceContract, now: number): ServiceContract {
  if (!/^[0-9a-f]{64}$/.test(contract.documentSha256)) {
    throw invalidParam('document_sha256', 'The digest must be 64 hexadecimal digits.');
  }
  if (!Number.isSafeInteger(contract.signedAt) || contract.signedAt > now) {
    throw invalidParam('signed_at', 'A contract cannot have been signed in the future.');
  }
  return { ...contract, signatory: checkLabel(contract.signatory, 'signatory') };
}
