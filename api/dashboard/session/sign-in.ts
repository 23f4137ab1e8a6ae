import { AsyncLocalStorage } from 'node:async_hooks';
import { hash, timingSafeEqual, createHmac } from 'node:crypto';
import { isIPv6, SocketAddress } from 'node:net';
import { betterAuth } from 'better-auth';
import { createAuthEndpoint, isAPIError } from 'better-auth/api';
import { setSessionCookie } from 'better-auth/cookies';
import { hashPassword, symmetricDecrypt, verifyPassword } from 'better-auth/crypto';
import { twoFactor } from 'better-auth/plugins/two-factor';
import type { Queries } from '#shared/kernel/postgres/queries.ts';
import type { Person } from '#shared/persons/roles.ts';
import { cookiesOf } from './cookies.ts';
import { callerNetwork } from '#api/plugins/caller-network.ts';
import { stepOfCode } from './app-code.ts';
import type { Proof } from '../forms.ts';
import { HashingQueue } from './hashing-queue.ts';
import { PASSWORD_LENGTH_MAX, PASSWORD_LENGTH_MIN } from './password-rule.ts';

/** The one who asks, as far as a session is concerned. */
export interface Visitor {
  cookie: string | undefined;
  address: string;
  userAgent: string | undefined;
}

/** An open session of a person. Its token stays in the cookie. */
export interface Session {
  id: string;
  /** Epoch milliseconds. */
  since: number;
  until: number;
  address: string | null;
  userAgent: string | null;
  /** The organisation whose issuer let the person in; the session is good for that one alone. */
  organisation: string | null;
  /** When its person last showed the strongest proof that they have, in epoch milliseconds; null for not yet. */
  confirmedAt: number | null;
}

export interface SignedIn {
  person: Person;
  session: Session;
  /** Whether signing in asks for a code of an app too. */
  hasSecondFactor: boolean;
}

/** Set-Cookie lines. */
type Cookies = readonly string[];

export interface SignInOptions {
  /** The tables of persons. */
  db: Queries;
  publicUrl: string;
  secret: string;
  now: () => number;
  newPersonId: () => string;
  /** A person has chosen a password by a link; `isFirst` when it confirms the address too. */
  passwordWasReset: (person: Person, isFirst: boolean) => Promise<void>;
  sendResetLink: (person: Person, token: string) => Promise<void>;
  sendConfirmationLink: (person: Person, token: string) => Promise<void>;
  onError: (error: unknown) => void;
}

export type SignIn = ReturnType<typeof openSignIn>;

/** Half a day: a working day with its evening, and no person is still signed in the next morning. */
const SESSION_S = 12 * 60 * 60;
/** A letter may be slow, and is not kept for long. */
const LINK_S = 60 * 60;
/** The cookie that stands for a password that was right, until a code has come. */
const CHALLENGE_COOKIE = /^(?:__Secure-)?docket\.two_factor=/;
/** The cookies that are set here. */
const OWN_COOKIE = /^(?:__Secure-)?docket\.\w+=/;
/** More than are ever set. */
const OWN_COOKIES_MAX = 8;
/** Of an app; recovery codes are longer. */
const APP_CODE = /^\d{6}$/;
/** Where the address of the one who asks is handed over. It is not read from a request. */
const ADDRESS_HEADER = 'x-docket-visitor';

/**
 * Lets persons in and out: passwords, sessions, and the links of letters, by better-auth on the tables of `persons`. None of
 * its own addresses is served; the dashboard's forms call it. Loading it takes a moment, so processes do
 * it before they listen, and those without a dashboard never.
 */
