/** What a span says: names, ids, numbers. Never a text of a caller or of an upstream. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export interface SpanStart {
  /** `server` of a request of a caller, `client` of a call to an upstream, `consumer` of what a lane brought. */
  kind?: 'server' | 'client' | 'consumer';
  /** The span that it belongs to: of this process, or as a `traceparent` says it. Where that says nothing, it begins a trace. */
  parent?: Span | string | undefined;
  /** The caller's `tracestate`, beside its `traceparent`. */
  tracestate?: string | undefined;
  /** Others that it is about. */
  links?: readonly Span[];
  attributes?: SpanAttributes;
  /** Epoch milliseconds, where it began before now. */
  startedAt?: number;
  /** It is not recorded, and nor is what belongs to it, also where its parent is. */
  isUnrecorded?: boolean;
}

export interface SpanEnd {
  /** In place of the name that it began with. */
  name?: string;
  attributes?: SpanAttributes;
  /** What kind of failure it was: `error.type`. */
  errorType?: string | undefined;
  /** It is no failure of this service: it has an `error.type`, and no status that raises alarms. */
  isCallers?: boolean;
}

export interface Span {
  /** Where it stands, for what belongs to it in other processes. */
  readonly traceparent: string;
  /** Whether it is sent: of those that are not, nothing but where they stand is known. */
  readonly isRecorded: boolean;
  /** Ends it, once; what comes after that changes nothing. */
  end(end?: SpanEnd): void;
}

/**
 * Leaves spans at a collector. Processes without one have no `Traces`, and make nothing of this. Nothing here throws or
 * waits: a span that cannot be sent is lost, and no request.
 */
export interface Traces {
  begin(name: string, start?: SpanStart): Span;
  /** Sends what waits, for as long as one export may take. */
  stop(): Promise<void>;
}
