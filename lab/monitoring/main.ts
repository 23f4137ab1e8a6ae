import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readArguments, refuseArguments } from '#lab/support/arguments.ts';
import { untilStopped } from '#lab/support/until-stopped.ts';
import { Instance } from '#lab/storms/instance.ts';
import { Callers } from './callers.ts';
import { findPrograms, runPromtool } from './programs.ts';
import { type Trial, type TrialGround, TRIALS, withSizeless } from './trials.ts';
import { FILES, targetsOf, Watchers } from './watchers.ts';

const FACTOR = 20;
/**
 * The longest `for` is thirty minutes, the longest window of what has not happened seventy, and processes look at each other
 * once a minute: on a busy machine this is enough.
 */
const CAME_MS = 360_000;
const GONE_MS = 240_000;
/** Before anything is broken, and between two trials, nothing may fire for so long. */
const CALM_MS = 15_000;
const LOOK_MS = 250;

const USAGE = `npm run monitoring [-- --factor N] [--only TEXT]…

Checks and tests the rules of ops/prometheus with promtool. Then it starts the product, a Prometheus that scrapes it once
a second by the files of ops/, and an Alertmanager, breaks one thing after another, and sees the alerts come to
Alertmanager and go again once it is mended. Exit code 0: all came and went; 1: one did not, or another was there before
anything was broken; 2: wrong arguments; 3: a program is missing; 130: stopped. It takes some forty minutes on two cores.

--factor N   windows and \`for\` of the rules are shorter by this for the trial; default: ${FACTOR}. Thresholds stay.
--only TEXT  what is broken and has this in its name, or what an alert of this name comes of; again for several; everything when
             absent

DocketInferenceCrashed is for faults that are not known, and comes of nothing here. What is broken, and what has to come of it:
${TRIALS.map(({ broken, alerts }) => `  ${broken}: ${alerts.join(', ')}`).join('\n')}
`;

const { values } = readArguments(USAGE, {
  options: {
    factor: { type: 'string', default: String(FACTOR) },
    only: { type: 'string', multiple: true, default: [''] },
  },
});
const { only } = values;
const trials: readonly Trial[] = TRIALS.filter(({ broken, alerts }) =>
  only.some((text) => broken.includes(text) || alerts.includes(text)),
);
if (trials.length === 0)
  refuseArguments(`Nothing of it has ${only.join(', ')} in its name.`, USAGE);
const factor = Number(values.factor);
if (!(factor >= 1)) refuseArguments('--factor is a number of 1 or more.', USAGE);

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const programs = await findPrograms();
if (programs === undefined) {
  say(
    'There is no promtool, Prometheus or Alertmanager: apt-get install --no-install-recommends prometheus prometheus-alertmanager',
  );
  process.exit(3);
}
const { promtool } = programs;
await runPromtool(promtool, ['check', 'config', join(FILES, 'scrape.yml')]);
await runPromtool(promtool, ['check', 'rules', join(FILES, 'alerts.yml')]);
say('promtool check: the rules and the configuration are well-formed');
await runPromtool(promtool, ['test', 'rules', join(FILES, 'alerts.test.yml')]);
say('promtool test: each alert fires when it has to, and is silent when it has to be');

interface Seen {
  alert: string;
  broken: string;
  cameMs: number;
  goneMs: number;
  description: string;
}

