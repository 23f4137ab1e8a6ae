import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { verifyReceipt } from '#cli/verify/library.ts';
import { Instance } from '#lab/storms/instance.ts';
import { chosen, readArguments } from '#lab/support/arguments.ts';
import { untilStopped } from '#lab/support/until-stopped.ts';
import { childEnvironment } from '#test/support/child-environment.ts';
import { Cache, inUserCache, NotToBeHad } from '#lab/upstreams/cache.ts';
import { type Found, pageOf } from './page.ts';
import { type Program, PROGRAMS, type Setting, type Step } from './programs.ts';
import { Recorder } from './recorder.ts';
import { ask, contentOf, installed, newHome, type Turn } from './run-program.ts';
import {
  DONE,
  SAID,
  SAID_LATER,
  ScriptedModel,
  SEAS_MAX,
  TASKS,
  TOKENS,
  WRITTEN,
} from './scripted-model.ts';

const USAGE = `npm run programs -- [--only NAME]… [--write] [--record] [--cache DIRECTORY] [--verbose]

Starts the product before a model that answers by script, and gives prompts to the programs that people put before a model, as
they come from npm and PyPI, without a terminal: a first request, three steps with a file written, a silence of fifty seconds, an
answer that breaks off, limits that are reached, a conversation that is too long, and whether each call has its receipt. Exit
code 1 when something does not work, 130 when stopped. What this machine cannot get is skipped by name. Programs:
${PROGRAMS.map(({ name, version }) => `  ${name} ${version}`).join('\n')}

--write    write docs/clients.md; all programs must have run
--cache    where they are installed, once; default: docket/programs in the user's cache directory
--record   write what each program asked into test/fixtures/programs, its texts cut short
--verbose  what each program wrote
`;

const { values } = readArguments(USAGE, {
  options: {
    only: { type: 'string', multiple: true },
    write: { type: 'boolean', default: false },
    verbose: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    cache: { type: 'string' },
  },
});
const wanted = chosen('program', PROGRAMS, values.only);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const { signal, stopped } = untilStopped();
const cache = new Cache(values.cache ?? inUserCache('programs'), say, signal);
/** Each has a model of its own, by which the calls of its key are told from those of others. */
const modelOf = (program: Program): string => `scripted-${PROGRAMS.indexOf(program) + 1}`;
/** They wait for the model most of the time; more would make each slow on a small machine. */
const AT_ONCE = 3;
/** Keys of which one is tried after another, until a program meets its limit. */
const REFUSALS_SOUGHT_MAX = 3;
/** Later requests of a program are as its first, with more before them. */
const RECORDED_MAX = 3;
/** So long a program may take to start and to say that no more is to be had. */
const LIMIT_MS = 90_000;
const ROOT = join(import.meta.dirname, '../..');
/** A key may be known for so long, with the limits that it had. */
const LIMITS_KNOWN_MS = 60_000;

const model = new ScriptedModel();
const scratch = await mkdtemp(join(tmpdir(), 'docket-programs-'));
const catalogue = join(scratch, 'catalogue.yaml');
await writeFile(catalogue, catalogueOf(`${await model.listen()}/v1`));
const found: Found[] = [];
const skipped: string[] = [];
const instance = await Instance.start({ env: { REPLICAS: 'api=1', CATALOGUE: catalogue } });
const recorder = new Recorder(new URL(instance.info.base_url).origin);
try {
  await Promise.race([runAll(), stopped]);
} catch (error) {
  if (!signal.aborted) throw error;
  say('stopped');
} finally {
  recorder.close();
  await instance.remove();
  model.close();
  await rm(scratch, { recursive: true, force: true });
}
if (signal.aborted) process.exit(130);
const failed = found.filter(({ verdict }) => verdict === 'fails');
say(
  `${new Set(found.map(({ program }) => program)).size} programs, ${found.length} steps, ${failed.length} do not work`,
);
if (skipped.length > 0) say(`skipped: ${skipped.join('; ')}`);
if (failed.length > 0) {
  say(`do not work: ${failed.map(({ program, step }) => `${program}: ${step}`).join('; ')}`);
  process.exitCode = 1;
}
if (values.write) {
  if (skipped.length > 0 || wanted.length < PROGRAMS.length)
    throw new Error('the table is of all programs, and some have not run');
  const page = join(ROOT, 'docs/clients.md');
  await writeFile(page, pageOf(found));
  await promisify(execFile)('oxfmt', [page]);
}