export function openSignIn(options: SignInOptions) {
  const hashing = new HashingQueue();
  // The library hashes within its own calls, and does not say for whom.
  const askedFrom = new AsyncLocalStorage<string>();
  const hashesOf =
    ({ address }: Pick<Visitor, 'address'>) =>
    <T>(call: () => Promise<T>): Promise<T> =>
      askedFrom.run(callerNetwork(address), call);
  const inTurn = <T>(work: () => Promise<T>): Promise<T> =>
    hashing.run(askedFrom.getStore() ?? '', work);
  const auth = betterAuth(
    authOptions(options, {
      hash: (password) => inTurn(() => hashPassword(password)),
      verify: (shown) => inTurn(() => verifyPassword(shown)),
    }),
  );
  const headersOf = ({ cookie, address, userAgent }: Visitor): Headers => {
    const headers = new Headers({ [ADDRESS_HEADER]: address });
    // The library decodes each; one that cannot be decoded costs an exception, and thousands fit into a request.
    const own = cookiesOf(cookie).filter((each) => OWN_COOKIE.test(each));
    if (own.length > 0) headers.set('cookie', own.slice(0, OWN_COOKIES_MAX).join('; '));
    if (userAgent !== undefined) headers.set('user-agent', userAgent.slice(0, 300));
    return headers;
  };
  const formKey = createHmac('sha256', options.secret).update('forms').digest();

  /**
   * Notes that the person of a session has just shown that it is they. A password counts for those who have nothing stronger:
   * neither an app nor a passkey.
   */
  const confirm = async (
    session: { id: string } | { token: string },
    proof: Proof,
  ): Promise<void> => {
    const [column, value] =
      'id' in session ? (['s.id', session.id] as const) : (['s.token', session.token] as const);
    let shown = options.db
      .updateTable('persons.session as s')
      .set({ confirmed_at: new Date(options.now()) })
      .where(column, '=', value);
    if (proof === 'password') {
      shown = shown.where((eb) => {
        const app = eb
          .selectFrom('persons.person as p')
          .select('p.id')
          .whereRef('p.id', '=', 's.person_id')
          .where('p.two_factor_enabled', '=', true);
        const passkey = eb
          .selectFrom('persons.passkey as k')
          .select('k.id')
          .whereRef('k.person_id', '=', 's.person_id');
        return eb.not(eb.or([eb.exists(app), eb.exists(passkey)]));
      });
    }
    await shown.execute();
  };

  const takeCode = async (
    typed: string,
    headers: Headers,
    opens: 'a session' | 'nothing',
  ): Promise<{ cookies: Cookies } | null> => {
    const code = typed.replaceAll(/\s/g, '');
    const asked = { body: { code }, headers, returnHeaders: true } as const;
    try {
      if (!APP_CODE.test(code)) {
        const taken = await auth.api.verifyBackupCode(asked);
        if (opens === 'a session') await confirm({ token: taken.response.token ?? '' }, 'code');
        return { cookies: taken.headers.getSetCookie() };
      }
      const taken = await auth.api.verifyTOTP(asked);
      const { user, token } = taken.response;
      if (await isFirstUse(user.id, code)) {
        if (opens === 'a session') await confirm({ token }, 'code');
        return { cookies: taken.headers.getSetCookie() };
      }
      if (opens === 'a session') {
        await options.db.deleteFrom('persons.session').where('token', '=', token).execute();
      }
      return null;
    } catch (error) {
      refusalOf(error);
      return null;
    }
  };

  /**
   * Takes a code of an app that is right, once: neither it nor one that was shown before it is taken again (RFC 6238, 5.2). One
   * statement, so that of several at once one passes.
   */
  const isFirstUse = async (personId: string, code: string): Promise<boolean> => {
    const kept = await options.db
      .selectFrom('persons.two_factor')
      .select('secret')
      .where('person_id', '=', personId)
      .executeTakeFirst();
    if (kept === undefined) return false;
    const { secretConfig: key } = await auth.$context;
    const step = stepOfCode(await symmetricDecrypt({ key, data: kept.secret }), code, Date.now());
    if (step === undefined) return false;
    const taken = await options.db
      .updateTable('persons.two_factor')
      .set({ last_step: step })
      .where('person_id', '=', personId)
      .where('secret', '=', kept.secret)
      .where((eb) => eb.or([eb('last_step', 'is', null), eb('last_step', '<', step)]))
      .returning('id')
      .executeTakeFirst();
    return taken !== undefined;
  };

  return {
    /** The person whose session the cookie names; null for no session, one that ended, and one that was made up. */
    async session(visitor: Visitor): Promise<SignedIn | null> {
      if (visitor.cookie === undefined) return null;
      const found = await auth.api.getSession({ headers: headersOf(visitor) });
      if (found === null || !found.user.emailVerified) return null;
      // What a plugin adds to a person is not in the library's type of it.
      const { id, name, email, twoFactorEnabled } = found.user as typeof found.user & {
        twoFactorEnabled?: boolean | null;
      };
      return {
        person: { id, name, email },
        session: sessionOf(found.session),
        hasSecondFactor: twoFactorEnabled === true,
      };
    },

    /** Whether the cookie names a session that was opened here, open or ended; not so for one that was made up. */
    async wasOpened(visitor: Visitor): Promise<boolean> {
      if (visitor.cookie === undefined) return false;
      return auth.api.wasOpened({ headers: headersOf(visitor) });
    },

    /**
     * Opens a new session, never one that the visitor brought. `refused` says neither whether there is such a person nor
     * which of the two was wrong. With `needsCode` no session is open yet: the cookie stands for the password that was right.
     */
    async signIn(
      email: string,
      password: string,
      visitor: Visitor,
    ): Promise<{ cookies: Cookies; needsCode: boolean } | 'refused' | 'unconfirmed'> {
      try {
        const { headers, response } = await hashesOf(visitor)(() =>
          auth.api.signInEmail({
            body: { email, password },
            headers: headersOf({ ...visitor, cookie: undefined }),
            returnHeaders: true,
          }),
        );
        const needsCode = 'twoFactorRedirect' in response;
        if (!needsCode) await confirm({ token: response.token }, 'password');
        return { cookies: headers.getSetCookie(), needsCode };
      } catch (error) {
        const status = refusalOf(error);
        return status === 403 ? 'unconfirmed' : 'refused';
      }
    },

    /**
     * Opens a new session of a person who has shown otherwise that it is they, at `confirmedAt` or long ago; with an
     * organisation, by its issuer.
     */
    async open(
      { personId, organisation, confirmedAt }: Opened,
      visitor: Visitor,
    ): Promise<{ cookies: Cookies }> {
      const { headers } = await auth.api.openSession({
        body: { personId, organisation, confirmedAt },
        headers: headersOf({ ...visitor, cookie: undefined }),
        returnHeaders: true,
      });
      return { cookies: headers.getSetCookie() };
    },

    /** Notes that the person of this open session has just shown that it is they. */
    confirm: (sessionId: string, proof: Proof): Promise<void> => confirm({ id: sessionId }, proof),

    /** Opens the session of a person whose password was right, by a code of their app or one of their recovery codes. */
    async signInWithCode(code: string, visitor: Visitor): Promise<{ cookies: Cookies } | null> {
      // With a session beside it, the library would look at that one and count nothing.
      const cookie = cookiesOf(visitor.cookie).find((each) => CHALLENGE_COOKIE.test(each));
      return takeCode(code, headersOf({ ...visitor, cookie }), 'a session');
    },

    /** Whether this is a code of the one who is signed in and has a second factor. Each works once. */
    async isCode(code: string, visitor: Visitor): Promise<boolean> {
      return (await takeCode(code, headersOf(visitor), 'nothing')) !== null;
    },

    /** Makes a secret for an app, and recovery codes; both count when a code of the app has come. Null for a wrong password. */
    async beginSecondFactor(
      password: string,
      visitor: Visitor,
    ): Promise<{ secret: string; uri: string; recoveryCodes: readonly string[] } | null> {
      try {
        const begun = await hashesOf(visitor)(() =>
          auth.api.enableTwoFactor({
            body: { password, method: 'totp' },
            headers: headersOf(visitor),
          }),
        );
        if (!('totpURI' in begun)) return null;
        const secret = new URL(begun.totpURI).searchParams.get('secret') ?? '';
        return { secret, uri: begun.totpURI, recoveryCodes: begun.backupCodes };
      } catch (error) {
        refusalOf(error);
        return null;
      }
    },

    /** Asks for a code from now on. The session goes on under another name. */
    async confirmSecondFactor(
      code: string,
      visitor: Visitor,
    ): Promise<{ cookies: Cookies } | null> {
      // A recovery code shows nothing of the app.
      return APP_CODE.test(code.trim()) ? takeCode(code, headersOf(visitor), 'nothing') : null;
    },

    async endSecondFactor(
      password: string,
      visitor: Visitor,
    ): Promise<{ cookies: Cookies } | null> {
      try {
        const { headers } = await hashesOf(visitor)(() =>
          auth.api.disableTwoFactor({
            body: { password },
            headers: headersOf(visitor),
            returnHeaders: true,
          }),
        );
        return { cookies: headers.getSetCookie() };
      } catch (error) {
        refusalOf(error);
        return null;
      }
    },

    /** Ends the session that the cookie names, and has the browser forget it. */
    async signOut(visitor: Visitor): Promise<Cookies> {
      const { headers } = await auth.api.signOut({
        headers: headersOf(visitor),
        returnHeaders: true,
      });
      return headers.getSetCookie();
    },

    /** Open sessions of the person. One by an issuer is shown those by the same alone: the others are none of its business. */
    async sessions(visitor: Visitor, { organisation }: Session): Promise<Session[]> {
      const found = await auth.api.listSessions({ headers: headersOf(visitor) });
      return found
        .map(sessionOf)
        .filter((each) => organisation === null || each.organisation === organisation)
        .toSorted((a, b) => b.since - a.since);
    },

    /** Ends another session of the same person by its id. One that is not theirs is as none. */
    async endSession(id: string, visitor: Visitor, { organisation }: Session): Promise<void> {
      const headers = headersOf(visitor);
      const found = (await auth.api.listSessions({ headers })).find(
        (each) =>
          each.id === id &&
          (organisation === null || sessionOf(each).organisation === organisation),
      );
      if (found !== undefined) {
        await auth.api.revokeSession({ headers, body: { token: found.token } });
      }
    },

    async endOtherSessions(visitor: Visitor): Promise<void> {
      await auth.api.revokeOtherSessions({ headers: headersOf(visitor) });
    },

    /** Changes the password and ends every other session; false when the current one is wrong or the new one too short. */
    async changePassword(
      currentPassword: string,
      newPassword: string,
      visitor: Visitor,
    ): Promise<{ cookies: Cookies } | null> {
      try {
        const { headers } = await hashesOf(visitor)(() =>
          auth.api.changePassword({
            body: { currentPassword, newPassword, revokeOtherSessions: true },
            headers: headersOf(visitor),
            returnHeaders: true,
          }),
        );
        return { cookies: headers.getSetCookie() };
      } catch (error) {
        refusalOf(error);
        return null;
      }
    },

    /** Whether this is the password of the one who is signed in. */
    async isPassword(password: string, visitor: Visitor): Promise<boolean> {
      try {
        await hashesOf(visitor)(() =>
          auth.api.verifyPassword({ body: { password }, headers: headersOf(visitor) }),
        );
        return true;
      } catch (error) {
        refusalOf(error);
        return false;
      }
    },

    /** Sends a link to the address when a person has it. The caller cannot tell. */
    async sendReset(email: string): Promise<void> {
      try {
        await auth.api.requestPasswordReset({ body: { email } });
      } catch (error) {
        refusalOf(error);
      }
    },

    /** Sets the password of the one who has the link; false when it was used, is over, or the password is too short. */
    async resetPassword(token: string, newPassword: string, visitor: Visitor): Promise<boolean> {
      try {
        await hashesOf(visitor)(() => auth.api.resetPassword({ body: { token, newPassword } }));
        return true;
      } catch (error) {
        refusalOf(error);
        return false;
      }
    },

    async confirmEmail(token: string): Promise<boolean> {
      try {
        await auth.api.verifyEmail({ query: { token } });
        return true;
      } catch (error) {
        refusalOf(error);
        return false;
      }
    },

    /** What a form has to bring back: no other site or visitor can make it for this subject, a session or a visitor. */
    formToken: (subject: string): string =>
      createHmac('sha256', formKey).update(subject).digest('base64url'),

    isFormToken(subject: string, token: string): boolean {
      const expected = createHmac('sha256', formKey).update(subject).digest();
      // Hashed to one length, which is all that the comparison asks.
      return timingSafeEqual(
        hash('sha256', expected.toString('base64url'), 'buffer'),
        hash('sha256', token, 'buffer'),
      );
    },
  };
}