const { signal, stopped } = untilStopped();
const scratch = mkdtempSync(join(tmpdir(), 'docket-monitoring-'));
const shipped = join(import.meta.dirname, '../../shared/catalogue/default.yaml');
const [first, copy] = [join(scratch, 'first.yaml'), join(scratch, 'catalogue.yaml')];
for (const path of [first, copy]) writeFileSync(path, withSizeless(readFileSync(shipped, 'utf8')));
const seen: Seen[] = [];
let instance: Instance | undefined;
let watchers: Watchers | undefined;
let callers: Callers | undefined;
try {
  instance = await Instance.start({
    env: {
      REPLICAS: 'api=1,inference=2,receipts=1,ledger=1',
      CATALOGUE: copy,
      PROVIDERS: 'none',
      // Answers that wait for a receipt that does not come are enough of them then.
      RECEIPT_WAIT_MS: '300',
      // Every worker has a request in hand at every moment.
      SANDBOX_TOKENS_PER_SECOND: '10',
    },
  });
  callers = new Callers(instance.info);
  const { dataDir } = instance;
  watchers = await Watchers.start(programs, {
    scratch,
    targets: () => targetsOf(dataDir),
    factor,
  });
  say(`windows and \`for\` of the rules are shorter by a factor of ${factor}`);
  await Promise.race([stopped, tryAll(watchers, { instance, catalogue: { first, copy } })]);
} catch (error) {
  if (!signal.aborted) throw error;
  process.exitCode = 130;
} finally {
  await callers?.leave();
  await watchers?.stop();
  await instance?.remove();
  rmSync(scratch, { recursive: true, force: true });
}
say(`\n${table()}`);
// What was begun goes on.
if (signal.aborted) process.exit();

async function tryAll(on: Watchers, ground: TrialGround): Promise<void> {
  await calm(on);
  say('nothing fires while all is well');
  for (const { broken, alerts, provoke } of trials) {
    say(`\n${broken}`);
    const brokenAt = Date.now();
    const mend = await provoke(ground);
    const came = await untilCame(on, alerts, brokenAt);
    const mendedAt = Date.now();
    await mend();
    for (const alert of alerts) {
      const { cameMs, description } = came.get(alert) ?? { cameMs: NaN, description: '' };
      const goneMs = came.has(alert) ? await untilGone(on, alert, mendedAt) : NaN;
      seen.push({ alert, broken, cameMs, goneMs, description });
      if (Number.isNaN(cameMs) || Number.isNaN(goneMs)) process.exitCode = 1;
    }
    await calm(on);
  }
}

/** Waits until all are asked and well, and then for a while in which nothing may fire. */
async function calm(on: Watchers): Promise<void> {
  const end = Date.now() + GONE_MS;
  let since = Date.now();
  while (Date.now() - since < CALM_MS) {
    const [targets, alerts] = await Promise.all([on.targets(), on.alerts()]);
    const isWell = targets.length > 0 && targets.every((health) => health === 'up');
    if (!isWell || alerts.length > 0) since = Date.now();
    if (Date.now() > end) {
      const names = alerts.map(({ labels }) => labels['alertname']).join(', ');
      throw new Error(`it does not become calm: ${targets.join(' ')}; ${names}`);
    }
    await delay(LOOK_MS);
  }
}

type Came = Map<string, { cameMs: number; description: string }>;

/** Those of the alerts that came, and after what time; by the end not all may have. */
async function untilCame(on: Watchers, alerts: readonly string[], from: number): Promise<Came> {
  const came: Came = new Map();
  while (came.size < alerts.length && Date.now() < from + CAME_MS) {
    for (const { labels, annotations } of await on.alerts()) {
      const { alertname: name = '', severity = '' } = labels;
      if (came.has(name) || !alerts.includes(name)) continue;
      const { description = '' } = annotations;
      came.set(name, { cameMs: Date.now() - from, description });
      say(`  ${seconds(Date.now() - from)}  ${name} (${severity}): ${description}`);
    }
    await delay(LOOK_MS);
  }
  return came;
}

async function untilGone(on: Watchers, alert: string, from: number): Promise<number> {
  while (Date.now() < from + GONE_MS) {
    const alerts = await on.alerts();
    if (alerts.every(({ labels }) => labels['alertname'] !== alert)) return Date.now() - from;
    await delay(LOOK_MS);
  }
  return NaN;
}

function seconds(ms: number): string {
  return Number.isNaN(ms) ? 'never' : `${(ms / 1_000).toFixed(1)} s`;
}

function table(): string {
  const rows = [
    ['alert', 'broken', 'came after', 'gone after', 'said'],
    ...seen.map(({ alert, broken, cameMs, goneMs, description }) => [
      alert,
      broken,
      seconds(cameMs),
      seconds(goneMs),
      description,
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
