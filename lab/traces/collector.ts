import { execFile, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { stringify } from 'yaml';
import { readEnvironment } from '#shared/config/config.ts';
import { NotToBeHad } from '#lab/upstreams/cache.ts';

const run = promisify(execFile);

export const COLLECTOR_VERSION = '0.150.0';
/** The version of the parts that its configuration is read by, of the same release. */
const PROVIDER_VERSION = '1.56.0';
const READY_MS = 30_000;
const LOOK_MS = 100;
const LOG_CHARS = 2_000;
const MODULE = 'go.opentelemetry.io/collector';

/**
 * The program of the OpenTelemetry Collector, which Go builds when it is not there: OTLP in, and every span in its log.
 * @throws NotToBeHad without Go, or when it cannot be built
 */
export async function installCollector(
  cache: string,
  say: (line: string) => void,
): Promise<string> {
  const program = join(cache, `otelcol-${COLLECTOR_VERSION}`);
  if (existsSync(program)) return program;
  const [goPath, goCache] = [join(cache, 'go'), join(cache, 'gocache')];
  const env = {
    ...readEnvironment(),
    GOPATH: goPath,
    GOBIN: cache,
    GOCACHE: goCache,
    GOFLAGS: '-p=2 -modcacherw',
    CGO_ENABLED: '0',
  };
  await run('go', ['version'], { env }).catch(() => {
    throw new NotToBeHad('there is no Go');
  });
  say(
    `building the OpenTelemetry Collector ${COLLECTOR_VERSION} with Go in ${cache}: some two minutes`,
  );
  await mkdir(cache, { recursive: true });
  const built = join(cache, 'out');
  const manifest = {
    dist: { name: 'otelcol', output_path: built, module: 'example.test/otelcol' },
    receivers: [{ gomod: `${MODULE}/receiver/otlpreceiver v${COLLECTOR_VERSION}` }],
    exporters: [{ gomod: `${MODULE}/exporter/debugexporter v${COLLECTOR_VERSION}` }],
    // The second is what every collector resolves its variables with, and none starts without it.
    providers: ['fileprovider', 'envprovider'].map((name) => ({
      gomod: `${MODULE}/confmap/provider/${name} v${PROVIDER_VERSION}`,
    })),
  };
  await writeFile(join(cache, 'manifest.yaml'), stringify(manifest));
  const nice = (...command: string[]) => run('nice', ['-n', '10', ...command], { cwd: cache, env });
  try {
    await nice('go', 'install', `${MODULE}/cmd/builder@v${COLLECTOR_VERSION}`);
    await nice(join(cache, 'builder'), '--config', 'manifest.yaml');
  } catch (error) {
    const { stderr = String(error) } = error as { stderr?: string };
    throw new NotToBeHad(`Go could not build it: ${stderr.slice(-LOG_CHARS)}`);
  }
  await rename(join(built, 'otelcol'), program);
  // Gigabytes that nothing is built of again.
  for (const folder of [built, goPath, goCache]) await rm(folder, { recursive: true, force: true });
  return program;
}

/** A collector that writes each span that it gets into its log. */
export class RealCollector {
  readonly origin: string;
  readonly #process: ReturnType<typeof spawn>;
  readonly #log: string;
  readonly #port: number;

  static async start(program: string, scratch: string, port: number): Promise<RealCollector> {
    const endpoint = `127.0.0.1:${port}`;
    const pipeline = { receivers: ['otlp'], exporters: ['debug'] };
    const configuration = {
      receivers: { otlp: { protocols: { http: { endpoint } } } },
      exporters: { debug: { verbosity: 'detailed', sampling_initial: 10_000 } },
      service: { pipelines: { traces: pipeline }, telemetry: { metrics: { level: 'none' } } },
    };
    await writeFile(join(scratch, 'collector.yaml'), stringify(configuration));
    const collector = new RealCollector(program, scratch, port);
    await collector.#untilReady();
    return collector;
  }

  private constructor(program: string, scratch: string, port: number) {
    this.origin = `http://127.0.0.1:${port}`;
    this.#port = port;
    this.#log = join(scratch, 'collector.log');
    const output = openSync(this.#log, 'a');
    this.#process = spawn(program, ['--config', 'collector.yaml'], {
      cwd: scratch,
      env: { HOME: scratch },
      stdio: ['ignore', output, output],
    });
    closeSync(output);
  }

  /** Everything that it has written. */
  get log(): string {
    return readFileSync(this.#log, 'utf8');
  }

  stop(): void {
    this.#process.kill('SIGKILL');
  }

  async #untilReady(): Promise<void> {
    const end = Date.now() + READY_MS;
    while (!(await listens(this.#port))) {
      if (this.#process.exitCode !== null || Date.now() > end) {
        this.stop();
        throw new Error(`the collector did not come up:\n${this.log.slice(-LOG_CHARS)}`);
      }
      await delay(LOOK_MS);
    }
  }
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
