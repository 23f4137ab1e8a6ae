import { isPrintable } from './plain-text.ts';

/** RFC 5321, 4.5.3.1.3: the longest address that can be delivered to. */
const LENGTH_MAX = 254;

/**
 * An e-mail address with its domain in the one spelling in which it is looked up: what mail programs take for the same
 * (`ｅxample。com`, a dot at its end, `exämple.com`) would be another reader to every bound of letters. Undefined for what
 * is no address; whether one can be delivered to is only found by writing to it.
 */
export function mailAddress(typed: string): string | undefined {
  const text = typed.trim();
  const at = text.lastIndexOf('@');
  const [local, domain] = [text.slice(0, at), lookedUp(text.slice(at + 1))];
  const address = `${local}@${domain.replace(/\.$/, '')}`;
  // A comment, an escape or a route in it would be read away by mail servers; a number is no domain.
  const isAddress =
    at > 0 &&
    /^[^\s@<>"(),:;\\]+@[a-z0-9._-]*[a-z0-9_-]$/.test(address) &&
    !/\.\.|[.@]\d+$/.test(address);
  return isAddress && isPrintable(address, LENGTH_MAX) ? address : undefined;
}

/**
 * The address to which many mail servers deliver this one, which has a note of its reader behind a `+`; undefined without one.
 * There is no end of notes, so letters to strangers are bounded by this as well.
 */
export function withoutNote(address: string): string | undefined {
  const [, local, domain] = /^([^+]+)\+.*(@[^@]*)$/.exec(address) ?? [];
  return local === undefined || domain === undefined ? undefined : local + domain;
}

/** As an address of the web has it, which is what IDNA makes of a domain; empty for what is none. */
function lookedUp(domain: string): string {
  if (/[\s/?#:@\\[\]%]/.test(domain)) return '';
  return URL.parse(`http://${domain}`)?.hostname ?? '';
}
