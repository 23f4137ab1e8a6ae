import { Agent, type Dispatcher } from 'undici';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { uuidOf } from '#shared/kernel/ids.ts';
import { ANTHROPIC_VERSION } from '#shared/catalogue/http/native-providers.ts';
import type { Route } from '#shared/kernel/inference.ts';
import { connector } from '../connector.ts';
import { modelsIn, readList } from '../model-list.ts';
import type {
  ModelList,
  Provider,
  UpstreamCall,
  UpstreamRequest,
  UpstreamSink,
} from '../provider.ts';
import { failureOfError, failureOfStatus } from './failures.ts';
import { UpstreamResponse } from './response.ts';

const PATHS: Record<Route, string> = {
  'chat.completions': '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
  responses: '/responses',
  messages: '/messages',
};

/** Sockets kept per upstream host: one request each, as HTTP/1.1 without pipelining wants. */
const CONNECTIONS_MAX = 4_096;
/** Below the five seconds after which common servers close an idle connection, so that a reused one is not half closed. */
const KEEP_ALIVE_MS = 4_000;

interface Target {
  origin: string;
  basePath: string;
  headers: Record<string, string>;
  /** The header that names the request; null for none. */
  requestIdHeader: string | null;
  traceparent: boolean;
}

/** How a server is shown a credential. */
export type ShowCredential = (secret: string) => Record<string, string>;

const asBearer: ShowCredential = (secret) => ({ authorization: `Bearer ${secret}` });

/** Speaks to anything with OpenAI's HTTP interface, or with Anthropic's. Bodies and answers pass through as they are. */
export class OpenAiCompatibleProvider implements Provider {
  readonly #agent: Dispatcher;
  /** By the endpoint itself, so that no two share a credential, and a reload of the catalogue leaves none behind. */
  readonly #targets = new WeakMap<Endpoint, Target>();
  readonly #credential: (name: string) => string | undefined;
  readonly #show: ShowCredential;

  /** `credential` looks up the secret an endpoint names in `api_key_env`. */
  constructor(credential: (name: string) => string | undefined, show: ShowCredential = asBearer) {
    this.#credential = credential;
    this.#show = show;
    this.#agent = new Agent({
      connections: CONNECTIONS_MAX,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: connector(),
    });
  }

  call(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    const target = this.#target(request.endpoint);
    const { headersMs, firstByteMs, betweenBytesMs, totalMs } = request.timeouts;
    const response = new UpstreamResponse(sink, {
      stream: request.stream,
      hasEmbeddings: request.route === 'embeddings',
      energyHeader: request.endpoint.energy?.header,
      firstByteMs,
      totalMs,
      hold: request.hold,
      pace: request.pace,
    });
    const headers: Record<string, string> = { ...target.headers };
    if (target.requestIdHeader !== null)
      headers[target.requestIdHeader] = uuidOf(request.requestId);
    if (target.traceparent && request.traceparent !== undefined)
      headers['traceparent'] = request.traceparent;
    if (request.route === 'messages') {
      headers['anthropic-version'] = ANTHROPIC_VERSION;
      if (request.betas !== undefined) headers['anthropic-beta'] = request.betas;
    }
    this.#agent.dispatch(
      {
        origin: target.origin,
        path: `${target.basePath}${PATHS[request.route]}`,
        method: 'POST',
        headers,
        body: request.body,
        headersTimeout: headersMs,
        bodyTimeout: betweenBytesMs,
      },
      response,
    );
    return response;
  }

  async list(endpoint: Endpoint, timeoutMs: number): Promise<ModelList> {
    const { origin, basePath, headers } = this.#target(endpoint);
    const path = `${basePath}/models`;
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const options = { origin, path, method: 'GET' as const, headers, signal };
      const { statusCode, headers: told, body } = await this.#agent.request(options);
      const text = await readList(body);
      if (statusCode >= 300) return { failure: failureOfStatus(statusCode, told, text) };
      return { models: modelsIn(text) };
    } catch (error) {
      return { failure: failureOfError(error as Error) };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #target(endpoint: Endpoint): Target {
    const known = this.#targets.get(endpoint);
    if (known !== undefined) return known;
    const url = new URL(endpoint.baseUrl);
    const target: Target = {
      origin: url.origin,
      basePath: url.pathname.replace(/\/+$/, ''),
      headers: { 'content-type': 'application/json', accept: '*/*', 'accept-encoding': 'identity' },
      requestIdHeader:
        endpoint.headers?.requestId === undefined ? 'x-request-id' : endpoint.headers.requestId,
      traceparent: endpoint.headers?.traceparent ?? true,
    };
    const secret =
      endpoint.apiKeyEnv === undefined ? undefined : this.#credential(endpoint.apiKeyEnv);
    if (secret !== undefined) Object.assign(target.headers, this.#show(secret));
    this.#targets.set(endpoint, target);
    return target;
  }
}
