import { newId } from '#shared/kernel/system/new-id.ts';
import { addressOf } from '#shared/catalogue/base-url.ts';
import type { Catalogue, Endpoint, Model, Timeouts } from '#shared/catalogue/catalogue.ts';
import { isObject, listOf, textOf } from '#shared/kernel/json-object.ts';
import type { Dialect, Route, Usage } from '#shared/kernel/inference.ts';
import { upstreamBody } from '#workers/inference/bodies.ts';
import { inWords } from '#workers/inference/providers/failure-words.ts';
import type {
  ModelList,
  Provider,
  UpstreamRequest,
} from '#workers/inference/providers/provider.ts';
import {
  faultOf,
  UpstreamError,
  type UpstreamFailure,
} from '#workers/inference/providers/upstream-failure.ts';
import { readMessageUsage } from '#workers/inference/messages/native.ts';
import { callForAnswer, callForStream } from '#workers/inference/upstream-call.ts';
import { readUsage } from '#workers/inference/usage.ts';

/** What one endpoint does with one model. */
export interface Probe {
  endpoint: string;
  /** Host and port. */
  address: string;
  /** The model's id, and what the endpoint calls it. */
  model: string;
  upstreamModel: string;
  /** Something answers there; false when no connection came about. */
  reached: boolean;
  /** Whether its list of models has this one; null when it has no such list. */
  listed: boolean | null;
  /** One token was generated, or one text embedded. */
  answers: boolean | null;
  streams: boolean | null;
  usageInAnswers: boolean | null;
  usageInStreams: boolean | null;
  /** It answers as a response, whole and as a stream; null where the catalogue does not say that it does. */
  responses: boolean | null;
  /** The same of messages. */
  messages: boolean | null;
  /** It takes the role `developer`, by that name or as `system` where the catalogue says so; null when not known. */
  developer: boolean | null;
  /** Whether it wants back what the model thought: refuses a turn without, or answers it under that name and takes it. */
  reasoningContent: 'demanded' | 'taken' | null;
  /** How it refuses a prompt above the context window: status and code, or why that is not known. */
  overflow: string | null;
  /** What must be mended: lines that name endpoint and address. */
  problems: string[];
  /** What works, and is probably not meant. */
  warnings: string[];
}

export interface ProbeOptions {
  catalogue: Catalogue;
  providerOf: (endpoint: Endpoint) => Provider;
  /** The secret behind `api_key_env`: it is taken out of what upstreams say, some of which repeat it. */
  credential: (name: string) => string | undefined;
  /** How long each call may take. */
  timeoutMs: number;
  onProgress: (done: number, total: number) => void;
}

/** So many endpoints at once; each is asked one thing after the other. */
const ENDPOINTS_AT_ONCE = 8;
/** The prompt above a larger context window would be too large to send for a look. */
const OVERFLOW_WINDOW_MAX = 1_048_576;
/** Of the names that an upstream lists, so many are told. */
const LISTED_MAX = 5;
const SAID_CHARS_MAX = 160;
/** What asks an endpoint in an interface that it is said to speak beside that of chats. */
interface NativeRoute {
  route: 'responses' | 'messages';
  fields: object;
  usageOf: (usage: unknown) => Usage | undefined;
  word: string;
}

/** OpenAI takes no smaller bound for a response. */
const RESPONSE_TOKENS_MIN = 16;
/** A server that takes less of a prompt than this share of what was sent has cut it. */
const CUT_BELOW = 0.5;

/**
 * Asks every endpoint of a catalogue, for every model that it serves, what a request would find: whether it is reached,
 * whether it has the model, answers with one token, streams, reports usage, and says so when a prompt is too long. By the
 * code that requests go through, so that what works here works there.
 */
export async function probeUpstreams(options: ProbeOptions): Promise<Probe[]> {
  const { catalogue, onProgress } = options;
  const rows = catalogue.endpoints.map((endpoint) => ({
    endpoint,
    models: catalogue.models.flatMap((model) =>
      model.endpoints
        .filter(({ name }) => name === endpoint.name)
        .map((served) => ({ model, upstreamModel: served.model })),
    ),
  }));
  const total = rows.reduce((sum, { models }) => sum + models.length, 0);
  let done = 0;
  onProgress(done, total);
  const probes = new Map<Endpoint, Probe[]>();
  const waiting = rows.values();
  const work = async (): Promise<void> => {
    for (const { endpoint, models } of waiting) {
      const list = await options.providerOf(endpoint).list(endpoint, options.timeoutMs);
      const found: Probe[] = [];
      for (const one of models) {
        found.push(await new Look(options, endpoint, one.model, one.upstreamModel).at(list));
        done += 1;
        onProgress(done, total);
      }
      probes.set(endpoint, found);
    }
  };
  await Promise.all(Array.from({ length: ENDPOINTS_AT_ONCE }, work));
  return rows.flatMap(({ endpoint }) => probes.get(endpoint) ?? []);
}

