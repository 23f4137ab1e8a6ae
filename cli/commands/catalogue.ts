import { existsSync, writeFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { CatalogueError, describeProblem } from '#shared/catalogue/problem.ts';
import type { Catalogue, Footprint } from '#shared/catalogue/catalogue.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import { loadToolConfig } from '#shared/config/config.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { catalogueText } from '#embedded/providers/catalogue-text.ts';
import { localProviders, providersIn } from '#embedded/providers/in-environment.ts';
import { askProviders } from '#embedded/providers/offer.ts';
import { PROVIDERS } from '#embedded/providers/table.ts';
import { EXIT_CODES } from '#cli/exit-codes.ts';
import { readCatalogue } from '#cli/catalogue.ts';
import type { Probe } from '#cli/probe/probe.ts';
import { linesOf, probeCatalogue, sandboxUrl } from '#cli/probe/probe-catalogue.ts';
import { printJson, printTable, type Row } from '#cli/print.ts';
import { plain } from '#shared/kernel/plain-text.ts';

/** `docket catalogue …`: what an operator asks before a catalogue is used. */
export function register(program: Command): void {
  const catalogue = program.command('catalogue').description('models, regions and endpoints');
  catalogue
    .command('check [file]')
    .description(
      'check a catalogue file; without one, that of CATALOGUE or the one that is shipped',
    )
    .option('--probe', 'ask every endpoint what a request would find there')
    .addOption(
      new Option('--endpoint <name>', 'with --probe: only this endpoint; may be given again')
        .argParser((name, before: string[] | undefined) => [...(before ?? []), name])
        .implies({ probe: true }),
    )
    .addOption(
      new Option('--timeout <seconds>', 'with --probe: how long one call may take')
        .argParser(secondsOf)
        .implies({ probe: true }),
    )
    .option('--json', 'for programs')
    .addHelpText('after', PROBE_HELP)
    .action(check);
  catalogue
    .command('init [file]')
    .description('write a catalogue of the models of providers whose keys are in the environment')
    .option('--force', 'replace a file that is there')
    .option('--json', 'for programs')
    .addHelpText('after', INIT_HELP)
    .action(init);
}

const PROBE_HELP = `
--probe asks each endpoint for its list of models, and for each model of the catalogue for one token, whole and as a
stream, and sends one prompt above the context window. A credential is taken from the variable that api_key_env names, in
this environment. It costs some forty tokens for each model; and that long prompt, where an upstream takes it.

Exit codes: 0 usable (warnings may be printed), 1 not usable, 2 usable, but an endpoint does not answer as it must.`;

const INIT_HELP = `
The file is catalogue.yaml unless another is named; - writes to standard output. Each provider is asked for its models:

${PROVIDERS.map(({ title, keyVariable, baseVariable }) => `  ${title.padEnd(16)} ${[keyVariable, baseVariable].filter(Boolean).join(', ')}`).join('\n')}

Ollama and vLLM are looked for on this machine as well, at their own ports. No key is written or printed.`;

interface InitOptions {
  force?: boolean;
  json?: boolean;
}

/** A person waits. */
const LIST_MS = 15_000;

async function init(file = 'catalogue.yaml', { force, json }: InitOptions): Promise<void> {
  const { upstreamCredential: credential } = loadToolConfig();
  if (file !== '-' && force !== true && existsSync(file))
    throw new Error(`${file} is there already; --force replaces it`);
  const asking = { credential, factors: newestFactorSet(), timeoutMs: LIST_MS };
  const [named, local] = await Promise.all([
    askProviders(providersIn(credential), asking),
    askProviders(localProviders(credential), asking),
  ]);
  for (const line of named.lines) process.stderr.write(`${plain(line)}\n`);
  // What is not there was only looked for.
  const offers = [...named.offers, ...local.offers];
  if (offers.length === 0) {
    throw new Error('no provider was found; set its key, as docket catalogue init --help names it');
  }
  const text = catalogueText(offers, { title: 'Written by docket catalogue init.' });
  if (file === '-') {
    process.stdout.write(text);
    return;
  }
  writeFileSync(file, text, { flag: force === true ? 'w' : 'wx' });
  const rows = offers.map(({ row, baseUrl, models }) => ({
    provider: row.title,
    address: baseUrl,
    models: models.length,
    'known to the factor set': models.filter(({ footprint }) => footprint.basis === 'record')
      .length,
  }));
  if (json === true) {
    printJson({
      file,
      providers: offers.map(({ row, baseUrl, models }) => ({
        name: row.name,
        base_url: baseUrl,
        models: models.map(({ id }) => id),
      })),
    });
    return;
  }
  printTable(rows, '');
  process.stdout.write(
    `\nWritten to ${plain(file)}. CATALOGUE=${plain(file)} npx docket up uses it.\n`,
  );
}

interface CheckOptions {
  probe?: boolean;
  endpoint?: string[];
  timeout?: number;
  json?: boolean;
}

const TIMEOUT_S_MAX = 600;

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds > 0 && seconds <= TIMEOUT_S_MAX) return seconds;
  throw new InvalidArgumentError(`It must be a number of seconds, up to ${TIMEOUT_S_MAX}.`);
}

