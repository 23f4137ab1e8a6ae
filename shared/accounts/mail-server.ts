/** Names of the machine itself, where no listener is in between. */
const HERE: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * How e-mails go to a mail server: over TLS, or not at all. They hold links that open accounts, and the login goes before
 * them. `?requireTLS=false` in the address is the exception that an operator makes, for a relay in their own network.
 */
export function mailServerOf(url: string): { url: string; requireTLS: boolean } {
  return { url, requireTLS: !HERE.has(new URL(url).hostname) };
}
