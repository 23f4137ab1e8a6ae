import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { childEnvironment } from '#test/support/child-environment.ts';
import { type Bench, CHECKS, type Found, ONE, TWO } from './checks.ts';
import { Gateway } from './gateway.ts';
import type { ModelServer } from './server-process.ts';
import type { ServerKind } from './servers.ts';

const KEY = 'UPSTREAM_API_KEY';
const DOCKET = join(import.meta.dirname, '../../cli/docket.ts');
/** Silence of these servers, which answer a model of noise on a machine that does much else. */
const TIMEOUT_MS = 60_000;

export interface ServerReport {
  kind: ServerKind;
  /** The catalogue's lines about the endpoint and its model, as an operator would write them. */
  yaml: string;
  found: Record<string, Found>;
}

/** The lines of a catalogue for a server, its model under the name that it has there. */
function endpointLines(kind: ServerKind, name: string, baseUrl: string): string {
  const key = kind.apiKey === undefined ? '' : `\n    api_key_env: ${KEY}`;
  return `  - name: ${name}
    adapter: openai-compatible
    base_url: ${baseUrl}${key}
    regions: [here]
    timeout_ms: ${TIMEOUT_MS}`;
}

function modelLines(id: string, endpoints: readonly (readonly [string, string])[]): string {
  return `  - id: ${id}
    kinds: [chat, completion, embedding]
    context_window: 1024
    max_n: 8
    endpoints: [${endpoints.map(([name, model]) => `{ name: ${name}, model: ${model} }`).join(', ')}]
    footprint: { active_b: 0.01 }`;
}

/** Runs every check against a server, through the gateway; returns what was found. */
export async function runThroughDocket(
  servers: Omit<Bench, 'gateway'>,
  scratch: string,
  say: (line: string) => void,
): Promise<ServerReport> {
  const { first, second } = servers;
  const { kind } = first;
  const file = join(scratch, `${kind.name}.yaml`);
  await writeFile(file, catalogueOf(first, second));
  const probe = await probed(file, kind);
  say(line('docket catalogue check --probe', probe));
  const found: Record<string, Found> = { '`docket catalogue check --probe`': probe };
  const gateway = await Gateway.start(
    file,
    kind.apiKey === undefined ? {} : { [KEY]: kind.apiKey },
  );
  try {
    for (const [name, check] of Object.entries(CHECKS)) {
      found[name] = await check({ gateway, ...servers }).catch((error: unknown) => ({
        verdict: 'broken' as const,
        words: String(error),
      }));
      say(line(name, found[name]));
    }
  } finally {
    await writeFile(join(scratch, `${kind.name}.gateway.log`), gateway.log);
    await gateway.stop();
  }
  const yaml = [
    'endpoints:',
    endpointLines(kind, kind.name, `http://127.0.0.1:8000/v1`),
    'models:',
    modelLines(ONE, [[kind.name, kind.model('/models')]]),
  ].join('\n');
  return { kind, yaml, found };
}

function catalogueOf(first: ModelServer, second: ModelServer): string {
  return `version: 1
regions: [{ code: here, zone: FRA }]
endpoints:
${endpointLines(first.kind, 'first', first.baseUrl)}
${endpointLines(second.kind, 'second', second.baseUrl)}
models:
${modelLines(ONE, [['first', first.model]])}
${modelLines(TWO, [
  ['first', first.model],
  ['second', second.model],
])}
`;
}

/** What `docket catalogue check --probe` says of it. */
function probed(file: string, { apiKey }: ServerKind): Promise<Found> {
  const env = { ...childEnvironment(), ...(apiKey === undefined ? {} : { [KEY]: apiKey }) };
  const args = [DOCKET, 'catalogue', 'check', file, '--json', '--endpoint', 'first'];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env }, (error, stdout) => {
      const { probes } = JSON.parse(stdout) as {
        probes: {
          overflow: string;
          usage_in_streams: boolean;
          problems: string[];
          warnings: string[];
        }[];
      };
      const { overflow, usage_in_streams: usage, problems, warnings } = probes[0]!;
      const lines = [...problems, ...warnings].map((one) =>
        one.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:8000'),
      );
      const words = [
        `usage in streams: ${usage ? 'yes' : 'no'}`,
        `a long prompt: ${overflow}`,
        ...lines,
      ];
      resolve({ verdict: error === null ? 'works' : 'broken', words: words.join('; ') });
    });
  });
}

function line(name: string, { verdict, words }: Found): string {
  return `  ${name.padEnd(30)} ${verdict.padEnd(8)} ${words}`;
}