async function check(file: string | undefined, options: CheckOptions): Promise<void> {
  let loaded: ReturnType<typeof readCatalogue>;
  try {
    loaded = readCatalogue(file, options.probe === true ? await sandboxUrl() : undefined);
  } catch (error) {
    if (!(error instanceof CatalogueError)) throw error;
    if (options.json === true) printJson({ ok: false, file: error.file, problems: error.problems });
    else {
      for (const problem of error.problems) {
        process.stderr.write(`${plain(describeProblem(error.file, problem))}\n`);
      }
    }
    process.exitCode = EXIT_CODES.catalogue.unusable.code;
    return;
  }
  const { catalogue, warnings } = loaded;
  const probes = options.probe === true ? await probed(catalogue, options) : undefined;
  const answering = probes?.every(({ problems }) => problems.length === 0) ?? true;
  if (options.json === true) {
    printJson({
      ok: answering,
      file: loaded.file,
      digest: catalogue.digest,
      models: modelRows(catalogue),
      warnings,
      ...(probes === undefined ? {} : { probes: probes.map(probeJson) }),
    });
  } else {
    printTable(modelRows(catalogue), 'No models.');
    if (probes !== undefined) {
      process.stdout.write('\n');
      printTable(probes.map(probeRow), 'No endpoint serves a model.');
    }
    for (const warning of warnings) warn(describeProblem(loaded.file, warning));
    for (const [endpoint, its] of Map.groupBy(probes ?? [], (one) => one.endpoint)) {
      for (const line of linesOf(its, 'warnings')) warn(`${endpoint}: ${line}`);
      for (const line of linesOf(its, 'problems'))
        process.stderr.write(`${plain(`${endpoint}: ${line}`)}\n`);
    }
  }
  if (!answering) process.exitCode = EXIT_CODES.catalogue.silent.code;
}

function warn(line: string): void {
  process.stderr.write(`${plain(`warning: ${line}`)}\n`);
}

async function probed(catalogue: Catalogue, { endpoint, timeout }: CheckOptions): Promise<Probe[]> {
  const unknown = endpoint?.find((name) => !catalogue.endpoints.some((one) => one.name === name));
  if (unknown !== undefined) throw new Error(`The catalogue has no endpoint ${unknown}.`);
  return probeCatalogue(catalogue, {
    ...(endpoint === undefined ? {} : { only: endpoint }),
    ...(timeout === undefined ? {} : { timeoutS: timeout }),
  });
}

/** One row per endpoint and model: what a request would find. */
function probeRow(probe: Probe): Row {
  return {
    endpoint: probe.endpoint,
    address: probe.address,
    model: probe.model,
    reached: word(probe.reached),
    listed: word(probe.listed),
    'one token': word(probe.answers),
    stream: word(probe.streams),
    usage: word(probe.usageInAnswers),
    'usage in stream': word(probe.usageInStreams),
    responses: word(probe.responses),
    messages: word(probe.messages),
    developer: word(probe.developer),
    'too long a prompt': probe.overflow,
  };
}

const word = (known: boolean | null): string | null =>
  known === null ? null : known ? 'yes' : 'no';

function probeJson(probe: Probe): Record<string, unknown> {
  return {
    endpoint: probe.endpoint,
    address: probe.address,
    model: probe.model,
    upstream_model: probe.upstreamModel,
    reached: probe.reached,
    listed: probe.listed,
    answers: probe.answers,
    streams: probe.streams,
    usage_in_answers: probe.usageInAnswers,
    usage_in_streams: probe.usageInStreams,
    responses: probe.responses,
    messages: probe.messages,
    developer: probe.developer,
    reasoning_content: probe.reasoningContent,
    overflow: probe.overflow,
    problems: probe.problems,
    warnings: probe.warnings,
  };
}

/** One row per model, as it would be offered. */
function modelRows(catalogue: Catalogue): Row[] {
  return [...indexCatalogue(catalogue).models.values()].map(({ model, regions }) => ({
    model: model.id,
    aliases: model.aliases?.join(', ') ?? '',
    kinds: model.kinds.join(', '),
    context_window: model.contextWindow,
    regions: regions
      .map(
        ({ region, endpoints }) =>
          `${region.code}${region.status === 'normal' ? '' : ` (${region.status})`} ×${endpoints.length}`,
      )
      .join(', '),
    footprint: footprintText(model.footprint),
  }));
}

function footprintText({ ref, activeB, totalB }: Footprint): string {
  if (ref !== undefined) return ref;
  const active = activeB ?? totalB;
  const total = totalB ?? activeB;
  if (active === undefined) return 'no size: receipts are degraded';
  return active === total ? `${active} B` : `${active} of ${total} B`;
}
