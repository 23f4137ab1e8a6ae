import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { Provider, UpstreamCall, UpstreamRequest, UpstreamSink } from '../provider.ts';
import { type AnswerHead, chatCompletion } from './answer.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { embeddingsAnswer } from './embeddings.ts';
import { failureOf } from './failures.ts';
import type { TakesUrl } from './files.ts';
import type { Json } from './json.ts';
import { NATIVE_PROVIDERS, type NativeProvider } from '#shared/catalogue/http/native-providers.ts';
import { callOptionsOf } from './options.ts';
import { ChunkWriter } from './stream.ts';
import { Untranslatable } from './untranslatable.ts';
import { CallWatch } from './watch.ts';

/** Our credential is wrong, or we are to stay away for now. */
const REFUSALS = new Set([401, 403, 408, 429]);

/** Speaks to providers in their own interfaces through the AI SDK, and to the gateway in OpenAI's. */
export class AiSdkProvider implements Provider {
  readonly #credential: (name: string) => string | undefined;
  readonly #loaded = new Map<string, Promise<NativeProvider>>();
  readonly #open = new Set<CallWatch>();

  /** `credential` looks up the secret an endpoint names in `api_key_env`. */
  constructor(credential: (name: string) => string | undefined) {
    this.#credential = credential;
  }

  call(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    const watch = new CallWatch(sink, request.timeoutMs, () => this.#open.delete(watch));
    this.#open.add(watch);
    void this.#run(request, watch).catch((error: unknown) => watch.fail(failureOf(error)));
    return watch;
  }

  /** Asks for the list of models, which costs nothing. */
  async probe(endpoint: Endpoint, timeoutMs: number): Promise<boolean> {
    try {
      const answer = await fetch(`${baseOf(endpoint)}/models`, {
        headers: NATIVE_PROVIDERS[endpoint.provider ?? '']?.headers(this.#key(endpoint)) ?? {},
        signal: AbortSignal.timeout(timeoutMs),
      });
      await answer.body?.cancel();
      return answer.status < 500 && !REFUSALS.has(answer.status);
    } catch {
      return false;
    }
  }

  close(): Promise<void> {
    for (const watch of this.#open) watch.abort();
    return Promise.resolve();
  }

  async #run(request: UpstreamRequest, watch: CallWatch): Promise<void> {
    const body = JSON.parse(request.body) as Json;
    const model = String(body['model']);
    const native = await this.#native(request.endpoint);
    const headers = headersOf(request);
    if (request.route === 'embeddings') {
      const embedding = native.embedding?.(model);
      if (embedding === undefined) throw new Untranslatable('model', 'It has no embeddings.');
      const call = { model: embedding, signal: watch.signal, headers };
      return watch.answer(await embeddingsAnswer(body, call));
    }
    if (request.route === 'completions') {
      throw new Untranslatable('model', 'This model is for chat requests.');
    }
    const language = native.language(model);
    const options: LanguageModelV4CallOptions = {
      ...callOptionsOf(body, takesUrlOf(await language.supportedUrls)),
      abortSignal: watch.signal,
      headers,
    };
    const created = Math.floor(Date.now() / 1_000);
    const head: AnswerHead = {
      id: request.requestId.replace(/^req_/, 'chatcmpl-'),
      created,
      model,
    };
    if (request.stream) await relay(language, options, head, watch);
    else watch.answer(chatCompletion(head, await language.doGenerate(options)));
  }

  #native(endpoint: Endpoint): Promise<NativeProvider> {
    const row = NATIVE_PROVIDERS[endpoint.provider ?? ''];
    if (row === undefined) throw new Error(`there is no provider ${String(endpoint.provider)}`);
    let native = this.#loaded.get(endpoint.name);
    if (native === undefined) {
      const settings = {
        baseURL: baseOf(endpoint),
        apiKey: this.#key(endpoint),
        fetch: boundedFetch,
      };
      native = row.load(settings);
      this.#loaded.set(endpoint.name, native);
      // A library that could not be loaded is looked for again: it may be installed meanwhile.
      native.catch(() => this.#loaded.delete(endpoint.name));
    }
    return native;
  }

  /** Never empty: the libraries would look for a credential in the environment by themselves. */
  #key({ apiKeyEnv }: Endpoint): string {
    return (apiKeyEnv === undefined ? undefined : this.#credential(apiKeyEnv)) ?? 'none';
  }
}

async function relay(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  head: AnswerHead,
  watch: CallWatch,
): Promise<void> {
  const { stream } = await model.doStream(options);
  const writer = new ChunkWriter(head, (payload) => watch.payload(payload));
  for await (const part of stream) {
    if (watch.isOver) return;
    watch.touch();
    const end = writer.take(part);
    if (end === null) continue;
    if ('error' in end) watch.fail(failureOf(end.error));
    else watch.end(end.clean);
    return;
  }
  watch.end(false);
}

function headersOf({ requestId, traceparent }: UpstreamRequest): Record<string, string> {
  return { 'x-request-id': requestId, ...(traceparent === undefined ? {} : { traceparent }) };
}

function baseOf({ baseUrl }: Endpoint): string {
  return baseUrl.replace(/\/+$/, '');
}

/** What a model fetches by itself, by its own table of media types and addresses. */
function takesUrlOf(supported: Record<string, RegExp[]>): TakesUrl {
  return (mediaType, url) =>
    Object.entries(supported).some(
      ([type, addresses]) =>
        (type === '*' || type === '*/*' || type.split('/')[0] === mediaType.split('/')[0]) &&
        addresses.some((address) => address.test(url.toLowerCase())),
    );
}
