import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { onTestFinished } from 'vitest';
import Provider, { type Configuration, type JWKS } from 'oidc-provider';

/** What an issuer tells of a person. */
export interface Account {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
}

interface Served {
  origin: string;
  handle: (listener: RequestListener) => void;
  close: () => Promise<void>;
}

/** A server on a port of its own, whose listener can be another one later. */
async function serve(): Promise<Served> {
  let listener: RequestListener = (_request, reply) => void reply.writeHead(503).end();
  const server = createServer((request, reply) => listener(request, reply));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    handle: (next) => void (listener = next),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const CLIENT = { id: 'docket', secret: 'a client secret of thirty-two characters' };

function newKeys(): JWKS {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = {
    ...privateKey.export({ format: 'jwk' }),
    kid: randomUUID(),
    alg: 'RS256',
    use: 'sig',
  };
  return { keys: [jwk] };
}

/** A whole OpenID provider, whose users sign in by being named. */
export async function startProvider(redirectUris: readonly string[]) {
  const served = await serve();
  const accounts = new Map<string, Account>();
  const who = { next: '' };
  const start = (): void => {
    const configuration: Configuration = {
      jwks: newKeys(),
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [...redirectUris],
          post_logout_redirect_uris: redirectUris.map((uri) => uri.replace(/\/callback$/, '')),
        },
      ],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
      cookies: { keys: [randomUUID()] },
      findAccount: (_context, sub) => ({
        accountId: sub,
        claims: async () => ({ ...accounts.get(sub)!, sub }),
      }),
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      loadExistingGrant: async (context) => {
        const { provider: own, client, session } = context.oidc;
        const grant = new own.Grant({ clientId: client!.clientId, accountId: session!.accountId! });
        grant.addOIDCScope('openid email profile');
        await grant.save();
        return grant;
      },
    };
    const provider = new Provider(served.origin, configuration);
    const callback = provider.callback();
    served.handle((request, reply) => {
      void (request.url?.startsWith('/interaction/') === true
        ? provider.interactionFinished(request, reply, { login: { accountId: who.next } })
        : callback(request, reply));
    });
  };
  start();
  return {
    issuer: served.origin,
    client: CLIENT,
    close: served.close,
    /** The same provider with other keys, and without its memory. */
    rotate: start,
    /** Goes where a browser goes from this address on, as this user; returns where it is sent back to us. */
    async signIn(address: string, account: Account): Promise<URL> {
      accounts.set(account.sub, account);
      who.next = account.sub;
      const cookies = new Map<string, string>();
      for (let next = address; ;) {
        const reply = await fetch(next, {
          redirect: 'manual',
          headers: { cookie: [...cookies].map((each) => each.join('=')).join('; ') },
        });
        for (const line of reply.headers.getSetCookie()) {
          const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
          cookies.set(name!, value!);
        }
        const location = reply.headers.get('location');
        if (location === null) throw new Error(`${next}: ${reply.status} ${await reply.text()}`);
        const to = new URL(location, next);
        if (to.origin !== served.origin) return to;
        next = to.href;
      }
    },
  };
}

/** What a forged issuer says, with what of it is as it should not be. */
export interface Forgery {
  claims?: Record<string, unknown>;
  /** Signed by a key that is not published. */
  foreignKey?: boolean;
  /** Of the header: `none` leaves the signature out. */
  alg?: string;
  discovery?: Record<string, unknown>;
  tokenStatus?: number;
  /** What it says of the person where it is asked for that. */
  userInfo?: Record<string, unknown>;
  /** Its answers come compressed, which was not asked for. */
  isPacked?: boolean;
  /** Sent to another address in place of an answer. */
  redirect?: string;
}

/** An issuer that says what a test wants it to. It asks its visitors nothing. */
export async function startForgedIssuer() {
  const served = await serve();
  const [own, foreign] = [1, 2].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
  const forgery: { now: Forgery; nonce: string; requests: string[] } = {
    now: {},
    nonce: '',
    requests: [],
  };
  const token = ({ claims, foreignKey, alg = 'ES256' }: Forgery): string => {
    const now = Math.floor(Date.now() / 1_000);
    const payload = {
      iss: served.origin,
      aud: CLIENT.id,
      sub: 'a-subject',
      iat: now,
      exp: now + 300,
      nonce: forgery.nonce,
      email_verified: true,
      ...claims,
    };
    const text = [{ alg, kid: 'own', typ: 'JWT' }, payload]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    if (alg === 'none') return `${text}.`;
    const key: KeyObject = (foreignKey === true ? foreign : own)!.privateKey;
    const signature = sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  };
  served.handle((request: IncomingMessage, reply) => {
    const { pathname } = new URL(request.url!, served.origin);
    forgery.requests.push(pathname);
    const { now } = forgery;
    const say = (body: unknown, status = 200): void =>
      void reply
        .writeHead(status, {
          'content-type': 'application/json',
          ...(now.isPacked ? { 'content-encoding': 'gzip' } : {}),
        })
        .end(now.isPacked ? gzipSync(JSON.stringify(body)) : JSON.stringify(body));
    if (now.redirect !== undefined) {
      return void reply.writeHead(302, { location: now.redirect }).end();
    }
    if (pathname === '/keys') {
      return say({
        keys: [{ ...own!.publicKey.export({ format: 'jwk' }), kid: 'own', use: 'sig' }],
      });
    }
    if (pathname === '/token') {
      if (now.tokenStatus !== undefined) return say({ error: 'invalid_client' }, now.tokenStatus);
      return say({ access_token: 'an-access-token', token_type: 'Bearer', id_token: token(now) });
    }
    if (pathname === '/userinfo') return say(now.userInfo);
    if (pathname !== '/.well-known/openid-configuration') return say({}, 404);
    say({
      issuer: served.origin,
      authorization_endpoint: `${served.origin}/authorize`,
      token_endpoint: `${served.origin}/token`,
      jwks_uri: `${served.origin}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256'],
      ...(now.userInfo === undefined ? {} : { userinfo_endpoint: `${served.origin}/userinfo` }),
      ...now.discovery,
    });
  });
  return {
    issuer: served.origin,
    client: CLIENT,
    requests: forgery.requests,
    close: served.close,
    /** The next tokens are like this, until the test is over. */
    say(next: Forgery): void {
      forgery.now = next;
      onTestFinished(() => {
        forgery.now = {};
      });
    },
    /** Sends a visitor of the address straight back, with a code. */
    sendBack(address: string): URL {
      const asked = new URL(address).searchParams;
      forgery.nonce = asked.get('nonce') ?? '';
      const back = new URL(asked.get('redirect_uri')!);
      back.searchParams.set('state', asked.get('state')!);
      back.searchParams.set('code', 'a-code');
      return back;
    },
  };
}
