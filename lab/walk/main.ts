import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { EXIT_CODES } from '#cli/exit-codes.ts';
import { claimPort } from '#embedded/ports.ts';
import { findPrograms } from '#lab/monitoring/programs.ts';
import { Watchers } from '#lab/monitoring/watchers.ts';
import { findPgBouncer } from '#lab/pooler/pgbouncer.ts';
import { isThere, PROXIES } from '#lab/proxies/proxies.ts';
import { judge } from '#lab/storms/judge.ts';
import type { Attempt } from '#lab/storms/load.ts';
import { readArguments, refuseArguments } from '#lab/support/arguments.ts';
import { untilStopped } from '#lab/support/until-stopped.ts';
import { type Build, commitOf, oldestCommit, THIS_BUILD } from '#lab/upgrade/build.ts';
import { Callers } from '#lab/upgrade/called.ts';
import { findDebianPostgres } from './debian-postgres.ts';
import { type Place, Walk } from './ground.ts';

const REQUESTS = 5_000;
const SEED = 1;
const PROXY_HOST = '127.0.0.1';
/** Calls go on failing for so long after another server has the place of one, as docs/stores.md says. */
const AFTER_FAILOVER_MS = 2_000;
/** So long after the failover Prometheus looks on: longer than the alerts of requests that fail wait. */
const WATCHED_MS = 150_000;
const LOOK_MS = 1_000;
/** What may come of a failover of Redis, as docs/operations.md says under Monitoring. */
const EXPECTED: ReadonlySet<string> = new Set(['DocketStaleOutcomes']);
const OLDER = EXIT_CODES.fsck.behind.code;
const SHOWN_MAX = 5;

const USAGE = `npm run walk -- [--from COMMIT] [--requests N] [--postgres DIRECTORY]

Sets Docket up as docs/operations.md says, with the commands of that page: PostgreSQL of Debian with an owner who is no
superuser, a login for each process behind PgBouncer by transaction, Redis behind Sentinel with the documented user, two api
processes behind nginx, and Prometheus with the rules of ops/ and an Alertmanager. Under load it upgrades from COMMIT to this
tree and back, with a server of Redis killed in between, and at last it brings back the backup that was taken on the way,
alone and with all WAL. Exit code 0: no call failed but in the failover's seconds, no receipt is lost, doubled or of another
answer, no alert fired that a failover does not, and fsck found the backup alone less than what was published, and with all WAL sound; 1: something
else came; 2: wrong arguments; 3: a program is missing; 130: stopped. It takes some ten minutes on two cores.

  --from COMMIT   what is upgraded; the oldest that docs/compatibility.md names when absent
  --requests N    at least so many calls, spread over the steps; ${REQUESTS} when absent
  --postgres DIRECTORY   programs of PostgreSQL; of the oldest that Debian has installed when absent
  --help          this text
`;

const { values } = readArguments(USAGE, {
  options: {
    from: { type: 'string' },
    requests: { type: 'string', default: String(REQUESTS) },
    postgres: { type: 'string' },
  },
});
const requests = Number(values.requests);
if (!Number.isSafeInteger(requests) || requests < 1)
  refuseArguments('--requests is a whole number above zero.', USAGE);
const named = values.from ?? oldestCommit();
const from = named === undefined ? undefined : commitOf(named);
if (from === undefined) refuseArguments(`This repository has no commit ${named}.`, USAGE);

const beginAt = performance.now();
const say = (line: string): void => {
  const at = ((performance.now() - beginAt) / 1_000).toFixed(1).padStart(6);
  process.stdout.write(`${at}  ${line}\n`);
};
const nginx = PROXIES[0]!;
const programs = await findPrograms();
const postgres = values.postgres ?? (await findDebianPostgres());
const missing = [
  ['PostgreSQL', postgres === undefined],
  ['PgBouncer', (await findPgBouncer()) === undefined],
  ['nginx', !isThere(nginx.program)],
  ['Prometheus or Alertmanager', programs === undefined],
].flatMap(([name, isMissing]) => (isMissing === true ? [name] : []));
if (missing.length > 0 || programs === undefined || postgres === undefined) {
  say(
    `not here: ${missing.join(', ')}; apt-get install --no-install-recommends postgresql pgbouncer nginx prometheus prometheus-alertmanager`,
  );
  process.exit(3);
}

const { signal, stopped } = untilStopped();
const scratch = await mkdtemp(join(tmpdir(), 'docket-walk-'));
/** What is to be undone, in the order in which it was done. */
const undoing: (() => Promise<unknown>)[] = [];
/** Names of alerts, with when each was first seen. */
const fired = new Map<string, string>();
try {
  process.exitCode = await Promise.race([walk(from, postgres), stopped]);
} catch (error) {
  if (!signal.aborted) say(`BROKEN: ${(error as Error).message}`);
  process.exitCode = signal.aborted ? 130 : 1;
} finally {
  for (const undo of undoing.toReversed()) await undo();
  await rm(scratch, { recursive: true, force: true });
}
// What was given up goes on.
process.exit();

