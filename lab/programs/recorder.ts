import {
  request as ask,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { isObject, type JsonObject } from '#shared/kernel/json-object.ts';
import { LocalServer } from '#test/support/local-server.ts';

/** A request as its program sent it, but for what is long or of one run. */
export interface Recorded {
  /** With its query. */
  path: string;
  body: JsonObject;
}

/** Texts that are longer are cut: of a prompt its beginning says enough, and the rest is its author's. */
const TEXT_CHARS_MAX = 40;
/** Folders of a run, and ids that each run makes anew. */
const OF_ONE_RUN: readonly (readonly [RegExp, string])[] = [
  [/\/tmp\/docket-program-\w+/g, '/home/me'],
  [
    /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g,
    '01999999-0000-7000-8000-000000000000',
  ],
  [/[0-9a-f]{64}/g, '0'.repeat(64)],
];

/** Stands before the product and passes everything on, noting what programs ask. */
export class Recorder extends LocalServer {
  readonly #target: string;
  readonly #recorded = new Map<string, Recorded[]>();
  readonly #before = new Map<string, () => Promise<unknown>>();
  readonly #refusals = new Map<string, number>();

  /** @param target the origin of the product */
  constructor(target: string) {
    super();
    this.#target = target;
  }

  /** Has something done before the next request with a key is passed on, once. */
  before(apiKey: string, what: () => Promise<unknown>): void {
    this.#before.set(apiKey, what);
  }

  /** How often the product said to a key that it is too much. */
  refusalsOf(apiKey: string): number {
    return this.#refusals.get(apiKey) ?? 0;
  }

  protected override serve(from: IncomingMessage, to: ServerResponse): void {
    const chunks: Buffer[] = [];
    from.on('data', (chunk: Buffer) => chunks.push(chunk));
    from.on('end', () => {
      this.#pass(from, Buffer.concat(chunks), to).catch(() => to.destroy());
    });
  }

  async #pass(from: IncomingMessage, body: Buffer, to: ServerResponse): Promise<void> {
    const { method, headers } = from;
    const key = keyOf(headers);
    if (method === 'POST') {
      this.#note(key, from.url!, body.toString());
      const first = this.#before.get(key);
      this.#before.delete(key);
      await first?.();
    }
    const on = ask(new URL(from.url!, this.#target), { method, headers });
    on.on('response', (answer) => {
      if (answer.statusCode === 429) this.#refusals.set(key, this.refusalsOf(key) + 1);
      to.writeHead(answer.statusCode!, answer.rawHeaders);
      answer.pipe(to);
    });
    on.on('error', () => to.destroy());
    on.end(body);
  }

  /** What was asked with a key, without what was asked before in the same words. */
  of(apiKey: string): Recorded[] {
    const seen = new Set<string>();
    return (this.#recorded.get(apiKey) ?? []).filter((one) => {
      const text = JSON.stringify(one);
      return !seen.has(text) && seen.add(text);
    });
  }

  #note(key: string, path: string, text: string): void {
    const before = this.#recorded.get(key) ?? [];
    try {
      const body = shortened(JSON.parse(text)) as JsonObject;
      this.#recorded.set(key, [...before, { path, body }]);
    } catch {
      // It is no JSON, and so nothing that the product would take.
    }
  }
}

const keyOf = ({ authorization, 'x-api-key': key }: IncomingHttpHeaders): string =>
  String(key ?? authorization).replace('Bearer ', '');

function shortened(value: unknown): unknown {
  if (typeof value === 'string') return shortText(value);
  if (Array.isArray(value)) return value.map(shortened);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortened(one)]));
}

function shortText(text: string): string {
  const general = OF_ONE_RUN.reduce((sum, [what, by]) => sum.replaceAll(what, by), text);
  return general.length > TEXT_CHARS_MAX ? `${general.slice(0, TEXT_CHARS_MAX)}…` : general;
}
