import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { parse } from 'csv-parse/sync';
import { DERIVATIONS } from '#shared/packs/layout.ts';
import { derivationDigest } from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { readInput } from '#cli/input.ts';
import { printFields, printJson, printTable } from '#cli/print.ts';
import { drawSample, type Sample } from '#cli/auditing/draw.ts';
import { tableRows } from '#cli/auditing/pack-tables.ts';
import {
  type TrustOptions,
  type VerifiedPack,
  withTrustOptions,
  withVerifiedPack,
} from '#cli/auditing/verified-pack.ts';
import {
  OF_EXAMINER,
  type SampledReceipt,
  workpaperPage,
  workpaperTable,
} from '#cli/auditing/workpaper.ts';
import { linesOf } from '#cli/verify/lines.ts';

/** More is no sample that a person looks at. */
const SIZE_MAX = 10_000;
const SIZE = 60;
/** A workpaper of that many rows, with findings. */
const WORKPAPER_BYTES_MAX = 32 * 1_048_576;
const FROM_ROOT = 'the root of the pack’s head, which who made the pack could know before';

interface SampleOptions extends TrustOptions {
  size: number;
  seed?: string;
  out?: string;
  check?: string;
  json?: boolean;
}

/** `docket sample`: receipts of a pack for an auditor to look at, drawn so that another draws the same. Offline. */
export function register(program: Command): void {
  withTrustOptions(
    program
      .command('sample')
      .description('draw receipts of an evidence pack to be examined, with a workpaper: offline')
      .argument('<pack.zip>', 'is verified whole first')
      .option('--size <count>', 'how many receipts', toSize, SIZE)
      .option(
        '--seed <text>',
        'drawn by you (dice, a newspaper of a later day); without it the root of the pack’s head is taken',
        toSeed,
      )
      .option('--out <directory>', 'where to; <pack>-sample when absent')
      .option(
        '--check <workpaper.csv>',
        'draw again by a workpaper’s seed and compare, instead of writing one',
      )
      .option('--json', 'for programs'),
  )
    .addHelpText(
      'after',
      '\nKinds of receipts are region, tier and quality of data: of each at least one is drawn, the rest in proportion.\n',
    )
    .action((path: string, options: SampleOptions) =>
      withVerifiedPack(path, options, (pack) =>
        options.check === undefined
          ? write(pack, options)
          : check(pack, { ...options, check: options.check }),
      ),
    );
}

function toSize(text: string): number {
  const size = Number(text);
  if (/^\d{1,5}$/.test(text) && size >= 1 && size <= SIZE_MAX) return size;
  throw new InvalidArgumentError(`It is a number from 1 to ${SIZE_MAX}.`);
}

/** What stands in a table, on a page and before a hash has one form. */
function toSeed(text: string): string {
  if (/^[!-~]{1,128}$/.test(text)) return text;
  throw new InvalidArgumentError('It is up to 128 printable ASCII characters without spaces.');
}

function write(pack: VerifiedPack, options: SampleOptions): void {
  const { root } = pack.seal.credentialSubject.checkpoint;
  const seed = options.seed ?? root;
  const seedFrom = options.seed === undefined ? FROM_ROOT : 'given by who drew';
  const directory = options.out ?? `${basename(pack.path, '.zip')}-sample`;
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    throw new Error(`${directory} is there already: name another directory with --out.`);
  }
  const sample = drawSample(() => tableRows(pack.pack), { seed, size: options.size });
  if (sample.rows.length === 0) throw new Error('There is no receipt in the pack that counts.');
  mkdirSync(join(directory, 'receipts'), { recursive: true });
  const rows = receiptsOf(pack, sample, (name, bytes) =>
    writeFileSync(join(directory, 'receipts', name), bytes),
  );
  writeFileSync(join(directory, 'workpaper.csv'), workpaperTable(sample, rows, pack));
  writeFileSync(join(directory, 'workpaper.html'), workpaperPage(sample, rows, { pack, seedFrom }));
  said(pack, sample, { ...options, outcome: { seed_from: seedFrom, written_to: directory } });
}

