import { invalidParam } from '#shared/kernel/errors.ts';
import { mailAddress } from '#shared/kernel/mail-address.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import type { Person } from './roles.ts';

const NAME_LENGTH_MAX = 200;

/** A person who can be written to. Throws `invalid_name` or `invalid_email`. */
export function checkPerson(who: Pick<Person, 'name' | 'email'>): Pick<Person, 'name' | 'email'> {
  const name = who.name.trim();
  if (!isPrintable(name, NAME_LENGTH_MAX)) {
    const message = `A person needs a name of 1 to ${NAME_LENGTH_MAX} printable characters.`;
    throw invalidParam('name', message);
  }
  return { name, email: checkEmail(who.email) };
}

/** An address in the form that it is kept in. Throws `invalid_email`. */
export function checkEmail(typed: string): string {
  const email = mailAddress(typed);
  if (email === undefined) throw invalidParam('email', 'The e-mail address is not one.');
  return email.toLowerCase();
}

/** What was typed where an address is looked up or counted by: in the form that it is kept in, if it is one. */
export function emailTyped(typed: string): string {
  return (mailAddress(typed) ?? typed.trim()).toLowerCase();
}
