import type { Letter } from '#shared/accounts/letters.ts';
import { named } from '#shared/kernel/plain-text.ts';
import type { Person } from './roles.ts';

/** No letter greets by a name: who types an address that is not theirs types the name as well. */
type Addressee = Pick<Person, 'email'>;

/**
 * Tells someone where to choose a password, their first one where they have no way in yet. A reader of the e-mail proves
 * by it that the address is theirs.
 */
export function resetLetter(person: Addressee & { hasLogin: boolean }, link: string): Letter {
  const { hasLogin } = person;
  return letter(person, 'Choose a password for Docket', [
    'Hello,',
    `Use this link to choose ${hasLogin ? 'a new' : 'your'} password for the dashboard. It works once, within an hour:`,
    link,
    hasLogin
      ? 'Choosing it signs out every open session. If you did not ask for this, ignore this e-mail: your password stays as it is.'
      : 'It also confirms that this address is yours. If you did not ask for this, ignore this e-mail.',
  ]);
}

/** The way in of a person who was invited, and asks for a password without having signed up. */
export function invitedLetter(email: string, link: string): Letter {
  return letter({ email }, 'Sign up to Docket to answer your invitation', [
    'Hello,',
    'A password was requested for this e-mail address. You have been invited but have no account yet: sign up with this address to find the invitation.',
    link,
    'If you did not ask for this, ignore this e-mail.',
  ]);
}

/** Asks someone to show that they get the e-mails of their address. */
export function confirmationLetter(person: Addressee, link: string): Letter {
  return letter(person, 'Confirm your e-mail address for Docket', [
    'Hello,',
    'Use this link to confirm that this address is yours. It works for an hour:',
    link,
    'If you did not ask for this, ignore this e-mail.',
  ]);
}

/** Tells someone that they have been let in, and how to get a password. */
export function invitationLetter(person: Addressee, to: string, link: string): Letter {
  return letter(person, 'You can sign in to Docket', [
    'Hello,',
    `You have been given access to ${to}. To choose a password, enter this e-mail address here:`,
    link,
  ]);
}

/** Tells a person that their second factor is on or off, in case it was not they who changed it. */
export function secondFactorLetter(person: Addressee, isOn: boolean): Letter {
  return changedLetter(
    person,
    `Your second factor for Docket is ${isOn ? 'on' : 'off'}`,
    isOn
      ? 'From now on, signing in to the dashboard asks for a code from your app as well as your password.'
      : 'Signing in to the dashboard asks for your password only again, and your recovery codes are deleted.',
  );
}

/** Tells a person that support has taken away what they had lost beside the password. */
export function factorsResetLetter(person: Addressee): Letter {
  return changedLetter(
    person,
    'Your second factor for Docket is off',
    'Signing in to the dashboard asks for your password only again. Your app, recovery codes and passkeys have been removed, and every session has ended.',
  );
}

/** Tells a person that an owner of an organisation of theirs has signed them out somewhere. */
export function sessionEndedLetter(
  person: Addressee,
  { orgName, owner, session }: { orgName: string; owner: string; session: string },
): Letter {
  return letter(person, 'A session of yours at Docket was ended', [
    'Hello,',
    `${named(owner)}, an owner of ${named(orgName)}, has ended a session of yours: ${named(session)}. You are signed out there; sign in again to continue.`,
    'If you do not recognise that session, choose a new password at once, which signs out every open session.',
  ]);
}

/** Tells a person that their password is another, in case it was not they who changed it. */
export function passwordLetter(person: Addressee): Letter {
  return changedLetter(
    person,
    'Your password for Docket was changed',
    'Your old password no longer works, and every other session has ended.',
  );
}

/** Tells a person that a passkey lets them in, or no longer does, in case it was not they who changed it. */
export function passkeyLetter(person: Addressee, name: string, isAdded: boolean): Letter {
  return changedLetter(
    person,
    `A passkey was ${isAdded ? 'added to' : 'removed from'} your Docket account`,
    isAdded
      ? `The passkey ${named(name)} now signs you in to the dashboard without a password or code.`
      : `The passkey ${named(name)} no longer signs you in.`,
  );
}

/** Of what opens the dashboard, something has changed. */
function changedLetter(person: Addressee, subject: string, what: string): Letter {
  return letter(person, subject, [
    'Hello,',
    what,
    'If this was not you, choose a new password at once, which signs out every open session, and remove anything that you do not recognise on your account page.',
  ]);
}

/** Tells a person, who may not know of us, that a team wants them. The names in it are what others typed. */
export function teamInvitationLetter(
  email: string,
  { inviter, orgName, link }: { inviter: string; orgName: string; link: string },
): Letter {
  return letter({ email }, 'You are invited to a team on Docket', [
    'Hello,',
    `${named(inviter)} invites you to the team of ${named(orgName)}. To accept or decline, sign in with this e-mail address, or sign up with it if you have no account yet:`,
    link,
    'The invitation is open for fourteen days. If you do not know them, ignore this e-mail.',
  ]);
}

function letter({ email }: Addressee, subject: string, paragraphs: readonly string[]): Letter {
  return { to: email, subject, body: paragraphs.join('\n\n') };
}