/** One endpoint and one model. */
class Look {
  readonly #options: ProbeOptions;
  readonly #endpoint: Endpoint;
  readonly #model: Model;
  readonly #route: Dialect;
  readonly #probe: Probe;
  /** Its answer has what the model thought under the name that servers take it back by. */
  #thinks = false;
  /** Newer models of OpenAI refuse the older name of the bound. */
  #bound: 'max_tokens' | 'max_completion_tokens' = 'max_tokens';

  constructor(options: ProbeOptions, endpoint: Endpoint, model: Model, upstreamModel: string) {
    this.#options = options;
    this.#endpoint = endpoint;
    this.#model = model;
    this.#route = routeOf(model);
    this.#probe = {
      endpoint: endpoint.name,
      address: addressOf(endpoint.baseUrl),
      model: model.id,
      upstreamModel,
      reached: true,
      listed: null,
      answers: null,
      streams: null,
      usageInAnswers: null,
      usageInStreams: null,
      responses: null,
      messages: null,
      developer: null,
      reasoningContent: null,
      overflow: null,
      problems: [],
      warnings: [],
    };
  }

  async at(list: ModelList): Promise<Probe> {
    const probe = this.#probe;
    if ('failure' in list && list.failure.status === undefined) {
      probe.reached = false;
      this.#problem(list.failure);
      return probe;
    }
    const names = 'models' in list ? (list.models?.map(({ id }) => id) ?? null) : null;
    if (names !== null) probe.listed = names.some((name) => isListedAs(name, probe.upstreamModel));
    await this.#answer();
    if (probe.answers !== true) return probe;
    if (probe.listed === false) this.#warn(`it answers, and lists ${listedWords(names!, probe)}`);
    if (this.#route !== 'embeddings') await this.#stream();
    if (this.#route === 'chat.completions' && this.#endpoint.responses === true)
      await this.#native(this.#responsesOf());
    if (this.#route === 'chat.completions' && this.#endpoint.messages === true)
      await this.#native(this.#messagesOf());
    if (this.#route === 'chat.completions') await this.#developer();
    if (this.#route === 'chat.completions') await this.#reasoning();
    await this.#overflow();
    return probe;
  }

  async #answer(): Promise<void> {
    const probe = this.#probe;
    try {
      const { parsed } = await this.#call('Hello.').catch((error: unknown) => {
        if (!isAboutBound(error)) throw error;
        this.#bound = 'max_completion_tokens';
        return this.#call('Hello.');
      });
      probe.answers = true;
      this.#thinks = hasReasoning(parsed);
      const { energy } = this.#endpoint;
      probe.usageInAnswers = readUsage(parsed['usage'], energy, this.#route) !== undefined;
      if (!probe.usageInAnswers) this.#warn('its answers report no usage: it is counted here');
    } catch (error) {
      probe.answers = false;
      this.#problem(failureIn(error));
    }
  }

  async #stream(): Promise<void> {
    const probe = this.#probe;
    probe.usageInStreams = false;
    try {
      const { opened } = callForStream(this.#provider, this.#request('Hello.', true), {
        accept: (_, chunk) => {
          if (readUsage(chunk['usage'], this.#endpoint.energy) !== undefined)
            probe.usageInStreams = true;
        },
      });
      const end = await (await opened).ended;
      if (end.failure !== null) throw new UpstreamError(end.failure);
      probe.streams = true;
      if (!probe.usageInStreams) this.#warn('its streams report no usage: it is counted here');
    } catch (error) {
      probe.streams = false;
      probe.usageInStreams = null;
      this.#problem(failureIn(error), 'as a stream, ');
    }
  }

  /** Such requests go to it as they came, because the catalogue says so: one of them, whole and as a stream. */
  async #native({ route, fields, usageOf, word }: NativeRoute): Promise<void> {
    const probe = this.#probe;
    try {
      const { opened } = callForAnswer(this.#provider, this.#asking(route, fields, false));
      const { parsed } = await opened;
      if (usageOf(parsed['usage']) === undefined)
        this.#warn(`its ${route} report no usage: it is counted here`);
      const asked = this.#asking(route, fields, true);
      const { opened: opening } = callForStream(this.#provider, asked, { accept: () => {} });
      const end = await (await opening).ended;
      if (end.failure !== null) throw new UpstreamError(end.failure);
      probe[route] = true;
    } catch (error) {
      probe[route] = false;
      this.#problem(failureIn(error), `as a ${word} (\`${route}: true\` in the catalogue), `);
    }
  }

  #responsesOf(): NativeRoute {
    return {
      route: 'responses',
      fields: { input: 'Hello.', max_output_tokens: RESPONSE_TOKENS_MIN },
      usageOf: (usage) => readUsage(usage, this.#endpoint.energy, 'responses'),
      word: 'response',
    };
  }

  #messagesOf(): NativeRoute {
    return {
      route: 'messages',
      fields: { messages: [{ role: 'user', content: 'Hello.' }], max_tokens: 1 },
      usageOf: (usage) => readMessageUsage(usage, this.#endpoint.energy),
      word: 'message',
    };
  }

  /** A server that refuses `developer` and takes `system` is to get the one for the other. */
  async #developer(): Promise<void> {
    const probe = this.#probe;
    const refusal = await this.#refusalOf(inRole('developer'));
    if (refusal === undefined) probe.developer = true;
    else if (isAboutRequest(refusal) && (await this.#refusalOf(inRole('system'))) === undefined) {
      probe.developer = false;
      this.#warn(
        `it takes \`system\` and not \`developer\`, which \`developer_role: false\` in the catalogue mends: ${said(refusal)}`,
      );
    }
  }

  /**
   * A server that thinks before it calls a tool may refuse what came of the call without what was thought, and another one
   * that it is sent at all: the catalogue says which.
   */
  async #reasoning(): Promise<void> {
    const probe = this.#probe;
    const isSent = this.#endpoint.reasoningContent === true;
    const without = await this.#refusalOf(secondTurn());
    const isRefused = without !== undefined && isAboutRequest(without);
    if (!isRefused && !this.#thinks && !isSent) return;
    const refusal = await this.#refusalOf(secondTurn({ reasoning_content: 'A tool knows it.' }));
    if (refusal === undefined) {
      if (!isRefused && !this.#thinks) return;
      probe.reasoningContent = isRefused ? 'demanded' : 'taken';
      if (isSent) return;
      this.#warn(
        isRefused
          ? `it demands what the model thought back, which \`reasoning_content: true\` in the catalogue sends: ${said(without)}`
          : 'it answers what the model thought in `reasoning_content` and takes it back, which `reasoning_content: true` in the catalogue sends',
      );
    } else if (isSent && without === undefined && isAboutRequest(refusal))
      this.#warn(
        `it refuses what the model thought, which \`reasoning_content: true\` in the catalogue sends: ${said(refusal)}`,
      );
  }

  async #refusalOf(asked: object): Promise<UpstreamFailure | undefined> {
    const fields = { ...asked, [this.#bound]: 1 };
    const asking = this.#asking('chat.completions', fields, false);
    try {
      await callForAnswer(this.#provider, asking).opened;
      return undefined;
    } catch (error) {
      return failureIn(error);
    }
  }

  /** Sends more than the context window holds. Servers refuse that before they compute anything. */
  async #overflow(): Promise<void> {
    const probe = this.#probe;
    const { contextWindow } = this.#model;
    if (contextWindow > OVERFLOW_WINDOW_MAX) {
      probe.overflow = 'not tried: the window is too large';
      return;
    }
    try {
      // Each of these is a token by itself, in every vocabulary.
      const { parsed } = await this.#call(' a b c d'.repeat(Math.ceil((contextWindow + 64) / 4)));
      const counted = readUsage(parsed['usage'], undefined, this.#route)?.inputTokens;
      const isCut = counted !== undefined && counted < contextWindow * CUT_BELOW;
      // A smaller window than the server's may well be meant.
      probe.overflow = isCut ? `cut to ${counted} tokens` : 'taken';
      if (isCut)
        this.#warn(`it cuts a prompt above context_window to ${counted} tokens, without a word`);
    } catch (error) {
      const failure = failureIn(error);
      const { code } = faultOf(failure, this.#route);
      probe.overflow = `${failure.status ?? failure.kind} ${code}`;
      if (code !== 'prompt_too_long')
        this.#warn(
          `what it says to a prompt above context_window is not understood: ${said(failure)}`,
        );
    }
  }

  async #call(text: string): Promise<{ parsed: Record<string, unknown> }> {
    const { opened } = callForAnswer(this.#provider, this.#request(text, false));
    return opened;
  }

  get #provider(): Provider {
    return this.#options.providerOf(this.#endpoint);
  }

  #request(text: string, stream: boolean): UpstreamRequest {
    const bound = this.#route === 'embeddings' ? {} : { [this.#bound]: 1 };
    return this.#asking(this.#route, { ...inputOf(this.#route, text), ...bound }, stream);
  }

  #asking(route: Route, fields: object, stream: boolean): UpstreamRequest {
    const { timeoutMs } = this.#options;
    const timeouts: Timeouts = {
      headersMs: timeoutMs,
      firstByteMs: timeoutMs,
      betweenBytesMs: timeoutMs,
      totalMs: timeoutMs,
    };
    const { id: model } = this.#model;
    const body = JSON.stringify({ model, ...fields, ...(stream ? { stream: true } : {}) });
    return {
      requestId: newId('req'),
      route,
      endpoint: this.#endpoint,
      body: upstreamBody(
        body,
        route,
        { endpoint: this.#endpoint, model: this.#probe.upstreamModel },
        stream,
      ),
      stream,
      timeouts,
    };
  }

  #problem(failure: UpstreamFailure, where = ''): void {
    const words = inWords(failure, this.#endpoint, this.#probe.upstreamModel);
    const quoted = failure.message === undefined ? '' : ` (it says ${said(failure)})`;
    this.#probe.problems.push(this.#withoutSecret(`${where}${words}${quoted}`));
  }

  #warn(words: string): void {
    this.#probe.warnings.push(this.#withoutSecret(`${this.#probe.address}: ${words}`));
  }

  #withoutSecret(line: string): string {
    const { apiKeyEnv } = this.#endpoint;
    const secret = apiKeyEnv === undefined ? undefined : this.#options.credential(apiKeyEnv);
    return secret === undefined ? line : line.replaceAll(secret, `[${apiKeyEnv}]`);
  }
}