function catalogueOf(url: string): string {
  return `version: 1
regions:
  - { code: here, zone: FRA, operator: { name: lab, pue: 1.2, wue: 0.5 } }
endpoints:
  - { name: scripted, adapter: openai-compatible, base_url: '${url}', regions: [here], timeout_ms: 120000 }
models:
${PROGRAMS.map((program) => [program, modelOf(program)] as const)
  .map(
    ([program, id]) => `  - id: ${id}
    kinds: [chat]
    context_window: 200000${aliasesOf(program)}
    endpoints: [{ name: scripted, model: ${id} }]
    footprint: { active_b: 8, total_b: 8 }
`,
  )
  .join('')}`;
}

function aliasesOf({ knows }: Program): string {
  return knows === undefined ? '' : `\n    aliases: [${knows}]`;
}

interface Ready {
  program: Program;
  setting: Setting;
  keyId: string;
}

async function runAll(): Promise<void> {
  const ready: Ready[] = [];
  const origin = await recorder.listen();
  for (const program of wanted) {
    try {
      const bin = await installed(program, { cache, say, signal });
      const { home, work } = await newHome();
      const { id: keyId, key: apiKey } = await newKey(program.name);
      const setting = {
        baseUrl: `${origin}/v1`,
        root: origin,
        apiKey,
        model: program.knows ?? modelOf(program),
        home,
        work,
        bin,
        goesOn: false,
      };
      ready.push({ program, setting, keyId });
    } catch (error) {
      if (!(error instanceof NotToBeHad)) throw error;
      skipped.push(`${program.name}: ${error.message}`);
    }
  }
  try {
    await someAtOnce(ready, async (one) => {
      await stepsOf(one);
      await tooManyASecond(one);
      if (one.program.goesOn === true) await longSession(one);
    });
    await setLimit(1);
    await someAtOnce(ready, overLimit);
  } finally {
    for (const { setting } of ready) await rm(setting.home, { recursive: true, force: true });
  }
}

async function someAtOnce<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const one of left) await run(one);
    }),
  );
}

/** The steps that take place while its key may ask what it wants. */
async function stepsOf({ program, setting, keyId }: Ready): Promise<void> {
  const turn = async (task: string, words = ''): Promise<Turn> =>
    ask(program, setting, `${task} ${words || 'Tell me of the lighthouse.'}`, { signal });
  note(program, 'first request', has(await turn(TASKS.tell), SAID));
  if (program.hasTools) {
    const file = join(setting.work, 'lighthouse.txt');
    const told = await turn(TASKS.write, `Write what the keeper does into ${file}, then read it.`);
    const isWritten = (await contentOf(file))?.includes(WRITTEN) === true;
    note(program, 'three steps', isWritten ? has(told, DONE) : { works: false, told });
  }
  note(program, 'silence of 50 s', has(await turn(TASKS.wait), SAID));
  const broken = await turn(TASKS.break);
  note(program, 'broken answer', has(broken, SAID, /connection to the upstream provider failed/));
  if (values.record) await record(program, setting.apiKey);
  note(program, 'receipts', await receiptsFit(keyId, model.callsOf(modelOf(program))));
}

/** Its first request comes when another has just used what its key may ask in a second; a busy machine may let that second pass. */
async function tooManyASecond({ program, setting }: Ready): Promise<void> {
  const limit = { requests_per_second: 1, burst: 1 };
  for (let attempt = 1; attempt <= REFUSALS_SOUGHT_MAX; attempt++) {
    const { key: apiKey } = await newKey(program.name, { rate_limit: limit });
    recorder.before(apiKey, () => askOnce(setting.model, apiKey));
    const of = { ...setting, apiKey };
    const told = await ask(program, of, `${TASKS.tell} Not so fast.`, { signal });
    if (recorder.refusalsOf(apiKey) > 0) {
      note(program, 'too many a second', has(told, SAID, /too many requests per second/i));
      return;
    }
  }
  note(program, 'too many a second', { works: false, how: 'is not refused' });
}

/** Each of two prompts is within the window of the model, and both are not. */
async function longSession({ program, setting }: Ready): Promise<void> {
  const words = 'sea '.repeat(0.6 * SEAS_MAX);
  await ask(program, setting, `${TASKS.tell} ${words}`, { signal });
  const goingOn = { ...setting, goesOn: true };
  const told = await ask(program, goingOn, `${TASKS.goOn} ${words}`, { signal });
  note(program, 'long session', has(told, SAID_LATER, /context (window|length)|too long|compact/i));
}