/** Gets the receipts that were drawn, each shard read once, and hands each on with the derivation record that it names. */
function receiptsOf(
  { pack }: VerifiedPack,
  { rows }: Sample,
  put: (name: string, bytes: Uint8Array) => void,
): SampledReceipt[] {
  const digests = new Map<string, string>();
  const records = new Set<string>();
  for (const shard of new Set(rows.map(({ row }) => row.shard))) {
    const lines = [...linesOf(pack.read(shard), shard)];
    for (const { row } of rows.filter((each) => each.row.shard === shard)) {
      const bytes = lines[row.line]!;
      put(nameOf(row), bytes);
      digests.set(row.receipt, hash('sha256', bytes));
      const { measurement } = parseReceipt(bytes).document;
      if (measurement !== undefined) records.add(derivationDigest(measurement));
    }
  }
  for (const digest of records) put(`${digest}.json`, pack.read(`${DERIVATIONS}/${digest}.json`));
  return rows.map((drawn) => ({
    ...drawn,
    file: `receipts/${nameOf(drawn.row)}`,
    sha256: digests.get(drawn.row.receipt)!,
  }));
}

function nameOf({ index }: { index: number }): string {
  return `${index}.json`;
}

async function check(
  pack: VerifiedPack,
  options: SampleOptions & { check: string },
): Promise<void> {
  const given = await readWorkpaper(options.check);
  const seed = given[0]!['seed'] ?? '';
  const sample = drawSample(() => tableRows(pack.pack), { seed, size: given.length });
  const rows = receiptsOf(pack, sample, () => undefined);
  const drawn = recordsOf(workpaperTable(sample, rows, pack));
  const differs = drawn
    .map((row, i) => ({ number: i + 1, column: differing(row, given[i] ?? {}) }))
    .find(({ column }) => column !== undefined);
  if (differs === undefined && drawn.length === given.length) {
    said(pack, sample, { ...options, outcome: { compared_with: options.check } });
    return;
  }
  process.stderr.write(
    differs === undefined
      ? `BAD  ${options.check} has ${given.length} rows, and the pack ${drawn.length} receipts that count.\n`
      : `BAD  ${options.check}: row ${differs.number} is not what its seed draws from this pack (${differs.column}).\n`,
  );
  process.exitCode = 1;
}

/** The first column of the draw in which a row is another. What examiners fill in is theirs. */
function differing(
  row: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string>>,
): string | undefined {
  return Object.keys(row).find(
    (name) => !(OF_EXAMINER as readonly string[]).includes(name) && row[name] !== given[name],
  );
}

async function readWorkpaper(path: string): Promise<Record<string, string>[]> {
  const text = (await readInput(path, WORKPAPER_BYTES_MAX)).toString();
  const rows = readable(text, path);
  const seed = rows[0]?.['seed'];
  if (seed === undefined || rows.length > SIZE_MAX || !/^[!-~]{1,128}$/.test(seed)) {
    throw new Error(`${path} is no workpaper of docket sample: it has no rows with a seed.`);
  }
  return rows;
}

function readable(text: string, path: string): Record<string, string>[] {
  try {
    return recordsOf(text);
  } catch (error) {
    throw new Error(`${path} is no workpaper of docket sample: it is not CSV.`, { cause: error });
  }
}

function recordsOf(text: string): Record<string, string>[] {
  return parse(text, { columns: true, bom: true });
}

function said(
  pack: VerifiedPack,
  { seed, strata, rows }: Sample,
  { outcome, json }: { outcome: Record<string, string>; json?: boolean },
): void {
  const facts = { pack: pack.path, verdict: pack.verdict, trusted: pack.trusted, seed, ...outcome };
  process.exitCode = pack.exitCode;
  if (json === true) {
    const kinds = strata.map(({ region, tier, dataQuality, receipts, drawn }) => ({
      region,
      tier,
      data_quality: dataQuality,
      receipts,
      drawn,
    }));
    const drawn = rows.map(({ row, rank }) => ({ index: row.index, receipt: row.receipt, rank }));
    return printJson({ ...facts, pack_sha256: pack.sha256, kinds, drawn });
  }
  printFields(facts);
  process.stdout.write('\n');
  printTable(
    strata.map(({ region, tier, dataQuality, receipts, drawn }) => ({
      region,
      tier: tier || 'none',
      data_quality: dataQuality || 'no estimate',
      receipts,
      drawn,
    })),
    'No kinds.',
  );
}
