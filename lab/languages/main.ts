import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Instance } from '#lab/storms/instance.ts';
import { chosen, readArguments } from '#lab/support/arguments.ts';
import { untilStopped } from '#lab/support/until-stopped.ts';
import { Cache, inUserCache, NotToBeHad } from '#lab/upstreams/cache.ts';
import { CLIENTS } from './clients.ts';
import { type ClientReport, pageOf } from './page.ts';
import { type Found, runClient, type Service } from './run-client.ts';
import { FIRST_CALLS, runFirstCall } from './run-first-call.ts';

const USAGE = `npm run clients -- [--only NAME]… [--first-calls] [--write] [--cache DIRECTORY]

Starts the product with its sandbox and asks through client libraries of other languages what programs ask. Without --only it
also runs the programs of docs/first-call.md for ${FIRST_CALLS.join(' and ')}. Exit code 1 when something does not work, 130 when stopped. What this machine cannot get is skipped by name. Clients:
${CLIENTS.map(({ name, language, version }) => `  ${language.padEnd(8)}${name} ${version}`).join('\n')}

--first-calls  run the programs of docs/first-call.md alone
--write    write docs/libraries.md; all clients must have run
--cache    where they are installed, once; default: docket/clients in the user's cache directory
`;

const { values } = readArguments(USAGE, {
  options: {
    only: { type: 'string', multiple: true },
    'first-calls': { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    cache: { type: 'string' },
  },
});
const wanted = values['first-calls'] ? [] : chosen('client', CLIENTS, values.only);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const { signal, stopped } = untilStopped();
const cache = new Cache(values.cache ?? inUserCache('clients'), say, signal);
const reports: ClientReport[] = [];
const skipped: string[] = [];
const firstCalls: Found[] = [];
const instance = await Instance.start({ env: { REPLICAS: 'api=1' } });
try {
  await Promise.race([askAll(instance), stopped]);
} catch (error) {
  if (!signal.aborted) throw error;
  const left = wanted.slice(reports.length + skipped.length).map(({ name }) => name);
  say(`stopped; not asked, or not to the end: ${left.join(', ')}`);
} finally {
  await instance.remove();
}
if (signal.aborted) process.exit(130);

const failed = reports.flatMap(({ client, found }) => {
  if (found.length === 0) return [`${client.name}: its program said nothing`];
  return found.flatMap(({ check, verdict }) =>
    verdict === 'fails' ? [`${client.name}: ${check}`] : [],
  );
});
failed.push(...firstCalls.flatMap(({ check, verdict }) => (verdict === 'works' ? [] : [check])));
const checks = reports.reduce((sum, { found }) => sum + found.length, 0);
say(`${reports.length} clients, ${checks} checks, ${failed.length} do not work`);
if (skipped.length > 0) say(`skipped: ${skipped.join('; ')}`);
if (failed.length > 0) {
  say(`do not work: ${failed.join('; ')}`);
  process.exitCode = 1;
}
if (values.write) {
  if (reports.length < CLIENTS.length)
    throw new Error('the page is of all clients, and some have not run');
  const page = join(import.meta.dirname, '../../docs/libraries.md');
  await writeFile(page, pageOf(reports));
  await promisify(execFile)('oxfmt', [page]);
}

async function askAll({ info }: Instance): Promise<void> {
  const { base_url: baseUrl, api_key: apiKey } = info;
  const read = async (path: string): Promise<string> =>
    (await fetch(new URL(path, baseUrl))).text();
  const service = { baseUrl, apiKey, didJson: await read('/.well-known/did.json') };
  const description = join(cache.directory, 'openapi.json');
  await mkdir(cache.directory, { recursive: true });
  await writeFile(description, await read('/openapi.json'));
  const place = { cache, say, description, signal };
  for (const client of wanted) {
    try {
      const found = await runClient(client, service, place);
      reports.push({ client, found });
      say(`${client.name} ${client.version}`);
      for (const { check, verdict, words = '' } of found) say(`  ${check}: ${verdict} ${words}`);
    } catch (error) {
      if (!(error instanceof NotToBeHad)) throw error;
      skipped.push(`${client.name}: ${error.message}`);
      say(`${client.name}: skipped; ${error.message}`);
    }
  }
  if (values.only !== undefined) return;
  for (const language of FIRST_CALLS) {
    try {
      const found = await runFirstCall(language, await limited(service), place);
      firstCalls.push(found);
      say(`${found.check}: ${found.verdict} ${found.words ?? ''}`);
    } catch (error) {
      if (!(error instanceof NotToBeHad)) throw error;
      skipped.push(`first call, ${language}: ${error.message}`);
    }
  }
}

/** The service by a key of one request a second, which refuses the second of two at first. */
async function limited(service: Service): Promise<Service> {
  const answer = await fetch(`${service.baseUrl}/keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.apiKey}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ name: 'first call', rate_limit: { requests_per_second: 1, burst: 1 } }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  const { key: apiKey } = (await answer.json()) as { key: string };
  return { ...service, apiKey };
}
