/** What is printed in place of a credential. */
const MASK = '******';

/**
 * The same values as properties that neither serialising, inspecting nor spreading copies, so that a
 * logger or an error report that gets hold of the object shows nothing of them.
 */
export function hideValues<T extends object>(values: T): Readonly<T> {
  const hidden = {} as T;
  for (const name of Object.keys(values) as (keyof T)[]) {
    Object.defineProperty(hidden, name, { value: values[name], enumerable: false });
  }
  return Object.freeze(hidden);
}

/** `text` fit for a screen: a URL without its password and query, anything else the mask alone. */
export function maskSecret(text: string): string {
  if (!URL.canParse(text)) return MASK;
  const { protocol, username, host, pathname } = new URL(text);
  if (host === '') return MASK;
  return `${protocol}//${username === '' ? '' : `${username}:${MASK}@`}${host}${pathname}`;
}
