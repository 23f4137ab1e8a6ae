import { hash, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { HOUR_MS, MINUTE_MS } from '#shared/kernel/time.ts';
import { hashPassword, isPasswordOf } from '#shared/persons/password-hash.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import type { Errands } from '#shared/persons/postgres/errands.ts';
import type { Logins } from '#shared/persons/postgres/logins.ts';
import type { Attempts } from '#shared/persons/postgres/persons.ts';
import type { Sessions } from '#shared/persons/postgres/sessions.ts';
import type { Person } from '#shared/persons/roles.ts';
import { type Session, SESSION_MS, type SignedIn } from '#shared/persons/sessions.ts';
import type { Proof } from '../forms.ts';
import { SESSION_COOKIE, tokenCookie } from './cookies.ts';
import { HashingQueue } from './hashing-queue.ts';
import { isPasswordLength, PASSWORD_LENGTH_MAX } from './password-rule.ts';
import { createSecondFactor, type SecondFactorParts } from './second-factor.ts';
import { createFormTokens, createMarks } from './secrets.ts';

export type { Session, SignedIn } from '#shared/persons/sessions.ts';

/** The one who asks, as far as a session is concerned. */
export interface Visitor {
  cookie: string | undefined;
  address: string;
  userAgent: string | undefined;
}

/** What the browser is to keep, as lines of Set-Cookie. */
interface Kept {
  cookies: readonly string[];
}

export interface SignInOptions extends SecondFactorParts {
  sessions: Sessions;
  logins: Logins;
  errands: Errands;
  publicUrl: string;
  /** Counts an attempt under each name; false when one of them has had enough. */
  takeAttempts: (each: readonly (readonly [string, Attempts])[]) => Promise<boolean>;
  /** A person has shown that their address is theirs. */
  confirmEmail: (personId: string) => Promise<void>;
  sendResetLink: (person: Person & { hasLogin: boolean }, token: string) => Promise<void>;
  sendConfirmationLink: (person: Person, token: string) => Promise<void>;
}

/** An e-mail may be slow, and is not kept for long. */
const LINK_MS = HOUR_MS;
/** How long a password that was right waits for a code. */
const CHALLENGE_MS = 10 * MINUTE_MS;
/** Codes for one password that was right: the next would be tried when it waits no longer. */
const CODES_OF_CHALLENGE: Attempts = { burst: 5, intervalMs: CHALLENGE_MS };
/**
 * Codes of the app of one person, by those who have the password. Of a million codes three are right at a time: who tries
 * one an hour for a year finds one with a chance of 1 in 38. A recovery code is found by no number of tries.
 */
const APP_CODES_OF_PERSON: Attempts = { burst: 20, intervalMs: HOUR_MS };
const USER_AGENT_LENGTH_MAX = 300;

/**
 * Lets persons in and out: passwords, sessions, codes, and the links of e-mails. What opens something is a random token, of
 * which the database has a hash.
 */
export function openSignIn(options: SignInOptions) {
  const { sessions, logins, errands, publicUrl, sessionSecrets, now } = options;
  const hashing = new HashingQueue();
  const secondFactor = createSecondFactor(options);
  const forms = createFormTokens(sessionSecrets);
  const marks = createMarks('cookies', sessionSecrets);
  const sessionCookie = tokenCookie(publicUrl, SESSION_COOKIE, SESSION_MS / 1_000, marks);
  const challengeCookie = tokenCookie(publicUrl, 'two_factor', CHALLENGE_MS / 1_000, marks);

  const session = async ({ cookie }: Visitor): Promise<SignedIn | null> => {
    const token = sessionCookie.read(cookie);
    return token === undefined ? null : sessions.find(token);
  };

  const hashOf = (password: string, { address }: Visitor): Promise<string> =>
    hashing.run(callerNetwork(address), () => hashPassword(password));

  const isRight = async (kept: string | null, password: string, { address }: Visitor) =>
    password.length <= PASSWORD_LENGTH_MAX &&
    hashing.run(callerNetwork(address), () => isPasswordOf(kept, password));

  /** The one who is signed in, if this is their password, and its hash. */
  const signedInWith = async (password: string, visitor: Visitor) => {
    const before = await session(visitor);
    const kept = before && (await logins.of(before.person.id))?.password;
    if (kept == null || !(await isRight(kept, password, visitor))) return null;
    // Hashing waits for its turn: what ended the session meanwhile, or set another password, holds.
    const signedIn = await session(visitor);
    const isStill = signedIn !== null && (await logins.of(signedIn.person.id))?.password === kept;
    return isStill ? { ...signedIn, passwordHash: kept } : null;
  };

  const placed = (of: Opened, { address, userAgent }: Visitor) => {
    // A socket of both kinds tells an address of IPv4 within one of IPv6.
    const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
    return {
      ...of,
      address: isIP(plain) === 0 ? null : plain,
      userAgent: userAgent?.slice(0, USER_AGENT_LENGTH_MAX) ?? null,
    };
  };

  /** A session that a person has opened themselves by a password, of which this is the hash; null when it changed meanwhile. */
  const openedBy = async (
    passwordHash: string,
    of: Omit<Opened, 'organisation'>,
    visitor: Visitor,
  ) => {
    const own = placed({ ...of, organisation: null }, visitor);
    const begun = await sessions.openBy(passwordHash, own);
    return begun && { id: begun.id, cookies: [sessionCookie.set(begun.token)] };
  };

  const renewed = async ({ session: { id } }: SignedIn): Promise<Kept> => ({
    cookies: [sessionCookie.set(await sessions.renew(id))],
  });

  /** A token whose bearer, for a while and once, is taken for this person in one thing. */
  const tokenFor = async (what: Errand, personId: string): Promise<string> => {
    const token = newToken();
    await errands.keep(nameOf(what, token), personId, now() + LINK_MS);
    return token;
  };

  /** Open sessions of the person. One by an issuer is shown those by the same alone: the others are none of its business. */
  const theirs = async (visitor: Visitor, { organisation }: Session): Promise<Session[]> => {
    const signedIn = await session(visitor);
    const all = signedIn === null ? [] : await sessions.of(signedIn.person.id);
    return all.filter((each) => organisation === null || each.organisation === organisation);
  };

  return {
    /** The person whose session the cookie names; null for no session, one that ended, and one that was made up. */
    session,

    /** Whether the cookie names a session that was opened here, open or ended; not so for one that was made up. */
    wasOpened: ({ cookie }: Visitor): boolean => sessionCookie.read(cookie) !== undefined,

    /**
     * Opens a new session, never one that the visitor brought. `refused` says neither whether there is such a person nor
     * which of the two was wrong. With `needsCode` no session is open yet: the cookie stands for the password that was right.
     */
    async signIn(
      email: string,
      password: string,
      visitor: Visitor,
    ): Promise<(Kept & { needsCode: boolean }) | 'refused' | 'unconfirmed'> {
      const login = await logins.find(email);
      const kept = login?.password ?? null;
      const isTheirs = await isRight(kept, password, visitor);
      if (login === undefined || kept === null || !isTheirs) return 'refused';
      const { id: personId, name } = login;
      if (!login.isConfirmed) {
        const token = await tokenFor('confirm', personId);
        await options.sendConfirmationLink({ id: personId, name, email: login.email }, token);
        return 'unconfirmed';
      }
      if (login.hasSecondFactor) {
        const token = newToken();
        const until = now() + CHALLENGE_MS;
        const compared = { personId, password: kept };
        if (!(await errands.keepFor(compared, nameOf('code', token), until))) return 'refused';
        return { cookies: [sessionCookie.forget(), challengeCookie.set(token)], needsCode: true };
      }
      const opened = await openedBy(kept, { personId, confirmedAt: null }, visitor);
      if (opened === null) return 'refused';
      await sessions.confirm({ person: { id: personId }, session: opened }, 'password');
      return { cookies: opened.cookies, needsCode: false };
    },

    /** Opens a new session by a passkey that was shown; null when it was removed meanwhile. */
    async openByPasskey(
      { id, personId }: { id: string; personId: string },
      visitor: Visitor,
    ): Promise<Kept | null> {
      const own = placed({ personId, organisation: null, confirmedAt: now() }, visitor);
      const opened = await sessions.openByPasskey(id, own);
      return opened && { cookies: [sessionCookie.set(opened.token)] };
    },

    /**
     * Opens a new session of a person whom the issuer of an organisation has let in, and who has shown there that it is they at
     * `confirmedAt` or long ago. `client`: in whose transaction.
     */
    async open(of: Opened, visitor: Visitor, client?: Queryable): Promise<Kept> {
      const { token } = await sessions.open(placed(of, visitor), client);
      return { cookies: [sessionCookie.set(token)] };
    },

    /**
     * Notes that the person of this open session has just shown that it is they. False when that does not count any more: the
     * session has ended, or they have something stronger than a password now.
     */
    confirm: (signedIn: SignedIn, proof: Proof): Promise<boolean> =>
      sessions.confirm(signedIn, proof === 'password' ? proof : 'more than a password'),

    /** Opens the session of a person whose password was right, by a code of their app or one of their recovery codes. */
    async signInWithCode(code: string, visitor: Visitor): Promise<Kept | 'refused' | 'too many'> {
      const token = challengeCookie.read(visitor.cookie);
      if (token === undefined) return 'refused';
      const challenge = nameOf('code', token);
      const personId = await errands.look(challenge);
      // Read while the challenge stands, which another password ends: it is the one that was right.
      const password = personId && (await logins.of(personId))?.password;
      if (!personId || !password) return 'refused';
      const { takeAttempts } = options;
      if (!(await takeAttempts([[`codes of ${challenge}`, CODES_OF_CHALLENGE]]))) return 'refused';
      const isOfApp = secondFactor.isOfApp(code);
      if (isOfApp && !(await takeAttempts([[`codes of ${personId}`, APP_CODES_OF_PERSON]])))
        return 'too many';
      if (!(await secondFactor.take(personId, code))) return 'refused';
      if ((await errands.take(challenge)) === undefined) return 'refused';
      const opened = await openedBy(password, { personId, confirmedAt: now() }, visitor);
      if (opened === null) return 'refused';
      return { cookies: [...opened.cookies, challengeCookie.forget()] };
    },

    /** Whether this is a code of the one who is signed in and has a second factor. Each works once. */
    async isCode(code: string, visitor: Visitor): Promise<boolean> {
      const signedIn = await session(visitor);
      return signedIn !== null && secondFactor.take(signedIn.person.id, code);
    },

    /** Makes a secret for an app, and recovery codes; both count when a code of the app has come. Null for a wrong password. */
    async beginSecondFactor(password: string, visitor: Visitor) {
      const signedIn = await signedInWith(password, visitor);
      return signedIn && secondFactor.begin(signedIn.person);
    },

    /** Asks for a code from now on. The session goes on under another name. */
    async confirmSecondFactor(code: string, visitor: Visitor): Promise<Kept | null> {
      const signedIn = await session(visitor);
      if (signedIn === null) return null;
      if (!(await secondFactor.takeFirst(signedIn, code))) return null;
      return renewed(signedIn);
    },

    async endSecondFactor(password: string, visitor: Visitor): Promise<Kept | null> {
      const signedIn = await signedInWith(password, visitor);
      if (signedIn === null) return null;
      await options.secondFactors.end(signedIn);
      return renewed(signedIn);
    },

    /** Ends the session that the cookie names, and has the browser forget it. */
    async signOut(visitor: Visitor): Promise<Kept['cookies']> {
      const signedIn = await session(visitor);
      if (signedIn !== null) await sessions.end(signedIn.session.id);
      return [sessionCookie.forget()];
    },

    sessions: theirs,

    /** Ends another session of the same person by its id. One that is not theirs is as none. */
    async endSession(id: string, visitor: Visitor, current: Session): Promise<void> {
      const isTheirs = (await theirs(visitor, current)).some((each) => each.id === id);
      if (isTheirs) await sessions.end(id);
    },

    async endOtherSessions(visitor: Visitor): Promise<void> {
      const signedIn = await session(visitor);
      if (signedIn !== null) await sessions.endOthers(signedIn);
    },

    /** Changes the password and ends every other session; null when the current one is wrong or the new one too short. */
    async changePassword(
      currentPassword: string,
      newPassword: string,
      visitor: Visitor,
    ): Promise<Kept | null> {
      if (!isPasswordLength(newPassword)) return null;
      const signedIn = await signedInWith(currentPassword, visitor);
      if (signedIn === null) return null;
      const { id: personId } = signedIn.person;
      const to = await hashOf(newPassword, visitor);
      if (!(await logins.change(signedIn, { from: signedIn.passwordHash, to }))) return null;
      const opened = await openedBy(to, { personId, confirmedAt: null }, visitor);
      return opened ?? { cookies: [sessionCookie.forget()] };
    },

    /** Whether this is the password of the one who is signed in. */
    isPassword: async (password: string, visitor: Visitor): Promise<boolean> =>
      (await signedInWith(password, visitor)) !== null,

    /** Sends a link to the address when a person has it. The caller cannot tell. */
    async sendReset(email: string): Promise<void> {
      const login = await logins.find(email);
      if (login === undefined) return;
      const { id, name, password } = login;
      const person = { id, name, email: login.email, hasLogin: password !== null };
      await options.sendResetLink(person, await tokenFor('reset', id));
    },

    /** Sets the password of the one who has the link; false when it was used, is over, or the password is too short. */
    async resetPassword(token: string, newPassword: string, visitor: Visitor): Promise<boolean> {
      const link = nameOf('reset', token);
      if (!isPasswordLength(newPassword)) return false;
      // For a link that is made up nothing is hashed.
      const personId = await errands.look(link);
      return personId !== undefined && logins.reset(link, await hashOf(newPassword, visitor));
    },

    /** Takes the address of the one who has the link as theirs; false when it was used or is over. */
    async confirmEmail(token: string): Promise<boolean> {
      const personId = await errands.take(nameOf('confirm', token));
      if (personId !== undefined) await options.confirmEmail(personId);
      return personId !== undefined;
    },

    /** What a form has to bring back, another each time: no other site or visitor can make it for this subject, a session or a visitor. */
    formToken: forms.of,

    isFormToken: forms.isOf,
  };
}

interface Opened {
  personId: string;
  organisation: string | null;
  /** Epoch milliseconds. */
  confirmedAt: number | null;
}

const newToken = (): string => randomBytes(32).toString('base64url');

/** What a token is for: to choose a password, to show that an address is theirs, to go on with a code. */
type Errand = 'reset' | 'confirm' | 'code';

/** Who reads the table of errands can follow no link. */
const nameOf = (what: Errand, token: string): string =>
  hash('sha256', JSON.stringify(['sign-in', what, token]));
