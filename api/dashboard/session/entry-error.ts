import { EntryRefused } from '#shared/persons/single-sign-on.ts';
import { IssuerFailure } from './issuer-failure.ts';
import { PageError } from '../page-error.ts';

/** Why an issuer, or what it says of a person, does not let them in: as a page. Undefined for every other failure. */
export function pageOfEntry(error: Error): PageError | undefined {
  if (error instanceof EntryRefused) {
    return new PageError(403, 'You cannot sign in here', error.message);
  }
  return error instanceof IssuerFailure
    ? new PageError(error.isAway ? 503 : 403, 'Single sign-on did not work', error.message)
    : undefined;
}
