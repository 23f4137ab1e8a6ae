import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { claimPort } from '#embedded/ports.ts';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { startRedisServer } from '#embedded/stores/redis.ts';
import { readArguments } from '#lab/support/arguments.ts';
import { buildImage } from './build.ts';
import { podmanFlags, readCompose } from './compose.ts';
import { Container, once } from './containers.ts';
import { missing } from './tools.ts';

const USAGE = `npm run image

Builds the image and starts what compose.yaml starts, in its order and as it says (command, environment, volumes,
confinement, health check, time to stop), each in a container of its own, but for the two stores, which are this machine's;
asks for one chat completion, verifies its receipt in a container, and stops them. Exit code 1 when something is not as it
should be.
`;
readArguments(USAGE, {});

/** Of the image without its base. */
const MEGABYTES_MAX = 350;
/** As the image says. */
const USER = 10_001;
const READY_MS = 120_000;
const LOOK_MS = 100;
/** SHUTDOWN_MS: within it a process ends by itself, and is not killed. */
const DRAIN_SECONDS = 25;

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const problems: string[] = [];
const check = (holds: boolean, what: string): void => {
  say(`${holds ? '✓' : '✗'} ${what}`);
  if (!holds) problems.push(what);
};

const absent = await missing(['buildah', 'podman', 'runc', 'mmdebstrap']);
if (absent.length > 0) {
  say(
    `skipped: ${absent.join(', ')} not installed (apt-get install buildah podman runc mmdebstrap)`,
  );
  process.exit(0);
}

const { base, image } = await buildImage(say);
const megabytes = Math.round((image - base) / 1e6);
check(megabytes < MEGABYTES_MAX, `${megabytes} MB without the base (${Math.round(base / 1e6)} MB)`);

const scratch = await mkdtemp(join(tmpdir(), 'docket-image-'));
await chmod(scratch, 0o711);
const secrets = join(scratch, 'secrets');
await mkdir(secrets, { mode: 0o700 });
await chown(secrets, USER, USER);
const [exports, mail] = [join(scratch, 'exports'), join(scratch, 'mail')];
for (const folder of [exports, mail]) {
  await mkdir(folder);
  await chown(folder, USER, USER);
}

const postgres = await startEmbeddedPostgres({
  dataDir: join(scratch, 'postgres'),
  durable: false,
});
// The stores are this machine's, not containers: their ports are known once they run, and Redis wants its password before.
const services = readCompose();
const free = (): Promise<number> => claimPort('127.0.0.1', 0);
const [apiPort, sandboxPort] = [await free(), await free()];
const root = `http://127.0.0.1:${apiPort}`;
const surroundings = {
  volumes: { secrets, exports, mail },
  shell: { PUBLIC_URL: root, SUPPORT_EMAIL: 'support@docket.example' },
};
/** What compose.yaml says of a service; all of them listen on one address here. */
const flagsOf = (name: string, env: Record<string, string> = {}): string[] =>
  podmanFlags(services.get(name)!, { ...surroundings, env });
const commandOf = (name: string): string[] => services.get(name)!.command!;

await once(commandOf('secrets'), flagsOf('secrets'));
const password = (await readFile(join(secrets, 'redis/password'), 'utf8')).trim();
const redis = await startRedisServer({ dataDir: join(scratch, 'redis'), password });
const hosts = ['--postgres', new URL(postgres.url).host, '--redis', new URL(redis.url).host];
await once([...commandOf('secrets'), ...hosts], flagsOf('secrets'));
await writeFile(join(secrets, 'owner/database-url'), postgres.url);

const containers: Container[] = [];
try {
  for (const [name, service] of services) {
    if (service.image !== 'docket' || service.profiles !== undefined || name === 'secrets')
      continue;
    if (service.restart === 'no') {
      say((await once(commandOf(name), flagsOf(name))).slice(0, 60));
      continue;
    }
    const metricsPort = await free();
    const flags = flagsOf(name, {
      HOST: '127.0.0.1',
      PORT: String(name === 'sandbox' ? sandboxPort : apiPort),
      METRICS_PORT: String(metricsPort),
      SANDBOX_URL: `http://127.0.0.1:${sandboxPort}/v1`,
    });
    const container = await Container.start(name, commandOf(name), flags);
    containers.push(container);
    const [, ...ask] = service.healthcheck!.test.map((word) =>
      word.replace(':9464/', `:${metricsPort}/`).replace(':9090/', `:${sandboxPort}/`),
    );
    check(await isHealthy(container, ask), `${name} is healthy, as compose.yaml asks it`);
  }
  const api = containers.find(({ name }) => name === 'api')!;
  const status = await api.inside('cat', '/proc/1/status');
  check(status.includes(`Uid:\t${USER}\t`), `runs as user ${USER}`);
  check(/CapEff:\t0+\n/.test(status), 'has no capabilities');
  check(/NoNewPrivs:\t1\n/.test(status), 'can gain none');
  const written = await api.inside(
    'node',
    '-e',
    `try { require('fs').writeFileSync('/app/x', '') } catch ({ code }) { console.log(code) }`,
  );
  check(written === 'EROFS', 'cannot write to its own files');

  const key = await once(commandOf('demo'), flagsOf('demo'));
  const response = await fetch(`${root}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'llama-3.1-8b',
      messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
    }),
  });
  const answer = await response.text();
  check(response.ok, `a chat completion is answered: ${answer.slice(0, 100)}`);
  const did = await (await fetch(`${root}/.well-known/did.json`)).text();
  await writeFile(join(scratch, 'answer.json'), answer);
  await writeFile(join(scratch, 'did.json'), did);
  const verdict = await once(
    ['verify', '/in/answer.json', '--trust', '/in/did.json'],
    [
      ...flagsOf('operator'),
      ...['answer.json', 'did.json'].map((name) => `--volume=${scratch}/${name}:/in/${name}:ro`),
    ],
  );
  check(verdict.startsWith('GOOD'), verdict.split('\n')[0]!);
  const fsck = await once(['ledger', 'fsck'], flagsOf('operator'));
  check(fsck.startsWith('The ledger is sound'), `operator: ${fsck}`);

  for (const container of containers.toReversed()) {
    const { stop_grace_period: grace = '10s' } = services.get(container.name)!;
    const { exitCode, seconds } = await container.stop(Number.parseInt(grace, 10));
    check(
      exitCode === 0 && seconds < DRAIN_SECONDS,
      `${container.name} ended with ${exitCode} after ${seconds.toFixed(1)} s`,
    );
  }
} finally {
  if (problems.length > 0)
    for (const container of containers) say(`--- ${container.name}\n${await container.logs()}`);
  for (const container of containers) await container.remove();
  await redis.stop();
  await postgres.stop();
  await rm(scratch, { recursive: true, force: true });
}
if (problems.length > 0) {
  say(`NOT as it should be: ${problems.join('; ')}`);
  process.exitCode = 1;
}

/** Whether the health check of compose.yaml says so, within the time that a start takes. */
async function isHealthy(container: Container, ask: readonly string[]): Promise<boolean> {
  const end = Date.now() + READY_MS;
  while (Date.now() < end) {
    const ok = await container.inside(...ask).then(
      () => true,
      () => false,
    );
    if (ok) return true;
    await delay(LOOK_MS);
  }
  return false;
}
