/** Traces as OpenTelemetry has them. Of the product this file alone loads its packages, and is itself loaded by who traces. */
import {
  type Attributes,
  type Context,
  createContextKey,
  createTraceState,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SamplingDecision,
  type Span as OtelSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { TRACES_SAMPLERS } from '#shared/config/settings.ts';
import { readTraceparent, writeTraceparent } from '#shared/kernel/traceparent.ts';
import type { Span, SpanAttributes, SpanEnd, SpanStart, Traces } from './traces.ts';

export interface OtlpOptions {
  /** The collector's address; `/v1/traces` is below it. */
  endpoint: string;
  headers: Record<string, string>;
  sampler: (typeof TRACES_SAMPLERS)[number];
  share: number;
  /** What is said of this process with every span. */
  resource: SpanAttributes;
  /** Told of spans that are lost, and why. */
  onUnsent: (spans: number, reason: string) => void;
}

/** Spans that wait in memory, some two kilobytes each: what a busy process has in two seconds. Those beyond are lost. */
const WAITING_MAX = 2_048;
/** Spans of one export: a body of a few hundred kilobytes. */
const BATCH_MAX = 512;
/** A trace is looked at seconds later; until then a batch fills. */
const BATCH_MS = 1_000;
/** A collector that takes longer is one that is away. Within the 3 s in which a process that ends closes what it has open. */
const EXPORT_MS = 2_500;
/** Exports on the way: one, and those that the end of the process sends all at once. */
const EXPORTS_MAX = 1 + Math.ceil(WAITING_MAX / BATCH_MAX);
/** Ids and names are shorter; of a name that an upstream made up, this much is kept. */
const VALUE_CHARS_MAX = 256;

/** How an exporter says that all went well. */
const SENT = 0;

/** In the context of what is not to be recorded. */
const IS_UNRECORDED = createContextKey('docket unrecorded');

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
} as const;

/** Sends spans to a collector by OTLP/HTTP, in batches, beside what the process does. */
export class OtlpTraces implements Traces {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;

  constructor({ endpoint, headers, sampler, share, resource, onUnsent }: OtlpOptions) {
    tellOfDropped(onUnsent);
    const exporter = new OTLPTraceExporter({
      url: `${endpoint}/v1/traces`,
      headers,
      timeoutMillis: EXPORT_MS,
      concurrencyLimit: EXPORTS_MAX,
    });
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes(resource),
      sampler: unlessUnrecorded(samplerOf(sampler, share)),
      spanLimits: { attributeValueLengthLimit: VALUE_CHARS_MAX },
      spanProcessors: [
        new BatchSpanProcessor({
          exporter: withoutFailures(exporter, onUnsent),
          maxQueueSize: WAITING_MAX,
          maxExportBatchSize: BATCH_MAX,
          scheduledDelayMillis: BATCH_MS,
          exportTimeoutMillis: 2 * EXPORT_MS,
        }),
      ],
    });
    this.#tracer = this.#provider.getTracer('docket');
  }

  begin(name: string, start: SpanStart = {}): Span {
    const { kind, parent, tracestate, links = [], attributes, startedAt, isUnrecorded } = start;
    const context = contextOf(parent, tracestate);
    const span = this.#tracer.startSpan(
      name,
      {
        kind: kind === undefined ? SpanKind.INTERNAL : KINDS[kind],
        links: links.map((link) => ({ context: placeOf(link)! })),
        ...(attributes === undefined ? {} : { attributes: given(attributes) }),
        ...(startedAt === undefined ? {} : { startTime: startedAt }),
      },
      isUnrecorded === true ? context.setValue(IS_UNRECORDED, true) : context,
    );
    return new OpenSpan(span);
  }

  async stop(): Promise<void> {
    await this.#provider.shutdown();
  }
}

class OpenSpan implements Span {
  readonly #span: OtelSpan;

  constructor(span: OtelSpan) {
    this.#span = span;
  }

  get place(): SpanContext {
    return this.#span.spanContext();
  }

  get traceparent(): string {
    const { traceId, spanId } = this.place;
    return writeTraceparent({ traceId, spanId, isSampled: this.isRecorded });
  }

  get isRecorded(): boolean {
    return (this.place.traceFlags & TraceFlags.SAMPLED) !== 0;
  }

  end({ name, attributes, errorType, isCallers = false }: SpanEnd = {}): void {
    if (!this.#span.isRecording()) return;
    if (name !== undefined) this.#span.updateName(name);
    if (attributes !== undefined) this.#span.setAttributes(given(attributes));
    if (errorType !== undefined) {
      this.#span.setAttribute('error.type', errorType);
      if (!isCallers) this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

function samplerOf(name: OtlpOptions['sampler'], share: number): Sampler {
  const [, parentBased, kind] = /^(parentbased_)?(.*)$/.exec(name)!;
  const shares: Record<string, number> = { always_on: 1, always_off: 0 };
  const root = new TraceIdRatioBasedSampler(shares[kind!] ?? share);
  return parentBased === undefined ? root : new ParentBasedSampler({ root });
}

function unlessUnrecorded(sampler: Sampler): Sampler {
  return {
    shouldSample: (context, ...asked) =>
      context.getValue(IS_UNRECORDED) === true
        ? { decision: SamplingDecision.NOT_RECORD }
        : sampler.shouldSample(context, ...asked),
    toString: () => sampler.toString(),
  };
}

function contextOf(parent: Span | string | undefined, tracestate: string | undefined): Context {
  const place = placeOf(parent);
  if (place === undefined) return ROOT_CONTEXT;
  // A state without its parent says nothing; of one that is malformed nothing is kept.
  const state =
    tracestate === undefined ? place : { ...place, traceState: createTraceState(tracestate) };
  return trace.setSpanContext(ROOT_CONTEXT, state);
}

function placeOf(parent: Span | string | undefined): SpanContext | undefined {
  if (parent instanceof OpenSpan) return parent.place;
  const place = readTraceparent(typeof parent === 'string' ? parent : parent?.traceparent);
  if (place === undefined) return undefined;
  const { traceId, spanId, isSampled } = place;
  const traceFlags = isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return { traceId, spanId, traceFlags, isRemote: true };
}

function given(attributes: SpanAttributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/**
 * An exporter that always ends, in time, and never in a failure: what failed is told here, once, and not what a collector
 * has answered.
 */
function withoutFailures(
  exporter: OTLPTraceExporter,
  onUnsent: OtlpOptions['onUnsent'],
): SpanExporter {
  return {
    export(spans, done) {
      let isOver = false;
      const end = (reason?: string): void => {
        if (isOver) return;
        isOver = true;
        clearTimeout(late);
        if (reason !== undefined) onUnsent(spans.length, reason);
        done({ code: SENT });
      };
      const late = setTimeout(() => end('The collector has not answered in time'), EXPORT_MS);
      exporter.export(spans, ({ error }) => end(error && reasonOf(error)));
    },
    shutdown: () => exporter.shutdown(),
  };
}

function reasonOf({ code, message }: Error & { code?: string | number }): string {
  if (typeof code === 'number') return `The collector has answered with HTTP ${code}`;
  return `The collector does not take them: ${code ?? message}`;
}

/** The batches say through nothing else that spans had no room. */
function tellOfDropped(onUnsent: OtlpOptions['onUnsent']): void {
  const ignore = (): void => {};
  const warn = (message: string): void => {
    const [, spans] = /^Dropped (\d+) spans/.exec(message) ?? [];
    if (spans !== undefined) onUnsent(Number(spans), 'The collector takes them too slowly');
  };
  diag.setLogger(
    { error: ignore, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}
