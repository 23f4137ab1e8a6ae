/**
 * `npm run image`: builds the image and runs every process of it in a container of its own, confined as compose.yaml does;
 * asks for one chat completion, verifies its receipt in a container, and stops them.
 */
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ROLES } from '#shared/config/settings.ts';
import { claimPort } from '#embedded/ports.ts';
import { startEmbeddedPostgres } from '#embedded/stores/postgres.ts';
import { startRedisServer } from '#embedded/stores/redis.ts';
import { buildImage } from './build.ts';
import { Container, once } from './containers.ts';
import { missing } from './tools.ts';

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
const exportsFolder = join(scratch, 'exports');
await mkdir(exportsFolder);
await chown(exportsFolder, USER, USER);

const postgres = await startEmbeddedPostgres({
  dataDir: join(scratch, 'postgres'),
  durable: false,
});
const all = [`${secrets}:/secrets`];
// The stores are this machine's, not containers: their ports are known once they run, and Redis wants its password before.
await once(['prepare', 'secrets', '/secrets'], { volumes: all });
const password = (await readFile(join(secrets, 'redis/password'), 'utf8')).trim();
const redis = await startRedisServer({ dataDir: join(scratch, 'redis'), password });
const hosts = ['--postgres', new URL(postgres.url).host, '--redis', new URL(redis.url).host];
await once(['prepare', 'secrets', '/secrets', ...hosts], { volumes: all });
await writeFile(join(secrets, 'owner/database-url'), postgres.url);

const free = (): Promise<number> => claimPort('127.0.0.1', 0);
const [apiPort, sandboxPort] = [await free(), await free()];
const metricsPorts = new Map<string, number>();
for (const role of ROLES) metricsPorts.set(role, await free());
const root = `http://127.0.0.1:${apiPort}`;
const common = {
  DATABASE_URL_FILE: '/secrets/own/database-url',
  REDIS_URL_FILE: '/secrets/own/redis-url',
  SIGNING_KEYS_DIR: '/secrets/signing-keys',
  LANE_KEYS_DIR: '/secrets/lane-keys',
  PUBLIC_URL: root,
  SUPPORT_EMAIL: 'support@docket.example',
  SANDBOX_URL: `http://127.0.0.1:${sandboxPort}/v1`,
  HOST: '127.0.0.1',
};
const owner = { DATABASE_URL_FILE: '/secrets/owner/database-url' };
const containers: Container[] = [];
try {
  say((await once(['prepare', 'database', '/secrets'], { env: owner, volumes: all })).slice(0, 60));
  const sandboxEnv = { HOST: '127.0.0.1', PORT: String(sandboxPort) };
  containers.push(await Container.start('sandbox', ['run', 'sandbox'], { env: sandboxEnv }));
  for (const role of ROLES) {
    const env = {
      ...common,
      PORT: String(apiPort),
      METRICS_PORT: String(metricsPorts.get(role)),
      ...(role === 'api' ? { SESSION_SECRET_FILE: '/secrets/own/session-secret' } : {}),
    };
    // Each has its own folder and the keys, and nothing of the others.
    const volumes = [
      `${secrets}/${role}:/secrets/own:ro`,
      `${secrets}/signing-keys:/secrets/signing-keys:ro`,
      `${secrets}/lane-keys:/secrets/lane-keys:ro`,
      `${exportsFolder}:/data/exports`,
    ];
    containers.push(await Container.start(role, ['run', role], { env, volumes }));
  }
  for (const [role, port] of metricsPorts) {
    check(await isReady(`http://127.0.0.1:${port}/readyz`), `${role} is ready`);
  }
  const api = containers.find(({ name }) => name === 'api')!;
  const status = await api.inside(
    `console.log(require('fs').readFileSync('/proc/1/status', 'utf8'))`,
  );
  check(status.includes(`Uid:\t${USER}\t`), `runs as user ${USER}`);
  check(/CapEff:\t0+\n/.test(status), 'has no capabilities');
  const written = await api.inside(
    `try { require('fs').writeFileSync('/app/x', '') } catch ({ code }) { console.log(code) }`,
  );
  check(written === 'EROFS', 'cannot write to its own files');

  const key = await once(['prepare', 'demo', '/secrets'], { env: owner, volumes: all });
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
  const verdict = await once(['verify', '/in/answer.json', '--trust', '/in/did.json'], {
    volumes: ['answer.json', 'did.json'].map((name) => `${scratch}/${name}:/in/${name}:ro`),
  });
  check(verdict.startsWith('GOOD'), verdict.split('\n')[0]!);

  for (const container of containers.toReversed()) {
    const { exitCode, seconds } = await container.stop();
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

async function isReady(url: string): Promise<boolean> {
  const end = Date.now() + READY_MS;
  while (Date.now() < end) {
    const ok = await fetch(url).then(
      (reply) => reply.ok,
      () => false,
    );
    if (ok) return true;
    await delay(LOOK_MS);
  }
  return false;
}