function routeOf({ kinds }: Model): Dialect {
  if (kinds.includes('chat')) return 'chat.completions';
  return kinds.includes('completion') ? 'completions' : 'embeddings';
}

function inputOf(route: Dialect, text: string): object {
  if (route === 'chat.completions') return { messages: [{ role: 'user', content: text }] };
  return route === 'completions' ? { prompt: text } : { input: text };
}

function inRole(role: 'developer' | 'system'): object {
  return {
    messages: [
      { role, content: 'Be brief.' },
      { role: 'user', content: 'Hello.' },
    ],
  };
}

/** A request of an agent that has run the tool that the model called. */
function secondTurn(thought: object = {}): object {
  const called = { name: 'get_weather', arguments: '{"city":"Oslo"}' };
  const parameters = { type: 'object', properties: { city: { type: 'string' } } };
  return {
    messages: [
      { role: 'user', content: 'Does it rain in Oslo?' },
      {
        role: 'assistant',
        content: '',
        ...thought,
        tool_calls: [{ id: 'call_00000', type: 'function', function: called }],
      },
      { role: 'tool', tool_call_id: 'call_00000', content: 'It rains.' },
    ],
    tools: [{ type: 'function', function: { name: called.name, parameters } }],
  };
}

function hasReasoning({ choices }: Readonly<Record<string, unknown>>): boolean {
  const [first] = listOf(choices).filter(isObject);
  const message = first?.['message'];
  const thought = isObject(message) ? textOf(message['reasoning_content']) : undefined;
  return thought !== undefined && thought !== '';
}

