import { MalformedData } from '#shared/kernel/malformed-data.ts';

/** 16 bytes in base64url multibase, as a regular expression: the last of 22 characters carries two bits. */
export const SALT_PATTERN = '^u[A-Za-z0-9_-]{21}[AQgw]$';
const SALT = new RegExp(SALT_PATTERN);

/** The salt of a receipt as it stands in the document. @throws MalformedData when it is not 16 bytes. */
export function saltMultibase(base64url: string, path: string): string {
  const salt = `u${base64url}`;
  if (SALT.test(salt)) return salt;
  throw new MalformedData('wrong_value', path, 'a salt must be base64url of 16 bytes');
}
