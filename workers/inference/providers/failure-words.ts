import { addressOf, oddBaseUrl } from '#shared/catalogue/base-url.ts';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { UpstreamFailure } from './upstream-failure.ts';

/** What an error of a socket means to a person. */
const OF_ERRNO: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'the name of the host cannot be looked up now',
  ECONNRESET: 'it closed the connection before its answer was whole',
  EPIPE: 'it closed the connection before its answer was whole',
  UND_ERR_SOCKET: 'it closed the connection before its answer was whole',
  ETIMEDOUT: 'it does not take the connection; a firewall, or another host?',
  UND_ERR_CONNECT_TIMEOUT: 'it does not take the connection; a firewall, or another host?',
  EHOSTUNREACH: 'no way leads to that host',
  ENETUNREACH: 'no way leads to that host',
  EPROTO: 'what answers there does not speak TLS; does base_url begin with http://?',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
};
const OF_ERRNO_LIKE: readonly [RegExp, string][] = [
  [/^HPE_/, 'what answers there does not speak HTTP'],
  [/^ERR_SSL_/, OF_ERRNO['EPROTO']!],
  [/SELF_SIGNED|UNABLE_TO_|LEAF_SIGNATURE/, 'its certificate is signed by nobody known here'],
];

/** How servers say that they do not have a model. */
const UNKNOWN_MODEL =
  /\bmodels?\b.{0,200}\b(not found|not exist|not available|unknown)|\b(no such|unknown|invalid) model|^model: /is;

const OUT_OF_CREDIT = 'the account there has nothing left to pay with';

/**
 * What is wrong with an endpoint, in one line for those who run the gateway: the log says it when a request meets it, and
 * `docket catalogue check --probe` when it looks. Without a word of the upstream's, which may quote a prompt; of the address
 * only host and port, since a path may hold a credential.
 * @param model the upstream's name for the model that was asked for
 */
export function inWords(failure: UpstreamFailure, endpoint: Endpoint, model: string): string {
  const { kind, status, errno, detail } = failure;
  const address = addressOf(endpoint.baseUrl);
  if (kind === 'aborted' || kind === 'cut_off') return detail;
  if (errno !== undefined) {
    const code = /^(UND|HPE)_/.test(errno) ? '' : `${errno} `;
    return `${code}${address}: ${wordsOfErrno(errno)}`;
  }
  const place = status === undefined ? address : `${status} ${address}`;
  return `${place}: ${wordsOfAnswer(failure, endpoint, model)}`;
}

/** Whether an upstream says that it does not have the model. */
function isUnknownModel({ status, code, message = '' }: UpstreamFailure): boolean {
  if (code === 'model_not_found') return true;
  const mayBe = status === undefined || status === 400 || status === 403 || status === 404;
  return mayBe && UNKNOWN_MODEL.test(message);
}

function wordsOfErrno(errno: string): string {
  const like = OF_ERRNO_LIKE.find(([pattern]) => pattern.test(errno))?.[1];
  return OF_ERRNO[errno] ?? like ?? 'the connection failed';
}

function wordsOfAnswer(failure: UpstreamFailure, endpoint: Endpoint, model: string): string {
  const { kind, status, detail } = failure;
  if (kind === 'misconfigured') {
    if (isUnknownModel(failure)) return `it has no model ${JSON.stringify(model)}`;
    if (status === 404 || status === 405) {
      const odd = endpoint.adapter === 'ai-sdk' ? undefined : oddBaseUrl(endpoint.baseUrl);
      return odd ?? `nothing is there; is base_url right, and the model ${JSON.stringify(model)}?`;
    }
    if (status !== undefined && status < 400)
      return 'it sends requests elsewhere; name that place in base_url';
    if (status === 501) return 'it does not do this';
    if (status === 402) return OUT_OF_CREDIT;
    return credentialWords(endpoint);
  }
  if (kind === 'rejected') return 'it refuses the request as wrong';
  if (kind === 'rate_limited')
    return failure.code === 'insufficient_quota'
      ? OUT_OF_CREDIT
      : 'it takes no more requests for now';
  return detail;
}

function credentialWords({ apiKeyEnv }: Endpoint): string {
  if (apiKeyEnv === undefined) return 'it wants a credential; name its variable in api_key_env';
  return `it refuses the credential; is ${apiKeyEnv} set, and right?`;
}
