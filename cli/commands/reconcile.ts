import { type Command, InvalidArgumentError } from 'commander';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { REPORT_STATEMENT, SEAL } from '#shared/packs/layout.ts';
import { parseStatement } from '#shared/packs/report/statement.ts';
import type { SealDocument } from '#shared/packs/seal-format.ts';
import { readInput } from '#cli/input.ts';
import { textOf } from '#cli/verify/lines.ts';
import type { PackFile } from '#cli/verify/pack-file.ts';
import { parseInvoices, WrongInvoices } from '#cli/auditing/invoices.ts';
import { tableRows } from '#cli/auditing/pack-tables.ts';
import {
  type Agreement,
  gapsBetween,
  type FoundEarlier,
  type LaidPack,
  type NamedEarlier,
  namedEarlier,
  ReceiptedDays,
  type ReconciledDay,
} from '#cli/auditing/reconcile.ts';
import {
  type TrustOptions,
  withTrustOptions,
  withVerifiedPack,
} from '#cli/auditing/verified-pack.ts';
import { printFields, printJson, printTable } from '#cli/print.ts';

/** A line for each day and each of a hundred models in ten years is a tenth of it. */
const INVOICES_BYTES_MAX = 64 * 1_048_576;

const WORDS: Readonly<Record<Agreement, string>> = {
  equal: 'equal',
  within: 'within tolerance',
  differs: 'DIFFERS',
  only_receipts: 'ONLY RECEIPTS',
  only_invoices: 'ONLY INVOICES',
};

const FOUND: Readonly<Record<FoundEarlier, string>> = {
  same: 'its seal and figures are as named',
  other_figures: 'ITS FIGURES ARE OTHERS than those that are named',
  another_seal: 'a pack of these entries was given, under another seal',
  not_given: 'it was not given',
};

interface ReconcileOptions extends TrustOptions {
  invoices?: string;
  model: ReadonlyMap<string, string>;
  tolerance: number;
  json?: boolean;
}

/** `docket reconcile`: packs laid beside each other, and their tokens beside a list of another hand. Offline. */
export function register(program: Command): void {
  withTrustOptions(
    program
      .command('reconcile')
      .description(
        'lay evidence packs beside each other, and their tokens beside an upstream’s invoices: offline',
      )
      .argument('<pack.zip...>', 'of one ledger, without an entry twice; each is verified whole')
      .option(
        '--invoices <file.csv>',
        'date,model,input_tokens,output_tokens with a header line; days are of UTC',
      )
      .option(
        '--model <name=name>',
        'what the invoices call a model, and what receipts call it; may be repeated',
        withName,
        new Map<string, string>(),
      )
      .option(
        '--tolerance <percent>',
        'of the greater of both, by which they may differ',
        toShare,
        0,
      )
      .option('--json', 'for programs'),
  )
    .addHelpText(
      'after',
      '\nExits with 0 when all agrees, 3 when it does and the issuer is unknown, 1 when a day or the figures of a named pack\ndiffer or entries between packs are missing, 2 when that cannot be judged.\n',
    )
    .action(reconcile);
}

function withName(text: string, names: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const [, theirs, ours] = /^([^=]+)=(.+)$/.exec(text) ?? [];
  if (theirs !== undefined && ours !== undefined) return new Map([...names, [theirs, ours]]);
  throw new InvalidArgumentError('It is two names, as in --model gpt-4o-2024-08-06=gpt-4o.');
}

function toShare(text: string): number {
  const percent = Number(text);
  if (/^\d{1,3}(?:\.\d{1,4})?$/.test(text) && percent <= 100) return percent / 100;
  throw new InvalidArgumentError('It is a number of percent from 0 to 100.');
}