/** In a function of its own, so that its exact type is inferred. */
function authOptions(
  options: SignInOptions,
  password: {
    hash: (password: string) => Promise<string>;
    verify: (shown: { hash: string; password: string }) => Promise<boolean>;
  },
) {
  const secure = options.publicUrl.startsWith('https:');
  return {
    appName: 'Docket',
    baseURL: new URL(options.publicUrl).origin,
    basePath: '/dashboard',
    secret: options.secret,
    database: { db: options.db.withSchema('persons'), type: 'postgres' as const },
    user: {
      modelName: 'person',
      fields: { emailVerified: 'email_verified', createdAt: 'created_at', updatedAt: 'updated_at' },
    },
    session: {
      modelName: 'session',
      fields: {
        userId: 'person_id',
        expiresAt: 'expires_at',
        ipAddress: 'address',
        userAgent: 'user_agent',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
      expiresIn: SESSION_S,
      // It ends when it ends; no page has to set a cookie.
      disableSessionRefresh: true,
    },
    account: {
      modelName: 'login',
      fields: {
        userId: 'person_id',
        accountId: 'account_id',
        providerId: 'provider_id',
        accessToken: 'access_token',
        refreshToken: 'refresh_token',
        idToken: 'id_token',
        accessTokenExpiresAt: 'access_token_expires_at',
        refreshTokenExpiresAt: 'refresh_token_expires_at',
        createdAt: 'created_at',
        updatedAt: 'updated_at',
      },
    },
    verification: {
      modelName: 'verification',
      fields: { expiresAt: 'expires_at', createdAt: 'created_at', updatedAt: 'updated_at' },
      // Who reads the table cannot follow a link.
      storeIdentifier: 'hashed' as const,
    },
    emailAndPassword: {
      enabled: true,
      password,
      disableSignUp: true,
      requireEmailVerification: true,
      minPasswordLength: PASSWORD_LENGTH_MIN,
      maxPasswordLength: PASSWORD_LENGTH_MAX,
      resetPasswordTokenExpiresIn: LINK_S,
      revokeSessionsOnPasswordReset: true,
      sendResetPassword: ({ user, token }: Sent) => options.sendResetLink(user, token),
      onPasswordReset: ({ user }: { user: Person & { emailVerified: boolean } }) =>
        options.passwordWasReset(user, !user.emailVerified),
    },
    emailVerification: {
      sendOnSignIn: true,
      expiresIn: LINK_S,
      autoSignInAfterVerification: false,
      sendVerificationEmail: ({ user, token }: Sent) => options.sendConfirmationLink(user, token),
    },
    advanced: {
      cookiePrefix: 'docket',
      useSecureCookies: secure,
      defaultCookieAttributes: {
        httpOnly: true,
        sameSite: 'lax' as const,
        secure,
        path: '/dashboard',
      },
      // Whole, since persons read where they are signed in; networks are counted elsewhere.
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER], ipv6Subnet: 128 },
      database: {
        generateId: ({ model }: { model: string }) =>
          model === 'user' ? options.newPersonId() : crypto.randomUUID(),
        validateSchema: false,
      },
    },
    plugins: [
      openedOtherwise,
      twoFactor({
        issuer: 'Docket',
        schema: {
          user: { fields: { twoFactorEnabled: 'two_factor_enabled' } },
          twoFactor: {
            modelName: 'two_factor',
            fields: {
              userId: 'person_id',
              backupCodes: 'backup_codes',
              failedVerificationCount: 'failed_verification_count',
              lockedUntil: 'locked_until',
            },
          },
        },
      }),
    ],
    // The dashboard counts attempts by itself, over all processes.
    rateLimit: { enabled: false },
    telemetry: { enabled: false },
    logger: {
      level: 'error' as const,
      // Its words may hold what a person typed.
      log: (_level: string, message: string) => options.onError(new Error(`sign-in: ${message}`)),
    },
  };
}

