import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import { uuidOf } from '#shared/kernel/ids.ts';
import { modelsIn, readList } from '../model-list.ts';
import type {
  ModelList,
  Provider,
  UpstreamCall,
  UpstreamRequest,
  UpstreamSink,
} from '../provider.ts';
import { OpenAiCompatibleProvider } from '../openai-compatible/provider.ts';
import { type AnswerHead, chatCompletion } from './answer.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { embeddingsAnswer } from './embeddings.ts';
import { failureOf } from './failures.ts';
import type { TakesUrl } from './files.ts';
import type { Json } from '#shared/kernel/json-object.ts';
import type { Pace } from '../../stream-pace.ts';
import { NATIVE_PROVIDERS, type NativeProvider } from '#shared/catalogue/http/native-providers.ts';
import { callOptionsOf } from './options.ts';
import { ChunkWriter } from './stream.ts';
import { Untranslatable } from './untranslatable.ts';
import { CallWatch } from './watch.ts';

/** Speaks to providers in their own interfaces through the AI SDK, and to the gateway in OpenAI's. */
export class AiSdkProvider implements Provider {
  readonly #credential: (name: string) => string | undefined;
  /** By the endpoint itself: a reload of the catalogue leaves no address and no credential behind. */
  readonly #loaded = new WeakMap<Endpoint, Promise<NativeProvider>>();
  readonly #open = new Set<CallWatch>();
  /** What needs no translation. */
  readonly #direct: OpenAiCompatibleProvider;

  /** `credential` looks up the secret an endpoint names in `api_key_env`. */
  constructor(credential: (name: string) => string | undefined) {
    this.#credential = credential;
    this.#direct = new OpenAiCompatibleProvider(credential, (secret) => ({ 'x-api-key': secret }));
  }

  call(request: UpstreamRequest, sink: UpstreamSink): UpstreamCall {
    if (request.route === 'messages') return this.#direct.call(request, sink);
    const watch = new CallWatch(sink, request.timeouts, () => this.#open.delete(watch));
    this.#open.add(watch);
    void this.#run(request, watch).catch((error: unknown) => watch.fail(failureOf(error)));
    return watch;
  }

  async list(endpoint: Endpoint, timeoutMs: number): Promise<ModelList> {
    const row = NATIVE_PROVIDERS[endpoint.provider ?? ''];
    try {
      const answer = await boundedFetch(`${baseOf(endpoint)}/models${row?.wholeList ?? ''}`, {
        headers: row?.headers(this.#key(endpoint)) ?? {},
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = answer.body === null ? '' : await readList(answer.body);
      if (answer.ok) return { models: modelsIn(text) };
      return { failure: failureOf({ statusCode: answer.status, message: text }) };
    } catch (error) {
      return { failure: failureOf(error) };
    }
  }

  close(): Promise<void> {
    for (const watch of this.#open) watch.abort();
    return this.#direct.close();
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
    if (request.stream) await relay(language, options, head, watch, request.pace);
    else watch.answer(chatCompletion(head, await language.doGenerate(options)));
  }

  #native(endpoint: Endpoint): Promise<NativeProvider> {
    const row = NATIVE_PROVIDERS[endpoint.provider ?? ''];
    if (row === undefined) throw new Error(`there is no provider ${String(endpoint.provider)}`);
    let native = this.#loaded.get(endpoint);
    if (native === undefined) {
      const settings = {
        baseURL: baseOf(endpoint),
        apiKey: this.#key(endpoint),
        fetch: boundedFetch,
      };
      native = row.load(settings);
      this.#loaded.set(endpoint, native);
      // A library that could not be loaded is looked for again: it may be installed meanwhile.
      native.catch(() => this.#loaded.delete(endpoint));
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
  pace: Pace | undefined,
): Promise<void> {
  const { stream } = await model.doStream(options);
  const writer = new ChunkWriter(head, (payload) => {
    pace?.read(payload.length);
    pace?.event();
    watch.payload(payload);
  });
  for await (const part of stream) {
    if (watch.isOver) return;
    watch.touch();
    const end = writer.take(part);
    if (end === null) {
      if (pace?.isAhead === true) await watch.pausedUntil((resume) => pace.whenCaughtUp(resume));
      continue;
    }
    if ('error' in end) watch.fail(failureOf(end.error));
    else watch.end(end.clean);
    return;
  }
  watch.end(false);
}

function headersOf({ requestId, traceparent, endpoint }: UpstreamRequest): Record<string, string> {
  const { requestId: name = 'x-request-id', traceparent: traced = true } = endpoint.headers ?? {};
  return {
    ...(name === null ? {} : { [name]: uuidOf(requestId) }),
    ...(traced && traceparent !== undefined ? { traceparent } : {}),
  };
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
