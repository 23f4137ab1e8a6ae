import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { claimPort } from '#embedded/ports.ts';
import { readArguments } from '#lab/support/arguments.ts';
import { Instance } from '#lab/storms/instance.ts';
import { inUserCache, NotToBeHad } from '#lab/upstreams/cache.ts';
import { COLLECTOR_VERSION, installCollector, RealCollector } from './collector.ts';

/** What the requests below leave, each in a trace of its own. */
const REQUESTS = [
  { what: 'whole', body: {}, spans: 6 },
  { what: 'streamed', body: { stream: true }, spans: 6 },
  { what: 'failed once', body: { sandbox_fault: 'id=lab; fail-first=1; status=500' }, spans: 7 },
] as const;
/** Spans are sent once a second; a busy machine takes longer. */
const ARRIVE_MS = 30_000;
const LOOK_MS = 250;

const USAGE = `npm run traces -- [--cache DIRECTORY]

Starts a real OpenTelemetry Collector ${COLLECTOR_VERSION} and the product, sends a request, a stream and a request whose
upstream fails once, and prints each trace as the collector has it. The collector is built by Go once, into a directory
outside of the tree; without Go that is said and nothing is tried. Exit code 0: every span has come, and belongs to one
that has come, or nothing was tried; 1: one does not; 2: wrong arguments.

--cache    where the collector is kept; default: docket/traces in the user's cache directory
`;

interface SeenSpan {
  trace: string;
  parent: string;
  id: string;
  name: string;
}

const CALLER = 'b7ad6b7169203331';

const { values } = readArguments(USAGE, { options: { cache: { type: 'string' } } });
const say = (line: string): void => void process.stdout.write(`${line}\n`);
try {
  const program = await installCollector(values.cache ?? inUserCache('traces'), say);
  process.exitCode = (await tryTraces(program)) ? 0 : 1;
} catch (error) {
  if (!(error instanceof NotToBeHad)) throw error;
  say(`skipped, nothing was tried: ${error.message}`);
}

async function tryTraces(program: string): Promise<boolean> {
  const scratch = await mkdtemp(join(tmpdir(), 'docket-traces-'));
  let [collector, instance]: [RealCollector?, Instance?] = [];
  try {
    collector = await RealCollector.start(program, scratch, await claimPort('127.0.0.1', 0));
    instance = await Instance.start({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin } });
    let areWhole = true;
    for (const { what, body, spans } of REQUESTS) {
      const trace = await ask(instance, body);
      const end = Date.now() + ARRIVE_MS;
      const find = () => spansIn(collector!.log).filter((span) => span.trace === trace);
      while (find().length < spans && Date.now() < end) await delay(LOOK_MS);
      const seen = find();
      const isWhole = seen.length === spans && countOfTree(seen, '') === spans;
      areWhole &&= isWhole;
      say(`${what}: ${isWhole ? 'one tree' : 'NOT one tree'} of ${seen.length} spans, ${trace}`);
      tell(seen, '', '  ');
    }
    return areWhole;
  } finally {
    await instance?.remove();
    collector?.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Sends a request within a trace of the caller's, whose span no collector has. Returns the trace. */
async function ask({ info }: Instance, more: object): Promise<string> {
  const trace = crypto.randomUUID().replaceAll('-', '');
  const messages = [{ role: 'user', content: 'Tell me about the lighthouse.' }];
  const response = await fetch(`${info.base_url}/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${info.api_key}`,
      'content-type': 'application/json',
      traceparent: `00-${trace}-${CALLER}-01`,
    },
    body: JSON.stringify({ model: 'llama-3.1-8b', messages, max_tokens: 8, ...more }),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the request failed: ${text}`);
  return trace;
}

/** The spans that a collector has written. */
function spansIn(log: string): SeenSpan[] {
  return log.split(/^Span #\d+$/m).flatMap((text) => {
    const of = (field: string): string =>
      new RegExp(`^\\s*${field}\\s*: (.*)$`, 'm').exec(text)?.[1]?.trim() ?? '';
    const parent = of('Parent ID').replace(CALLER, '');
    const name = of('Name');
    return name === '' ? [] : [{ trace: of('Trace ID'), parent, id: of('ID'), name }];
  });
}

function countOfTree(spans: readonly SeenSpan[], root: string): number {
  const below = spans.filter(({ parent }) => parent === root);
  return below.reduce((count, { id }) => count + 1 + countOfTree(spans, id), 0);
}

function tell(spans: readonly SeenSpan[], root: string, indent: string): void {
  for (const { id, name } of spans.filter(({ parent }) => parent === root)) {
    say(`${indent}${name}`);
    tell(spans, id, `${indent}  `);
  }
}
