/** Characters; a phrase of a few words has more. */
export const PASSWORD_LENGTH_MIN = 12;
/** Hashing takes the same time for all of them; there is no reason for more. */
export const PASSWORD_LENGTH_MAX = 128;

export const PASSWORD_RULE = `A password needs ${PASSWORD_LENGTH_MIN} to ${PASSWORD_LENGTH_MAX} characters.`;

export function isPasswordLength({ length }: string): boolean {
  return length >= PASSWORD_LENGTH_MIN && length <= PASSWORD_LENGTH_MAX;
}
