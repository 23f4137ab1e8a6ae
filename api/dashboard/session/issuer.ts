import {
  allowInsecureRequests,
  authorizationCodeGrant,
  AuthorizationResponseError,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  type ClientAuth,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  ResponseBodyError,
} from 'openid-client';
import { InsideAddress, type PublicFetch } from '#shared/kernel/public-address.ts';
import type { IssuerClaims } from '#shared/persons/single-sign-on.ts';
import { IssuerFailure } from './issuer-failure.ts';

/** Us, as an issuer knows us. */
export interface Client {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

/** What the browser takes to the issuer, and what has to come back. */
export interface Errand {
  redirectUri: string;
  state: string;
  nonce: string;
  /** PKCE. */
  verifier: string;
  /** Whether a person who is signed in there has to show again that it is they. */
  again: boolean;
}

export interface Entry {
  claims: IssuerClaims;
  /** When they last showed there that it is they, in epoch milliseconds, if the issuer says so. */
  authenticatedAt: number | undefined;
}

const TIMEOUT_S = 10;
/** How long a person may take to come back after the issuer has seen that it is they. */
const AGAIN_S = 120;

export type Issuers = ReturnType<typeof createIssuers>;

/**
 * OpenID Connect with the issuers of organisations. What an issuer publishes is read anew for each sign-in: they are few, and
 * keys that it has changed are known at once, in every process.
 */
export function createIssuers(fetch: PublicFetch, inside: readonly string[]) {
  const configure = async ({ issuer, clientId, clientSecret }: Client): Promise<Configuration> => {
    const isPlain = inside.includes(new URL(issuer).origin);
    // In the header where nothing is said of it (OpenID Connect Discovery, 3), in the body where it is not taken there.
    const authenticate: ClientAuth = (server, ...rest) => {
      const ways = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
      const way = ways.includes('client_secret_basic') ? ClientSecretBasic : ClientSecretPost;
      return way(clientSecret)(server, ...rest);
    };
    return discovery(new URL(issuer), clientId, clientSecret, authenticate, {
      [customFetch]: fetch,
      timeout: TIMEOUT_S,
      // Signatures are looked at, although the token comes from the issuer itself.
      execute: [enableNonRepudiationChecks, ...(isPlain ? [allowInsecureRequests] : [])],
    });
  };

  return {
    /** Reads what the issuer publishes: whether it is there, and one that we can work with. */
    async check(client: Client): Promise<void> {
      await failingClearly(client.issuer, async () => {
        const metadata = (await configure(client)).serverMetadata();
        if (
          metadata.authorization_endpoint === undefined ||
          metadata.token_endpoint === undefined
        ) {
          throw new IssuerFailure('The issuer does not say where to sign in.', true, undefined);
        }
      });
    },

    /** The address at the issuer that a person goes to. */
    begin(client: Client, errand: Errand, email: string): Promise<string> {
      return failingClearly(client.issuer, async () => {
        const config = await configure(client);
        const address = buildAuthorizationUrl(config, {
          scope: 'openid email profile',
          redirect_uri: errand.redirectUri,
          state: errand.state,
          nonce: errand.nonce,
          code_challenge: await calculatePKCECodeChallenge(errand.verifier),
          code_challenge_method: 'S256',
          ...(email === '' ? {} : { login_hint: email }),
          ...(errand.again ? { prompt: 'login', max_age: '0' } : {}),
        });
        if (!/^https?:$/.test(address.protocol)) throw new InsideAddress(address.protocol);
        return address.href;
      });
    },

    /** Takes what the issuer has sent back, and asks it who that was. */
    finish(client: Client, errand: Errand, cameBackTo: URL): Promise<Entry> {
      return failingClearly(client.issuer, async () => {
        const config = await configure(client);
        const tokens = await authorizationCodeGrant(config, cameBackTo, {
          expectedState: errand.state,
          expectedNonce: errand.nonce,
          pkceCodeVerifier: errand.verifier,
          idTokenExpected: true,
          ...(errand.again ? { maxAge: AGAIN_S } : {}),
        });
        const said = tokens.claims()!;
        const lacks = said['email'] === undefined || said['email_verified'] === undefined;
        const further =
          lacks && config.serverMetadata().userinfo_endpoint !== undefined
            ? await fetchUserInfo(config, tokens.access_token, said.sub)
            : ({} as Record<string, unknown>);
        // An address and whether it was verified are told by one of both: the other may mean another address.
        const { email, email_verified: isVerified }: Record<string, unknown> =
          further['email'] === undefined ? said : further;
        const subject = textOf(said.sub);
        if (subject === undefined) {
          const { host } = new URL(client.issuer);
          throw new IssuerFailure(
            `${host} did not name the person in a form that can be stored.`,
            false,
            null,
          );
        }
        return {
          claims: {
            subject,
            email: textOf(email),
            emailVerified: isVerified === true,
            name: textOf(said['name'] ?? further['name']),
          },
          authenticatedAt: said.auth_time === undefined ? undefined : said.auth_time * 1_000,
        };
      });
    },

    /** Where a person ends their session at the issuer too; undefined where there is no such place. */
    async end(client: Client, returnTo: string): Promise<string | undefined> {
      return failingClearly(client.issuer, async () => {
        const config = await configure(client);
        const { end_session_endpoint: place } = config.serverMetadata();
        if (place === undefined || !/^https?:/.test(place)) return undefined;
        return buildEndSessionUrl(config, {
          client_id: client.clientId,
          post_logout_redirect_uri: returnTo,
        }).href;
      });
    },
  };
}

/** A text that PostgreSQL takes. */
const textOf = (claim: unknown): string | undefined =>
  typeof claim === 'string' && /^[^\0]+$/.test(claim) && claim.isWellFormed() ? claim : undefined;

/** Codes of RFC 6749 are short words; other text of an issuer is not repeated. */
const codeOf = (said: string): string => (/^[\w.-]{1,60}$/.test(said) ? said : 'an unknown reason');

async function failingClearly<T>(issuer: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureOf(error, new URL(issuer).host);
  }
}

function failureOf(error: unknown, host: string): IssuerFailure {
  if (error instanceof IssuerFailure) return error;
  if (error instanceof AuthorizationResponseError) {
    const words = `${host} did not sign you in: ${codeOf(error.error)}.`;
    return new IssuerFailure(words, false, error);
  }
  if (error instanceof ResponseBodyError) {
    const words = `${host} refused this sign-in: ${codeOf(error.error)}. Try again; if it keeps failing, the client id or secret that the organisation entered is wrong.`;
    return new IssuerFailure(words, error.error !== 'invalid_grant', error);
  }
  if (insideOf(error) !== undefined) {
    const words = `${host} cannot be used as an issuer: its address is not on the public internet.`;
    return new IssuerFailure(words, true, error);
  }
  if (error instanceof ClientError && !UNREADABLE.has(error.code ?? '')) {
    const words = `What ${host} answered did not pass the checks (${codeOf(error.code ?? '')}). Try again; if it keeps failing, tell the people who run it.`;
    return new IssuerFailure(words, false, error);
  }
  const words = `${host} cannot be reached, or its answer cannot be read. Try again in a moment; meanwhile, owners can sign in with their passwords.`;
  return new IssuerFailure(words, true, error);
}

/** Codes of answers that are none: an issuer that is down often has something before it that answers. */
const UNREADABLE: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);

/** What a look-up refused stands some causes deep. */
function insideOf(error: unknown, depth = 0): InsideAddress | undefined {
  if (error instanceof InsideAddress) return error;
  return error instanceof Error && depth < 5 ? insideOf(error.cause, depth + 1) : undefined;
}
