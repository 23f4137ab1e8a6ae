import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chosen, readArguments } from '#lab/support/arguments.ts';
import { Cache, NotToBeHad } from './cache.ts';
import { recordServer } from './record.ts';
import { pageOf } from './page.ts';
import { ModelServer } from './server-process.ts';
import { SERVERS } from './servers.ts';
import { runThroughDocket, type ServerReport } from './through-docket.ts';

const USAGE = `npm run upstreams -- [--only NAME]… [--write] [--record] [--compile] [--cache DIRECTORY]

Starts real model servers with a tiny model of random weights and the product before them, asks what clients ask, and
compares answers, receipts and the servers' own logs. Exit code 1 when something is broken. Servers:
${SERVERS.map(({ name, title, packages }) => `  ${name.padEnd(18)}${title} (${packages.join(' ')})`).join('\n')}

--write    write what was found of each to its section of docs/upstreams.md
--record   only write their own answers into test/fixtures/upstreams
--compile  also what has to be compiled, which takes half an hour
--cache    where they are installed, once; default: docket/upstreams in the user's cache directory
`;

const { values } = readArguments(USAGE, {
  options: {
    only: { type: 'string', multiple: true },
    write: { type: 'boolean', default: false },
    record: { type: 'boolean', default: false },
    compile: { type: 'boolean', default: false },
    cache: { type: 'string' },
  },
});
const wanted = chosen('server', SERVERS, values.only);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const cache = new Cache(values.cache, say);
const scratch = await mkdtemp(join(tmpdir(), 'docket-upstreams-'));
const models = await cache.models();
const PAGE = join(import.meta.dirname, '../../docs/upstreams.md');
const reports: ServerReport[] = [];
const FIXTURES = join(import.meta.dirname, '../../test/fixtures/upstreams');
for (const kind of wanted) {
  if (kind.compiled && !values.compile && !cache.has(kind)) {
    say(`${kind.title}: skipped; --compile makes it`);
    continue;
  }
  const running: ModelServer[] = [];
  const start = async (name: string, behindUrl = ''): Promise<ModelServer> => {
    const one = SERVERS.find((other) => other.name === name)!;
    const python = await cache.python(one);
    const server = await ModelServer.start({ kind: one, python, models, scratch, behindUrl });
    running.push(server);
    return server;
  };
  try {
    const behind = kind.behind === undefined ? undefined : await start(kind.behind);
    const server = await start(kind.name, behind?.baseUrl);
    say(`${kind.title}: ready`);
    if (values.record) {
      const secrets = [models, scratch, cache.directory];
      await recordServer(server, join(FIXTURES, kind.name), secrets, say);
    } else {
      const second = await start(kind.name, behind?.baseUrl);
      const bench = { first: server, second, computes: behind ?? server };
      reports.push(await runThroughDocket(bench, scratch, say));
    }
  } catch (error) {
    if (!(error instanceof NotToBeHad)) throw error;
    say(`${kind.title}: skipped; ${error.message}`);
  } finally {
    await Promise.all(running.map((server) => server.stop()));
  }
}
const broken = reports.flatMap(({ kind, found }) =>
  Object.entries(found).flatMap(([name, { verdict }]) =>
    verdict === 'broken' ? [`${kind.title}: ${name}`] : [],
  ),
);
for (const { kind, found } of reports) {
  const verdicts = Object.values(found).map(({ verdict }) => verdict);
  const count = (verdict: string): number => verdicts.filter((one) => one === verdict).length;
  say(
    `${kind.title.padEnd(20)} ${count('works')} work, ${count('refused')} refused, ${count('broken')} broken`,
  );
}
if (broken.length > 0) {
  say(`broken: ${broken.join('; ')}\nlogs: ${scratch}`);
  process.exitCode = 1;
} else await rm(scratch, { recursive: true, force: true });
if (values.write) {
  const before = await readFile(PAGE, 'utf8').catch(() => '');
  const titles = SERVERS.map(({ title }) => title);
  await writeFile(PAGE, pageOf(reports, before, titles));
  await promisify(execFile)('oxfmt', [PAGE]);
}