interface Opened {
  personId: string;
  organisation: string | null;
  /** Epoch milliseconds. */
  confirmedAt: number | null;
}
/** The sign-in is the one that asks, so that nothing of it has to be looked at. */
const OPENED = {
  '~standard': {
    version: 1,
    vendor: 'docket',
    types: undefined as { input: Opened; output: Opened } | undefined,
    validate: (value: unknown) => ({ value: value as Opened }),
  },
} as const;

/**
 * Opens sessions without a password, and knows the signature of those that are over, for the sign-in alone: no address of
 * the library is served.
 */
const openedOtherwise = {
  id: 'opened-otherwise',
  schema: {
    session: {
      fields: {
        ssoOrgId: { type: 'string', required: false, input: false, fieldName: 'sso_org_id' },
        confirmedAt: { type: 'date', required: false, input: false, fieldName: 'confirmed_at' },
      },
    },
  },
  endpoints: {
    openSession: createAuthEndpoint(
      '/open-session',
      { method: 'POST', requireHeaders: true, body: OPENED },
      async (context) => {
        const { personId, organisation: ssoOrgId, confirmedAt: at } = context.body;
        const { internalAdapter } = context.context;
        const user = await internalAdapter.findUserById(personId);
        if (user === null) throw new Error('a session is to be opened of nobody');
        const confirmedAt = at === null ? null : new Date(at);
        const fields = { ssoOrgId, confirmedAt };
        const session = await internalAdapter.createSession(personId, false, fields);
        await setSessionCookie(context, { session, user });
        return {};
      },
    ),
    wasOpened: createAuthEndpoint(
      '/was-opened',
      { method: 'GET', requireHeaders: true },
      async ({ context, getSignedCookie }) => {
        const token = await getSignedCookie(context.authCookies.sessionToken.name, context.secret);
        return typeof token === 'string';
      },
    ),
  },
} as const;

interface Sent {
  user: Person;
  token: string;
}

/** The status of a refusal. What is no refusal is thrown on. */
function refusalOf(error: unknown): number {
  // What its schemas refuse is of another class than what its handlers refuse.
  if (!isAPIError(error) || error.statusCode >= 500) throw error;
  return error.statusCode;
}

/** An address as people write it: the library keeps one of IPv6 with all its zeros. */
function shortAddress(address: string): string {
  return isIPv6(address) ? new SocketAddress({ address, family: 'ipv6' }).address : address;
}

function sessionOf(session: {
  id: string;
  createdAt: Date;
  expiresAt: Date;
  ipAddress?: string | null | undefined;
  userAgent?: string | null | undefined;
  // What a plugin adds to a session is not always in the library's type of it.
  ssoOrgId?: string | null | undefined;
  confirmedAt?: Date | null | undefined;
}): Session {
  return {
    id: session.id,
    since: session.createdAt.getTime(),
    until: session.expiresAt.getTime(),
    address: session.ipAddress == null ? null : shortAddress(session.ipAddress),
    userAgent: session.userAgent ?? null,
    organisation: session.ssoOrgId ?? null,
    confirmedAt: session.confirmedAt?.getTime() ?? null,
  };
}
