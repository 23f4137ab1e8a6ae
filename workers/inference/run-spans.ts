import type { Endpoint } from '#shared/catalogue/catalogue.ts';
import type { InferenceRecord, Route } from '#shared/kernel/inference.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Delivery } from '#shared/lanes/redis/lane-consumer.ts';
import type { Span, SpanAttributes, SpanEnd, Traces } from '#shared/process/traces/traces.ts';
import type { UpstreamFailure } from './providers/upstream-failure.ts';
import type { Target } from './upstream-retries.ts';

/** What the conventions for generative AI call what a route does. */
const OPERATIONS: Readonly<Record<Route, string>> = {
  'chat.completions': 'chat',
  completions: 'text_completion',
  embeddings: 'embeddings',
  responses: 'chat',
  messages: 'chat',
};

/** Their names of providers, by the end of the host. */
const PROVIDERS: readonly (readonly [host: string, name: string])[] = [
  ['api.openai.com', 'openai'],
  ['openai.azure.com', 'azure.ai.openai'],
  ['api.anthropic.com', 'anthropic'],
  ['generativelanguage.googleapis.com', 'gcp.gemini'],
  ['api.mistral.ai', 'mistral_ai'],
  ['api.groq.com', 'groq'],
  ['api.deepseek.com', 'deepseek'],
];
/** And of those that are spoken to in their own protocol. */
const NATIVE: Readonly<Record<string, string>> = { anthropic: 'anthropic', google: 'gcp.gemini' };

/** What names of models are made of. An upstream may put anything in that place of its answer, a sentence of the prompt too. */
const MODEL_NAME = /^[\w.:/@+-]{1,128}$/;

/** The spans of a run that has not ended. */
interface RunSpans {
  run: Span;
  call?: Span | undefined;
  endpoint?: Endpoint;
}

/**
 * The spans of runs: the time in the lane, the run, and within it a span for each call to an upstream. What goes on with the
 * request, here and in other processes, is within the run. They are kept by entry, for as long as that is in hand.
 */
export class RunSpansKeeper {
  readonly #traces: Traces;
  readonly #open = new WeakMap<InferenceEntry, RunSpans>();

  constructor(traces: Traces) {
    this.#traces = traces;
  }

  /** A delivery has been taken. Returns its entry as the parent of what follows. */
  taken({ entryId, number }: Delivery, entry: InferenceEntry, now: number): InferenceEntry {
    const { traceparent: parent, route, model, region, stream } = entry;
    const names = namesOf(entry, number);
    // The clock of Redis, which is another: what was taken was there before.
    const startedAt = Math.min(now, Number.parseInt(entryId, 10) || now);
    this.#traces
      .begin('inference lane', { kind: 'consumer', parent, startedAt, attributes: names })
      .end();
    const operation = OPERATIONS[route];
    const run = this.#traces.begin(`${operation} ${model}`, {
      parent,
      attributes: {
        ...names,
        'docket.region': region,
        'docket.stream': stream,
        'gen_ai.operation.name': operation,
        'gen_ai.request.model': model,
      },
    });
    const own = { ...entry, traceparent: run.traceparent };
    this.#open.set(own, { run });
    return own;
  }

  /** An upstream is about to be called. Returns what it is to be told. */
  called(entry: InferenceEntry, { endpoint }: Target, before: number): string | undefined {
    const spans = this.#open.get(entry);
    if (spans === undefined) return entry.traceparent;
    spans.endpoint = endpoint;
    spans.call = this.#traces.begin(`upstream ${endpoint.name}`, {
      kind: 'client',
      parent: spans.run,
      attributes: {
        'docket.request_id': entry.id,
        'docket.endpoint': endpoint.name,
        'http.request.method': 'POST',
        'http.request.resend_count': before === 0 ? undefined : before,
        ...addressOf(endpoint),
      },
    });
    return spans.call.traceparent;
  }

  /** The call has come to its end: to that of an answer, where it did not fail. */
  callEnded(entry: InferenceEntry, failure?: Pick<UpstreamFailure, 'kind' | 'status'>): void {
    const spans = this.#open.get(entry);
    spans?.call?.end({
      errorType: failure?.kind,
      isCallers: failure?.kind === 'aborted',
      attributes: { 'http.response.status_code': failure?.status },
    });
    if (spans !== undefined) spans.call = undefined;
  }

  /** The run is over, and with it a call that has not ended: its client has left. */
  ended(entry: InferenceEntry, end: SpanEnd): void {
    this.callEnded(entry, { kind: 'aborted' });
    const spans = this.#open.get(entry);
    if (spans === undefined) return;
    this.#open.delete(entry);
    const { endpoint, run } = spans;
    const asked = endpoint === undefined ? {} : { ...providerOf(endpoint), ...addressOf(endpoint) };
    run.end({ ...end, attributes: { ...asked, ...end.attributes } });
  }
}

/** What a run has come to, as its receipt says it. */
export function endOf({ outcome, usage, attempts, upstreamModel }: InferenceRecord): SpanEnd {
  const isName = upstreamModel !== undefined && MODEL_NAME.test(upstreamModel);
  const isKnown = usage.source !== 'unknown';
  return {
    errorType: outcome === 'truncated' ? outcome : undefined,
    attributes: {
      'docket.outcome': outcome,
      'docket.calls': attempts,
      'gen_ai.response.model': isName ? upstreamModel : undefined,
      'gen_ai.usage.input_tokens': usage.inputTokens,
      'gen_ai.usage.output_tokens': isKnown ? usage.outputTokens : undefined,
      'gen_ai.usage.cache_read.input_tokens': isKnown ? usage.cachedInputTokens : undefined,
    },
  };
}

function namesOf({ id, orgId, keyId, tier }: InferenceEntry, delivery: number): SpanAttributes {
  return {
    'docket.request_id': id,
    'docket.org_id': orgId,
    'docket.key_id': keyId,
    'docket.tier': tier,
    'docket.delivery': delivery,
  };
}

/** Who computes, as far as it is known: an address of one's own is no provider, and is named by what it speaks. */
function providerOf({ adapter, provider = '', baseUrl }: Endpoint): SpanAttributes {
  const { hostname } = new URL(baseUrl);
  const known = PROVIDERS.find(([host]) => hostname === host || hostname.endsWith(`.${host}`));
  return { 'gen_ai.provider.name': NATIVE[provider] ?? known?.[1] ?? adapter };
}

function addressOf({ baseUrl }: Endpoint): SpanAttributes {
  const { hostname, port, protocol } = new URL(baseUrl);
  const usual = protocol === 'https:' ? 443 : 80;
  return { 'server.address': hostname, 'server.port': port === '' ? usual : Number(port) };
}
