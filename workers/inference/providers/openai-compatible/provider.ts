import { Agent, type Dispatcher } from 'undici';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Route } from '#shared/kernel/inference.ts';
import type { Provider, UpstreamCall, UpstreamRequest, UpstreamSink } from '../provider.ts';
import { UpstreamResponse } from './response.ts';

const PATHS: Record<Route, string> = {
  'chat.completions': '/chat/completions',
  completions: '/completions',
  embeddings: '/embeddings',
};

/** Sockets kept per upstream host: one request each, as HTTP/1.1 without pipelining wants. */
const CONNECTIONS_MAX = 4_096;
const CONNECT_TIMEOUT_MS = 5_000;
/** Below the five seconds after which common servers close an idle connection, so that a reused one is not half closed. */
const KEEP_ALIVE_MS = 4_000;

/** Our credential is wrong, or we are to stay away for now. */
const REFUSALS = new Set([401, 403, 408, 429]);

interface Target {
  origin: string;
  basePath: string;
  headers: Record<string, string>;
}

/** Speaks to anything with OpenAI's HTTP interface. Bodies and answers pass through as they are. */
export class OpenAiCompatibleProvider implements Provider {
  readonly #agent: Dispatcher;
  readonly #targets = new Map<string, Target>();
  readonly #credential: (name: string) => string | undefined;

  /** `credential` looks up the secret an endpoint names in `api_key_env`. */
  constructor(credential: (name: string) => string | undefined) {
    this.#credential = credential;
    this.#agent = new Agent({
      connections: CONNECTIONS_MAX,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      connect: { timeout: CONNECT_TIMEOUT_MS },
    });
  }

  call(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    const target = this.#target(request.endpoint);
    const response = new UpstreamResponse(sink, request.stream, request.endpoint.energy?.header);
    const headers: Record<string, string> = {
      ...target.headers,
      'x-request-id': request.requestId,
    };
    if (request.traceparent !== undefined) headers['traceparent'] = request.traceparent;
    this.#agent.dispatch(
      {
        origin: target.origin,
        path: `${target.basePath}${PATHS[request.route]}`,
        method: 'POST',
        headers,
        body: request.body,
        headersTimeout: request.timeoutMs,
        bodyTimeout: request.timeoutMs,
      },
      response,
    );
    return response;
  }

  /** Asks for the list of models. A server that has none is there all the same; one that refuses us is of no use. */
  async probe(endpoint: Endpoint, timeoutMs: number): Promise<boolean> {
    const { origin, basePath, headers } = this.#target(endpoint);
    try {
      const answer = await this.#agent.request({
        origin,
        path: `${basePath}/models`,
        method: 'GET',
        headers,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      });
      await answer.body.dump();
      return answer.statusCode < 500 && !REFUSALS.has(answer.statusCode);
    } catch {
      return false;
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  #target(endpoint: Endpoint): Target {
    const known = this.#targets.get(endpoint.baseUrl);
    if (known !== undefined) return known;
    const url = new URL(endpoint.baseUrl);
    const target: Target = {
      origin: url.origin,
      basePath: url.pathname.replace(/\/+$/, ''),
      headers: { 'content-type': 'application/json', accept: '*/*', 'accept-encoding': 'identity' },
    };
    const secret =
      endpoint.apiKeyEnv === undefined ? undefined : this.#credential(endpoint.apiKeyEnv);
    if (secret !== undefined) target.headers['authorization'] = `Bearer ${secret}`;
    this.#targets.set(endpoint.baseUrl, target);
    return target;
  }
}