async function walk(commit: string, postgresPrograms: string): Promise<number> {
  const ground = await Walk.start(postgresPrograms, PROXY_HOST);
  undoing.push(() => ground.remove());
  say(ground.versions.join(', '));
  const old = await ground.unpack(commit);
  const apiKey = await ground.startAll(old);
  say(`${old.name} runs: ${ground.places.map(({ role }) => role).join(', ')}`);
  const ports = { own: await claimPort(PROXY_HOST, 0), api: ground.apiPort!, metrics: 0 };
  const proxy = nginx.start(scratch, ports);
  undoing.push(async () => {
    const ended = once(proxy, 'exit');
    proxy.kill('SIGTERM');
    await ended;
  });
  const targets = ground.places.map(({ host, metricsPort }) => `${host}:${metricsPort}`);
  const watchers = await Watchers.start(programs!, {
    scratch,
    targets: () => Promise.resolve(targets),
    factor: 1,
  });
  undoing.push(() => watchers.stop());
  const watching = new AbortController();
  undoing.push(async () => watching.abort());
  void watch(watchers, watching.signal);

  const baseUrl = `http://${PROXY_HOST}:${ports.own}/v1`;
  const callers = new Callers({ baseUrl, apiKey }, ground.directory, SEED);
  undoing.push(async () => callers.kill());
  const share = Math.ceil(requests / (ground.places.length * 2 + 2));
  await callers.more(share);
  const replaceAll = async (build: Build, places: readonly Place[]): Promise<void> => {
    for (const place of places) {
      const isBehind = place.role === 'api';
      if (isBehind) nginx.setAside!(proxy, scratch, ports, place.host);
      // Requests that it has go on; new ones no longer come.
      if (isBehind) await callers.more(share);
      await ground.replace(place, build);
      if (isBehind) nginx.setAside!(proxy, scratch, ports);
      say(`${place.role} is of ${build.name} now, after ${callers.calls} calls`);
      await callers.more(share);
    }
    await callers.repeat();
    say('calls were repeated with their keys');
  };
  ground.migrate(THIS_BUILD);
  say('migrated');
  await replaceAll(THIS_BUILD, ground.places);
  const { code, lines } = await ground.docket('doctor');
  for (const line of lines.filter((one) => /^[!✗]/.test(one))) say(`doctor: ${line}`);
  say(`docket doctor ended with ${code}`);

  await ground.backUp();
  say('a base backup is taken');
  const killedAt = Date.now();
  const killed = await ground.sentinel.killMaster();
  say(`the Redis on ${killed.port} is killed`);
  await ground.sentinel.untilReplaced(killed.port);
  const failover = { from: killedAt, to: Date.now() };
  say('another has its place');
  await killed.startAgain();
  await callers.more(share);
  await replaceAll(old, ground.places.toReversed());
  while (Date.now() < failover.to + WATCHED_MS) await callers.more(share);
  const attempts = await callers.end();
  say('every call has ended; judging');
  const verdict = await judge(ground, attempts, []);
  const failed = attempts.filter(({ ending }) => ending !== 'whole');
  const outside = failed.filter((one) => !isWithin(one, failover));
  const lastAt = Math.max(0, ...failed.map(({ endedAt }) => endedAt - killedAt));
  const { examples, lost, doubled, mismatched, sound } = verdict;
  for (const one of outside.slice(0, SHOWN_MAX)) {
    const { status, reason, startedAt } = one;
    examples.push(`failed: ${status} ${reason}, sent ${new Date(startedAt).toISOString()}`);
  }
  await watchers.stop();
  const checked = await ground.checkBackup();
  say(`docket backup --check: ${checked.code}, ${checked.lines.at(-1)}`);
  const alone = await ground.restore('none');
  say(`fsck of the backup alone: ${alone.code}, ${alone.lines.at(-1)}`);
  const whole = await ground.restore('all');
  say(`fsck of the backup with all WAL: ${whole.code}, ${whole.lines.at(-1)}`);
  for (const example of examples) say(example);
  for (const [name, at] of fired) say(`alert: ${name}, ${at}`);
  const figures = {
    calls: attempts.length,
    'failed in the failover': failed.length - outside.length,
    'last failure': `${(lastAt / 1_000).toFixed(1)} s after the server was killed`,
    'failed otherwise': outside.length,
    lost,
    doubled,
    mismatched,
    sound,
    alerts: fired.size,
    doctor: code,
    'backup, checked': checked.code,
    'backup alone': alone.code,
    'backup with all WAL': whole.code,
  };
  for (const [name, value] of Object.entries(figures)) say(`${name.padEnd(24)}${value}`);
  const alerts = [...fired.keys()].filter((name) => !EXPECTED.has(name)).length;
  const wrong = outside.length + lost + doubled + mismatched + alerts + code!;
  // Beside the service it lacks what was published since, if anything.
  const isRestorable = checked.code === 0 || checked.code === OLDER;
  return wrong === 0 && sound && isRestorable && alone.code === OLDER && whole.code === 0 ? 0 : 1;
}

function isWithin({ startedAt, endedAt }: Attempt, span: { from: number; to: number }): boolean {
  return startedAt <= span.to + AFTER_FAILOVER_MS && endedAt >= span.from;
}

/** Notes each alert that comes to Alertmanager. */
async function watch(watchers: Watchers, ending: AbortSignal): Promise<void> {
  while (!ending.aborted) {
    for (const { labels, annotations } of await watchers.alerts().catch(() => [])) {
      const name = labels['alertname'] ?? '';
      if (fired.has(name)) continue;
      fired.set(name, annotations['description'] ?? '');
      say(`ALERT ${name}: ${annotations['description']}`);
    }
    await delay(LOOK_MS);
  }
}