async function record({ name }: Program, apiKey: string): Promise<void> {
  const folder = join(ROOT, 'test/fixtures/programs');
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${name.replace(/^@|\[.*\]$/g, '').replace('/', '-')}.json`);
  await writeFile(file, JSON.stringify(recorder.of(apiKey).slice(0, RECORDED_MAX)));
  await promisify(execFile)('oxfmt', [file]);
}

interface Judged {
  works: boolean;
  how?: string;
  told?: Turn;
}

/** Whether the answer stands in what the program wrote; or else, where that is enough, why not. */
function has(told: Turn, answer: string, reason?: RegExp): Judged {
  if (told.output.includes(answer)) return { works: true };
  if (reason?.test(told.output) === true) return { works: true, how: 'says so', told };
  return { works: false, told };
}

async function overLimit({ program, setting }: Ready): Promise<void> {
  // Some wait as long as they are told, which is until midnight.
  const told = await ask(program, setting, `${TASKS.tell} Once more.`, {
    signal,
    turnMs: LIMIT_MS,
  });
  const says = /daily[\s_]+(?:request\s+)?budget|usage limit/i.test(told.output);
  const waits = !says && told.code === null;
  note(program, 'over its limit', {
    works: says,
    told,
    ...(waits ? { how: 'waits, without saying why' } : {}),
  });
}

function note({ name }: Program, step: Step, { works, how, told }: Judged): void {
  const verdict = works ? 'works' : 'fails';
  found.push({ program: name, step, verdict, ...(how === undefined ? {} : { how }) });
  say(`${name}: ${step}: ${verdict}${how === undefined ? '' : ` (${how})`}`);
  if (told !== undefined && (!works || values.verbose))
    say(`${told.code} ${told.output.slice(-2_000)}`.replaceAll(/^/gm, '    '));
}

async function newKey(name: string, more: object = {}): Promise<{ id: string; key: string }> {
  const body = JSON.stringify({
    ...more,
    name: name.slice(0, 60),
    scopes: ['inference:write', 'inference:read', 'service:read'],
  });
  const answer = await asked('/keys', { method: 'POST', body });
  return answer as { id: string; key: string };
}

async function asked(path: string, init: RequestInit = {}): Promise<unknown> {
  const { base_url: baseUrl, api_key: apiKey } = instance.info;
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
  const response = await fetch(`${baseUrl}${path}`, { ...init, headers });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

/** What a receipt states of a request. */
interface Stated {
  outcome: string;
  inputTokens?: number;
  outputTokens?: number;
}

/** Whether each call of the model has its receipt, which verifies and states the tokens of a whole answer. */
async function receiptsFit(keyId: string, calls: number): Promise<Judged> {
  const root = instance.info.base_url.replace(/\/v1$/, '');
  const didJson = await (await fetch(`${root}/.well-known/did.json`)).text();
  const { data } = (await asked(`/receipts?key=${keyId}&limit=100`)) as {
    data: { credentialSubject: Stated }[];
  };
  const problems: string[] =
    calls > 0 && data.length === calls ? [] : [`${data.length} receipts of ${calls} calls`];
  for (const receipt of data) {
    const trust = { didJson, source: 'the service', isChosen: true };
    const { verdict, text } = await verifyReceipt(JSON.stringify(receipt), { trust });
    if (verdict !== 'good') problems.push(text.split('\n')[0]!);
    const { outcome, inputTokens, outputTokens } = receipt.credentialSubject;
    const isSaid = inputTokens === TOKENS.input && outputTokens === TOKENS.output;
    if (outcome === 'complete' && !isSaid)
      problems.push(`${inputTokens} and ${outputTokens} tokens`);
  }
  const output = problems.join('; ');
  return output === '' ? { works: true } : { works: false, told: { code: 0, output } };
}

/** Sets how many requests the organisation may make a day, and waits until no process knows another number. */
async function setLimit(perDay: number): Promise<void> {
  const command = ['accounts', 'set-limits', instance.info.org_id, '--day', String(perDay)];
  const who = ['--reason', 'a limit that is reached'];
  await promisify(execFile)(process.execPath, [join(ROOT, 'cli/docket.ts'), ...command, ...who], {
    cwd: ROOT,
    env: {
      ...childEnvironment(),
      DATABASE_URL: instance.info.database_url,
      REDIS_URL: instance.info.redis_url,
    },
  });
  const until = Date.now() + LIMITS_KNOWN_MS;
  for (;;) {
    const status = await askOnce(modelOf(PROGRAMS[0]!), instance.info.api_key);
    if (status === 429) return;
    if (Date.now() > until) throw new Error(`the limit is not known: ${status}`);
  }
}

async function askOnce(id: string, apiKey: string): Promise<number> {
  const response = await fetch(`${instance.info.base_url}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: id, messages: [{ role: 'user', content: 'Hi' }] }),
  });
  await response.text();
  return response.status;
}
