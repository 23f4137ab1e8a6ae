import { type Command, InvalidArgumentError } from 'commander';
import { readInput } from '#cli/input.ts';
import { parseInvoices, WrongInvoices } from '#cli/auditing/invoices.ts';
import { tableRows } from '#cli/auditing/pack-tables.ts';
import {
  type Agreement,
  gapsBetween,
  type PackedRange,
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

interface ReconcileOptions extends TrustOptions {
  invoices: string;
  model: ReadonlyMap<string, string>;
  tolerance: number;
  json?: boolean;
}

/** `docket reconcile`: tokens of receipts against a list of another hand, by day and model. Offline. */
export function register(program: Command): void {
  withTrustOptions(
    program
      .command('reconcile')
      .description('hold the tokens of evidence packs against an upstream’s invoices: offline')
      .argument('<pack.zip...>', 'of one ledger, without an entry twice; each is verified whole')
      .requiredOption(
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
      '\nExits with 0 when all days agree, 3 when they do and the issuer is unknown, 1 when something differs or entries\nbetween packs are missing, 2 when that cannot be judged.\n',
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
  const invoices = await readInvoices(options.invoices);
  const receipted = new ReceiptedDays();
  const packs: JudgedRange[] = [];
  for (const path of paths) {
    const pack = await withVerifiedPack(path, options, ({ seal, verdict, ...found }) => {
      receipted.take(tableRows(found.pack));
      const { range, checkpoint } = seal.credentialSubject;
      const [first, last] = [range.firstIndex, range.lastIndex];
      const { trusted, exitCode } = found;
      return { path, log: checkpoint.log, first, last, verdict, trusted, exitCode };
    });
    // Its verdict was said.
    if (pack === undefined) return;
    packs.push(pack);
  }
  const gaps = gapsBetween(packs);
  const days = receipted.compare(invoices, { names: options.model, tolerance: options.tolerance });
  const off = days.filter(({ agreement }) => agreement !== 'equal' && agreement !== 'within');
  const agrees = off.length === 0 && gaps.length === 0;
  process.exitCode = agrees ? Math.max(...packs.map(({ exitCode }) => exitCode)) : 1;
  if (options.json === true) {
    return printJson({ agrees, packs: packs.map(packAsJson), gaps, days: days.map(asJson) });
  }
  for (const { path, verdict, first, last } of packs) {
    printFields({ pack: path, verdict, entries: `${first} to ${last}` });
  }
  process.stdout.write('\n');
  printTable(days.map(asRow), 'Neither the packs nor the invoices have any tokens.');
  process.stdout.write(`\n${conclusion(days.length, off.length)}\n`);
  for (const { first, last } of gaps) {
    process.stdout.write(`Entries ${first} to ${last} are in none of the packs.\n`);
  }
}

function conclusion(days: number, off: number): string {
  if (off === 0) return `All ${days} days and models agree.`;
  return `${off} of ${days} days and models do not agree. A call that failed leaves no receipt, and may be billed.`;
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

/** What a pack has, and what it is worth. */
interface JudgedRange extends PackedRange {
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
