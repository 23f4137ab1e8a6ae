import { createSign, generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Issuer {
  url: string;
  clientId: string;
  /** A token of web identity, as the machine of a process is given one. */
  token: (validS: number) => string;
  close: () => Promise<void>;
}

const KEY_ID = 'lab';

/** An OpenID Connect issuer that knows one workload: as much of one as a store asks for that takes its tokens. */
export async function startIssuer(): Promise<Issuer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: KEY_ID, alg: 'RS256', use: 'sig' };
  let url = '';
  const server = createServer((request, response) => {
    const document = request.url?.endsWith('/jwks')
      ? { keys: [jwk] }
      : {
          issuer: url,
          jwks_uri: `${url}/jwks`,
          authorization_endpoint: `${url}/none`,
          token_endpoint: `${url}/none`,
          response_types_supported: ['id_token'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(document));
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clientId = 'docket';
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    url,
    clientId,
    token(validS) {
      const now = Math.floor(Date.now() / 1_000);
      const claims = { iss: url, aud: clientId, azp: clientId, sub: 'docket-exports', iat: now };
      const text = `${part({ alg: 'RS256', typ: 'JWT', kid: KEY_ID })}.${part({ ...claims, exp: now + validS })}`;
      return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