function failureIn(error: unknown): UpstreamFailure {
  if (error instanceof UpstreamError) return error.failure;
  throw error;
}

function isAboutBound(error: unknown): boolean {
  return error instanceof UpstreamError && error.failure.param === 'max_tokens';
}

/** Templates of chats that know no such role fail the request with a 400, or their server with a 500. */
function isAboutRequest({ kind, status }: UpstreamFailure): boolean {
  return kind === 'rejected' || status === 500;
}

/** The upstream's own words about a request of ours, which holds nothing to hide. */
function said({ message, status }: UpstreamFailure): string {
  return JSON.stringify((message ?? `HTTP ${status}`).slice(0, SAID_CHARS_MAX));
}

/** Proxies list `*` or `openai/*` for what they pass on by any name. */
function isListedAs(name: string, model: string): boolean {
  const star = name.indexOf('*');
  if (star < 0) return name === model;
  return model.startsWith(name.slice(0, star)) && model.endsWith(name.slice(star + 1));
}

function listedWords(names: readonly string[], { upstreamModel }: Probe): string {
  const some = names.slice(0, LISTED_MAX).map((name) => JSON.stringify(name.slice(0, 100)));
  const more = names.length > LISTED_MAX ? ', …' : '';
  return `no model ${JSON.stringify(upstreamModel)}: ${some.join(', ') || 'nothing'}${more}`;
}
