type SigningKeyProblemCode =
  | 'missing'
  | 'readable_by_others'
  | 'not_a_key'
  | 'public_only'
  | 'agent_away'
  | 'agent_refused'
  | 'another_key'
  | 'unknown_key'
  | 'published_too_recently'
  | 'rotated_meanwhile';

/** Why the signing keys cannot be used, with what to do about it. For operators; holds no key material. */
export class SigningKeyProblem extends Error {
  readonly code: SigningKeyProblemCode;
  constructor(code: SigningKeyProblemCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'SigningKeyProblem';
    this.code = code;
  }
}