async function reconcile(paths: string[], options: ReconcileOptions): Promise<void> {
  const invoices = options.invoices === undefined ? [] : await readInvoices(options.invoices);
  const receipted = new ReceiptedDays();
  const packs: JudgedRange[] = [];
  for (const path of paths) {
    const pack = await withVerifiedPack(path, options, ({ seal, verdict, ...found }) => {
      receipted.take(tableRows(found.pack));
      const { trusted, exitCode } = found;
      return { ...laid(path, found.pack, seal), verdict, trusted, exitCode };
    });
    // Its verdict was said.
    if (pack === undefined) return;
    packs.push(pack);
  }
  const gaps = gapsBetween(packs);
  const earlier = namedEarlier(packs);
  const { model: names, tolerance } = options;
  const days =
    options.invoices === undefined ? [] : receipted.compare(invoices, { names, tolerance });
  const off = days.filter(({ agreement }) => agreement !== 'equal' && agreement !== 'within');
  const isAsNamed = earlier.every(({ found }) => found !== 'other_figures');
  const agrees = off.length === 0 && gaps.length === 0 && isAsNamed;
  process.exitCode = agrees ? Math.max(...packs.map(({ exitCode }) => exitCode)) : 1;
  if (options.json === true) {
    return printJson({
      agrees,
      packs: packs.map(packAsJson),
      gaps,
      earlier: earlier.map(earlierAsJson),
      days: days.map(asJson),
    });
  }
  for (const { path, verdict, first, last } of packs) {
    printFields({ pack: path, verdict, entries: `${first} to ${last}` });
  }
  process.stdout.write('\n');
  if (options.invoices !== undefined) {
    printTable(days.map(asRow), 'Neither the packs nor the invoices have any tokens.');
    process.stdout.write(`\n${conclusion(days.length, off.length)}\n`);
  }
  for (const { by, named, found } of earlier) {
    const { firstIndex, lastIndex } = named;
    const line = `${by} names a pack of the entries ${firstIndex} to ${lastIndex}: ${FOUND[found]}.`;
    process.stdout.write(`${line}\n`);
  }
  for (const { first, last } of gaps) {
    process.stdout.write(`Entries ${first} to ${last} are in none of the packs.\n`);
  }
}

function conclusion(days: number, off: number): string {
  if (off === 0) return `All ${days} days and models agree.`;
  return `${off} of ${days} days and models do not agree. Calls that failed are not among these tokens, and may be billed.`;
}

async function readInvoices(path: string) {
  const text = (await readInput(path, INVOICES_BYTES_MAX)).toString();
  try {
    return parseInvoices(text);
  } catch (error) {
    if (error instanceof WrongInvoices) {
      throw new Error(`${path}: ${error.message}.`, { cause: error });
    }
    throw error;
  }
}

function laid(path: string, pack: PackFile, seal: SealDocument): LaidPack {
  const { range, checkpoint, totals } = seal.credentialSubject;
  const { earlier } = parseStatement(textOf(pack.read(REPORT_STATEMENT), REPORT_STATEMENT));
  return {
    path,
    name: pack.folder,
    log: checkpoint.log,
    first: range.firstIndex,
    last: range.lastIndex,
    size: checkpoint.size,
    seal: multihashOfContent(pack.read(SEAL)),
    totals,
    earlier,
  };
}

function earlierAsJson({ by, named, found }: NamedEarlier) {
  return { named_by: by, pack: named, found };
}

/** What a pack has, and what it is worth. */
interface JudgedRange extends LaidPack {
  verdict: string;
  trusted: string;
  exitCode: number;
}

function packAsJson({ path, log, first, last, verdict, trusted }: JudgedRange) {
  return { pack: path, log, first_index: first, last_index: last, verdict, trusted };
}

function asRow({ day, model, receipts, inputTokens, outputTokens, agreement }: ReconciledDay) {
  return {
    day,
    model,
    receipts,
    input: inputTokens.receipts,
    billed_input: inputTokens.invoices,
    output: outputTokens.receipts,
    billed_output: outputTokens.invoices,
    result: WORDS[agreement],
  };
}

function asJson({ inputTokens, outputTokens, ...day }: ReconciledDay) {
  return { ...day, input_tokens: inputTokens, output_tokens: outputTokens };
}
