import {
  type CODES,
  codeOfParameter,
  codeRow,
  type DocumentedCode,
  type ErrorCode,
  type ErrorType,
} from './error-codes.ts';

/** Fields of a refusal beside its code. Each has a default in the row of the code. */
interface FaultDetails {
  /** Instead of the status of the code, where an interface has another for it. */
  status?: number | undefined;
  /** Instead of the message of the code. It must be safe to show. */
  message?: string | undefined;
  /** Names the invalid parameter: `messages[2].content`. */
  param?: string | undefined;
  /** How long the caller should wait, in milliseconds; sent as `retry-after` and `retry-after-ms`. */
  retryAfterMs?: number | undefined;
  /** For the log only; never leaves the service. */
  cause?: unknown;
  /** The request has a receipt all the same, or will have one. */
  hasReceipt?: boolean;
  /** Calls to upstreams that were made for the request, where its receipt counts them. */
  calls?: number;
  /** The items of a response that broke off, as far as they came. */
  output?: readonly unknown[] | undefined;
  /** All that its key asks before `retryAfterMs` is over is refused with the same. */
  holdsUntilThen?: boolean;
  /** Admission had no room for its request, and took nothing from any limit for it. */
  hadNoRoom?: boolean;
  /** Further answer headers that belong to this refusal (limits). */
  headers?: Readonly<Record<string, string>>;
}

type MessageOf<C> = C extends DocumentedCode
  ? (typeof CODES)[C] extends { message: infer M extends string }
    ? M
    : null
  : null;
type NamesIn<M> = M extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;
type ValuesOf<C> = Record<NamesIn<MessageOf<C>>, string | number>;
type Complete<C> =
  MessageOf<C> extends string
    ? [NamesIn<MessageOf<C>>] extends [never]
      ? [details?: FaultDetails]
      : [details: FaultDetails & ({ values: ValuesOf<C> } | { message: string })]
    : [details: FaultDetails & { message: string }];
/** A message whose row leaves nothing open may be left out; one with names in it takes their values. */
type DetailsOf<C extends ErrorCode> = [C] extends [`${string}_not_found`]
  ? [details?: FaultDetails]
  : Complete<C>;

/**
 * The one error that is meant for a caller: a stable code, and a message that is safe to show.
 * Anything else that is thrown is answered as a bare `internal_error`.
 */
export class Fault<C extends ErrorCode = ErrorCode> extends Error {
  readonly code: C;
  readonly status: number;
  readonly param: string | null;
  readonly retryAfterMs: number | undefined;
  readonly hasReceipt: boolean;
  readonly calls: number | undefined;
  readonly output: readonly unknown[] | undefined;
  /** All that its key asks before `retryAfterMs` is over is refused with the same. */
  readonly holdsUntilThen: boolean;
  /** Admission had no room for its request, and took nothing from any limit for it. */
  readonly hadNoRoom: boolean;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: C, ...[details = {}]: DetailsOf<C>) {
    const { message, values = {}, cause } = details as FaultDetails & { values?: Values };
    const row = codeRow(code);
    super(
      message ?? fillIn(row.message ?? '', values),
      cause === undefined ? undefined : { cause },
    );
    this.name = 'Fault';
    this.code = code;
    this.status = details.status ?? row.status;
    this.param = details.param ?? row.param ?? null;
    this.retryAfterMs = details.retryAfterMs ?? row.retryAfterMs;
    this.hasReceipt = details.hasReceipt ?? false;
    this.calls = details.calls;
    this.output = details.output;
    this.holdsUntilThen = details.holdsUntilThen ?? false;
    this.hadNoRoom = details.hadNoRoom ?? false;
    this.headers = details.headers ?? {};
  }

  get type(): ErrorType {
    return codeRow(this.code).type;
  }
}

type Values = Readonly<Record<string, string | number>>;

/** `No {what}.` with `{ what: 'way' }` is `No way.` */
export function fillIn(message: string, values: Values): string {
  return message.replaceAll(/\{(\w+)\}/g, (_, name: string) => String(values[name]));
}

/** A 400 by the contract's pattern: `invalid_<param>`, with the dotted path as `error.param`. */
export function invalidParam(param: string, message: string, path: string = param): Fault {
  return new Fault(codeOfParameter(param), { message, param: path });
}
