import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalServer } from './local-server.ts';
import { until } from './until.ts';

/** A span as a collector gets it. */
export interface SentSpan {
  traceId: string;
  spanId: string;
  /** Absent of one that begins a trace. */
  parentSpanId?: string;
  traceState?: string;
  name: string;
  /** As OTLP numbers them: 1 internal, 2 server, 3 client, 5 consumer. */
  kind: number;
  startedAtNs: bigint;
  endedAtNs: bigint;
  attributes: Record<string, unknown>;
  /** Span ids. */
  links: string[];
  /** It counts as an error. */
  isError: boolean;
  /** `docket-api`, … */
  service: unknown;
}

interface Value {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
}
type Listed = readonly { key: string; value: Value }[];
interface Sent {
  resourceSpans: {
    resource: { attributes: Listed };
    scopeSpans: {
      spans: (Pick<
        SentSpan,
        'traceId' | 'spanId' | 'parentSpanId' | 'traceState' | 'name' | 'kind'
      > & {
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes: Listed;
        links?: { spanId: string }[];
        status: { code: number };
      })[];
    }[];
  }[];
}

/** An OpenTelemetry collector that keeps what it gets by OTLP/HTTP, and behaves as a test tells it. */
export class Collector extends LocalServer {
  /** Bodies as they came. */
  readonly bodies: string[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  readonly paths: string[] = [];
  /** `hang`: it takes what is sent and answers nothing. A number: with this status. */
  behaviour: 'take' | 'hang' | number = 'take';
  readonly #hanging: ServerResponse[] = [];

  protected override serve(request: IncomingMessage, response: ServerResponse): void {
    const { behaviour } = this;
    const pieces: Buffer[] = [];
    this.headers.push(request.headers);
    this.paths.push(request.url ?? '');
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      if (behaviour === 'hang') {
        this.#hanging.push(response);
        return;
      }
      if (behaviour === 'take') this.bodies.push(Buffer.concat(pieces).toString());
      const status = behaviour === 'take' ? 200 : behaviour;
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  }

  /** How many exports have come that it does not answer. */
  get hanging(): number {
    return this.#hanging.length;
  }

  get spans(): SentSpan[] {
    return this.bodies.flatMap((body) =>
      (JSON.parse(body) as Sent).resourceSpans.flatMap(({ resource, scopeSpans }) =>
        scopeSpans.flatMap(({ spans }) =>
          spans.map(
            ({ startTimeUnixNano, endTimeUnixNano, attributes, links, status, ...span }) => ({
              ...span,
              startedAtNs: BigInt(startTimeUnixNano),
              endedAtNs: BigInt(endTimeUnixNano),
              attributes: read(attributes),
              links: (links ?? []).map(({ spanId }) => spanId),
              isError: status.code === 2,
              service: read(resource.attributes)['service.name'],
            }),
          ),
        ),
      ),
    );
  }

  /** The spans of a request, once there are as many as it leaves. */
  async spansOf(requestId: string, count: number): Promise<SentSpan[]> {
    const find = () => {
      const { spans } = this;
      const own = spans.find(({ attributes }) => attributes['docket.request_id'] === requestId);
      return spans.filter(({ traceId }) => traceId === own?.traceId);
    };
    await until(() => find().length >= count, `there are ${count} spans of ${requestId}`);
    return find();
  }
}

function read(attributes: Listed): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, boolValue, doubleValue, intValue } = value;
      return [key, stringValue ?? boolValue ?? doubleValue ?? Number(intValue)];
    }),
  );
}

/** Each span under that which it belongs to, by name: `POST /v1/x > run > upstream`. Throws where one belongs to none that was sent. */
export function pathsOf(spans: readonly SentSpan[], outside?: string): string[] {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const pathOf = ({ name, parentSpanId = '' }: SentSpan): string => {
    if (parentSpanId === '' || parentSpanId === outside) return name;
    const parent = byId.get(parentSpanId);
    if (parent === undefined) throw new Error(`${name} belongs to a span that was not sent`);
    return `${pathOf(parent)} > ${name}`;
  };
  return spans.map(pathOf).toSorted();
}
