import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import { parse } from 'csv-parse/sync';
import { readInput } from '#cli/input.ts';
import { printFields, printJson, printTable } from '#cli/print.ts';
import {
  drawSample,
  type Sample,
  SAMPLE_SIZE,
  SAMPLE_SIZE_MAX,
  SEED,
  SEED_FROM,
  SEED_WORDS,
} from '#cli/auditing/draw.ts';
import { tableRows } from '#cli/auditing/pack-tables.ts';
import { receiptsOf } from '#cli/auditing/sampled.ts';
import {
  type TrustOptions,
  type VerifiedPack,
  withTrustOptions,
  withVerifiedPack,
} from '#cli/auditing/verified-pack.ts';
import { OF_EXAMINER, workpaperPage, workpaperTable } from '#cli/auditing/workpaper.ts';

/** A workpaper of that many rows, with findings. */
const WORKPAPER_BYTES_MAX = 32 * 1_048_576;

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
      .option('--size <count>', 'how many receipts', toSize, SAMPLE_SIZE)
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
  if (/^\d{1,5}$/.test(text) && size >= 1 && size <= SAMPLE_SIZE_MAX) return size;
  throw new InvalidArgumentError(`It is a number from 1 to ${SAMPLE_SIZE_MAX}.`);
}

function toSeed(text: string): string {
  if (SEED.test(text)) return text;
  throw new InvalidArgumentError(SEED_WORDS);
}

function write(pack: VerifiedPack, options: SampleOptions): void {
  const { root } = pack.seal.credentialSubject.checkpoint;
  const seed = options.seed ?? root;
  const seedFrom = options.seed === undefined ? SEED_FROM.root : SEED_FROM.given;
  const directory = options.out ?? `${basename(pack.path, '.zip')}-sample`;
  if (existsSync(directory) && readdirSync(directory).length > 0) {
    throw new Error(`${directory} is there already: name another directory with --out.`);
  }
  const sample = drawSample(() => tableRows(pack.pack), { seed, size: options.size });
  if (sample.rows.length === 0) throw new Error('There is no receipt in the pack that counts.');
  mkdirSync(join(directory, 'receipts'), { recursive: true });
  const rows = receiptsOf(pack.pack, sample, (name, bytes) =>
    writeFileSync(join(directory, 'receipts', name), bytes),
  );
  writeFileSync(join(directory, 'workpaper.csv'), workpaperTable(sample, rows, pack));
  const page = workpaperPage(sample, rows, { pack, seedFrom, hasFiles: true });
  writeFileSync(join(directory, 'workpaper.html'), page);
  said(pack, sample, { ...options, outcome: { seed_from: seedFrom, written_to: directory } });
}

async function check(
  pack: VerifiedPack,
  options: SampleOptions & { check: string },
): Promise<void> {
  const given = await readWorkpaper(options.check);
  const seed = given[0]!['seed'] ?? '';
  const sample = drawSample(() => tableRows(pack.pack), { seed, size: given.length });
  const rows = receiptsOf(pack.pack, sample, () => undefined);
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
  if (seed === undefined || rows.length > SAMPLE_SIZE_MAX || !SEED.test(seed)) {
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
