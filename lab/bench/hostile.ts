/**
 * What one hostile caller does to all others: for some seconds it sends what costs more than it weighs, while others,
 * in a process of their own, ask small questions, read a receipt, open a page and sign in, and the api is asked whether it
 * is well. Each attack has its control: the same attacker, against a server that answers everything alike. Prints how long
 * the others wait at p99, alone and beside, what is added beyond the control, the most processor time that the event
 * loops of the api and of the inference worker spent without looking up, and the memory of both; ends with 1 when more
 * than is promised is added. Models are answered by an upstream that costs nothing, in a process of its own. Usage: npm run bench hostile [--seconds <per phase>] [--attacks <name>,<name>…]
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import type { PersonLogin } from '#embedded/demo-persons.ts';
import { type DevFile, readDevFile } from '#embedded/launcher/dev-file.ts';
import { Children, firstLine } from './gateway/child.ts';
import type { Orders, Start } from './hostile/attacker.ts';
import { ATTACKS, type Means, signInOf, type Visit } from './hostile/attacks.ts';
import type { Innocence, Turn, Waits } from './hostile/callers.ts';
import { readNumber, readOptions, refuseArguments } from './support/arguments.ts';
import { fillAuditLog, fillOrganisation } from './support/fill-organisation.ts';

const USAGE = 'hostile [--seconds <per phase>] [--attacks <name>,<name>…]';
const options = readOptions(USAGE, {
  seconds: { type: 'string', default: '6' },
  attacks: { type: 'string', default: Object.keys(ATTACKS).join(',') },
});
const seconds = readNumber(USAGE, 'seconds', options.seconds);
const names = options.attacks.split(',');
for (const name of names) {
  if (ATTACKS[name] === undefined) refuseArguments(USAGE, `${JSON.stringify(name)} is no attack.`);
}
/** By then the api has started the thread that reads large bodies, as one has that serves for a minute. */
const WARM_S = 35;
/** Of the organisation whose pages are asked for: each hour of a month has some of each key and model. */
const RECEIPTS = 60_000;
/** As many as a file of the log has. */
const AUDIT_ENTRIES = 100_000;
/** What one caller may add to the p99 of another. */
const ADDED_MS_MAX = 250;
const MIB = 1_048_576;

const dataDir = mkdtempSync(join(tmpdir(), 'docket-hostile-'));
const loopDir = mkdtempSync(join(tmpdir(), 'docket-loops-'));
const children = new Children();
try {
  const upstreamPort = await firstLine(children.fork(inFolder('upstream.ts'), [], {}));
  const gateway = children.fork(join(import.meta.dirname, '../../cli/docket.ts'), ['up'], {
    PORT: '0',
    DOCKET_DATA_DIR: dataDir,
    CATALOGUE: writeCatalogue(`http://127.0.0.1:${upstreamPort}/v1`),
    LOOP_CPU_DIR: loopDir,
    NODE_OPTIONS: `--import=${join(import.meta.dirname, 'gateway/loop-cpu.ts')}`,
  });
  gateway.stdout!.resume();
  const dev = await ready(gateway);
  const api = dev.processes.find(({ role }) => role === 'api')!;
  const worker = dev.processes.find(({ role }) => role === 'inference')!;
  const origin = `http://127.0.0.1:${new URL(dev.base_url).port}`;
  const control = `http://127.0.0.1:${await firstLine(children.fork(inFolder('static-server.ts'), [], {}))}`;

  const visit = await visitOf(origin);
  const session = await sessionOf(origin, visit, dev.owner);
  const means: Means = {
    key: dev.keys.audit,
    largerKey: dev.keys.audit_plus,
    orgId: dev.org_id,
    session,
    sessionForm: await formOn(`${origin}/dashboard/account`, session),
    visit,
  };
  const innocence: Innocence = {
    origin,
    health: `http://127.0.0.1:${api.metrics_port}`,
    key: dev.api_key,
    session: await sessionOf(origin, visit, dev.operator),
    visit,
    person: dev.reviewer,
  };
  const callers = await callersOf(innocence);
  const controlCallers = await callersOf({ ...innocence, origin: control, health: control });
  await Promise.all([
    fillOrganisation(dev, RECEIPTS).then(() => fillAuditLog(dev, AUDIT_ENTRIES)),
    turn(callers, { seconds: WARM_S, signIns: false }),
  ]);

  process.stdout.write(
    '| attack | chats | reads | health | pages | sign-ins | control | added | loops | api, worker | answers |\n' +
      '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n',
  );
  for (const [index, name] of names.entries()) {
    const network = index + 1;
    const ofControl = await beside(controlCallers, { name, origin: control, means, network });
    const begun = Date.now();
    const watched = [api, worker].map(({ pid }) => pid);
    const outcome = await beside(callers, { name, origin, means, network }, watched);
    const added = addedBeyond(outcome, ofControl);
    if (!(added <= ADDED_MS_MAX)) process.exitCode = 1;
    const cells = [
      name,
      ...(['chat', 'read', 'health', 'page', 'sign-in'] as const).map((kind) =>
        change(outcome, kind),
      ),
      change(ofControl, 'chat'),
      ms(added),
      watched.map((pid) => mostAtOnce(pid, begun)).join(', '),
      outcome.memory.map((bytes) => `${Math.round(bytes / MIB)} MiB`).join(', '),
      `\`${JSON.stringify(outcome.answers)}\``,
    ];
    process.stdout.write(`| ${cells.join(' | ')} |\n`);
  }
} finally {
  await children.stop();
  for (const one of [dataDir, loopDir]) rmSync(one, { recursive: true, force: true });
}

