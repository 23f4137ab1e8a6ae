/** Why there is no entry by an issuer, in words for the person who tried. Nothing of secrets, codes or tokens is in them. */
export class IssuerFailure extends Error {
  /** Whether it is the issuer that does not work, rather than this sign-in that does not hold. */
  readonly isAway: boolean;

  constructor(message: string, isAway: boolean, cause: unknown) {
    super(message, { cause });
    this.name = 'IssuerFailure';
    this.isAway = isAway;
  }
}
