/** Characters; a phrase of a few words has more. */
export const PASSWORD_LENGTH_MIN = 12;
