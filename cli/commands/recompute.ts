import type { Command } from 'commander';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { type Difference, recompute } from '#shared/methodology/recompute.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { locateReceipt } from '#shared/receipts/locate.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { statedMeasurement } from '#shared/receipts/reread.ts';
import { loadMethodologies } from '#shared/methodology/files/methodologies.ts';
import { readAnswer, utf8 } from '#cli/input.ts';
import { printFields, printJson, printTable } from '#cli/print.ts';

interface RecomputeOptions {
  json?: boolean;
}

/** `docket recompute`: offline. Exits with 1 when the measurement cannot be reproduced to the last character. */
export function register(program: Command): void {
  program
    .command('recompute')
    .description('compute the measurement of a receipt again and compare every character')
    .argument(
      '<file>',
      'a receipt, or an API answer or stream that carries one; - reads standard input',
    )
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      '\nOffline, and from the receipt alone. This does not check the signature: that is `docket verify`.\n\nExample:\n  $ npx docket recompute receipt.json\n',
    )
    .action(async (file: string, options: RecomputeOptions) => {
      const { document } = parseReceipt(locateReceipt(utf8(await readAnswer(file))));
      const report = reproduce(document);
      if (options.json === true) printJson(report);
      else print(report);
      if (!report.reproduced) process.exitCode = 1;
    });
}

interface Report {
  reproduced: boolean;
  receipt: string;
  methodology: string;
  differences: readonly Difference[];
}

function reproduce(document: ReceiptDocument): Report {
  const { measurement, degradation } = document;
  if (measurement === undefined) {
    const why =
      degradation === undefined ? 'the request was refused' : `degraded: ${degradation.code}`;
    throw new Error(`The receipt states no measurement (${why}).`);
  }
  const stated = statedMeasurement(measurement);
  const { id, version } = stated.methodology;
  const methodology = loadMethodologies().methodology(id, version);
  if (methodology === undefined) throw new Error(`There is no methodology ${id} ${version} here.`);
  const { differences } = recompute(rebuildInput(stated.inputs), methodology, stated);
  return {
    reproduced: differences.length === 0,
    receipt: document.id,
    methodology: `${id} ${version}`,
    differences,
  };
}

function print({ reproduced, receipt, methodology, differences }: Report): void {
  const verdict = reproduced
    ? 'REPRODUCED  every figure and digest, to the last character'
    : `DIFFERENT  ${differences.length} of the stated figures and digests`;
  process.stdout.write(`${verdict}\n\n`);
  printFields({ receipt, methodology });
  if (reproduced) return;
  process.stdout.write('\n');
  printTable(
    differences.map(({ path, stated, recomputed }) => ({
      what: path,
      stated: stated ?? null,
      recomputed: recomputed ?? null,
    })),
    '',
  );
}