/** The catalogue as it is shipped, in front of this upstream. */
function writeCatalogue(baseUrl: string): string {
  const shipped = join(import.meta.dirname, '../../shared/catalogue/default.yaml');
  const path = join(dataDir, 'hostile.yaml');
  writeFileSync(path, readFileSync(shipped, 'utf8').replaceAll('${SANDBOX_URL}', baseUrl));
  return path;
}

function inFolder(file: string): string {
  return join(import.meta.dirname, 'hostile', file);
}

/** What callers waited without the attacker and beside it. */
interface Outcome {
  alone: Waits;
  beside: Waits;
  answers: Record<number, number>;
  /** The most that each of the watched processes had. */
  memory: number[];
}

async function beside(
  callers: ChildProcess,
  orders: Orders,
  watched: readonly number[] = [],
): Promise<Outcome> {
  const { signIns = false } = ATTACKS[orders.name]!;
  const alone = await turn(callers, { seconds, signIns });
  const attacker = children.fork(inFolder('attacker.ts'), [], {});
  attacker.send(orders);
  await once(attacker, 'message');
  attacker.send({ seconds } satisfies Start);
  const told = once(attacker, 'message') as Promise<[Record<number, number>]>;
  let memory = watched.map(() => 0);
  const looking = setInterval(() => {
    memory = watched.map((pid, i) => Math.max(memory[i]!, residentBytes(pid)));
  }, 50);
  const during = await turn(callers, { seconds, signIns });
  const [answers] = await told;
  clearInterval(looking);
  return { alone, beside: during, answers, memory };
}

async function callersOf(innocence: Innocence): Promise<ChildProcess> {
  const callers = children.fork(inFolder('callers.ts'), [], {});
  callers.send(innocence);
  await once(callers, 'message');
  return callers;
}

async function turn(callers: ChildProcess, one: Turn): Promise<Waits> {
  callers.send(one);
  const [waits] = (await once(callers, 'message')) as [Waits];
  return waits;
}

/**
 * Milliseconds that an attack adds to the p99 of what programs ask, beyond what it adds to that of the control: nothing is
 * taken off where the control refuses its own caller. NaN where callers were refused before the attack.
 */
function addedBeyond(outcome: Outcome, ofControl: Outcome): number {
  const { alone: quiet } = outcome;
  const known = [quiet.chat, quiet.read, ofControl.alone.chat];
  if (!known.every((waits) => Number.isFinite(at(waits, 0.99)))) return NaN;
  const added = ({ alone, beside: during }: Outcome, kind: 'chat' | 'read'): number =>
    at(during[kind], 0.99) - at(alone[kind], 0.99);
  const most = Math.max(added(outcome, 'chat'), added(outcome, 'read'));
  const ofMachine = added(ofControl, 'chat');
  return Math.max(0, most - (Number.isFinite(ofMachine) ? Math.max(0, ofMachine) : 0));
}

function change({ alone, beside: during }: Outcome, kind: keyof Waits): string {
  if (during[kind].length === 0) return '';
  return `${ms(at(alone[kind], 0.99))} → ${ms(at(during[kind], 0.99))}`;
}

function ms(value: number): string {
  return Number.isFinite(value) ? `${value.toFixed(0)} ms` : 'refused';
}

function at(samples: readonly (number | null)[], share: number): number {
  // What has waited for ever comes between processes as null.
  const sorted = samples.map((one) => one ?? Infinity).toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

async function ready(child: ChildProcess): Promise<DevFile> {
  for (;;) {
    if (child.exitCode !== null) throw new Error('the gateway did not start');
    const dev = await readDevFile(dataDir);
    if (dev !== undefined) return dev;
    await sleep(200);
  }
}

/** Opens the page to sign in, as a browser does. */
async function visitOf(origin: string): Promise<Visit> {
  const { headers, body } = await request(`${origin}/dashboard/sign-in`);
  return { form: formIn(await body.text()), cookie: cookiesIn(headers['set-cookie']) };
}

async function formOn(address: string, cookie: string): Promise<string> {
  const { body } = await request(address, { headers: { cookie } });
  return formIn(await body.text());
}

function formIn(page: string): string {
  return /name="form" value="([\w.-]+)"/.exec(page)![1]!;
}

async function sessionOf(origin: string, visit: Visit, person: PersonLogin): Promise<string> {
  const { path, headers, ...sent } = signInOf(visit, person);
  const answer = await request(origin + path, { ...sent, headers: { origin, ...headers } });
  await answer.body.dump();
  if (answer.statusCode !== 303) throw new Error(`no person was signed in: ${answer.statusCode}`);
  return cookiesIn(answer.headers['set-cookie']);
}

function cookiesIn(lines: string | string[] | undefined): string {
  return [lines ?? []]
    .flat()
    .map((line) => line.split(';')[0])
    .join('; ');
}

/** Processor time that the event loop of a process spent at most between two looks at its timers, since `begun`. */
function mostAtOnce(pid: number, begun: number): string {
  const notes = readFileSync(join(loopDir, String(pid)), 'utf8')
    .trim()
    .split('\n');
  const since = notes
    .map((line) => line.split(' ').map(Number))
    .filter(([noted]) => noted! > begun);
  return `${Math.max(0, ...since.map(([, spent]) => spent!)).toFixed(0)} ms`;
}

function residentBytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
}
