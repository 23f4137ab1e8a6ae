import type { Command } from 'commander';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { type Difference, recompute } from '#shared/methodology/recompute.ts';
import { derivationDigest, wholeMeasurement } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { locateReceipt } from '#shared/receipts/locate.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { statedMeasurement } from '#shared/receipts/reread.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { EXIT_CODES } from '#cli/exit-codes.ts';
import { findDerivation } from '#cli/derivation-file.ts';
import { checkIsAnswer, type NamedDerivation } from '#cli/verify/judge-receipt.ts';
import { readAnswer } from '#cli/input.ts';
import { utf8 } from '#cli/utf8.ts';
import { printFields, printJson, printTable } from '#cli/print.ts';

interface RecomputeOptions {
  json?: boolean;
  derivation?: string;
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
    .option(
      '--derivation <file>',
      'the derivation record that the receipt names; without it the file <digest>.json beside the receipt is taken',
    )
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      '\nOffline, from the receipt and the derivation record that it names (fetch it from the address in measurement.derivation). This does not check the signature: that is `docket verify`.\n\nExample:\n  $ npx docket recompute receipt.json\n',
    )
    .action(async (file: string, options: RecomputeOptions) => {
      const { document } = receiptIn(await readAnswer(file), file);
      const { measurement } = document;
      const digest = measurement && derivationDigest(measurement);
      const found =
        digest === undefined ? undefined : await findDerivation(digest, file, options.derivation);
      const report = reproduce(document, found);
      if (options.json === true) printJson(report);
      else print(report);
      if (!report.reproduced) process.exitCode = EXIT_CODES.recompute.differs.code;
    });
}

/** @throws Error that names the file, when there is no receipt in it */
function receiptIn(source: Buffer, file: string): ReturnType<typeof parseReceipt> {
  checkIsAnswer(source, file);
  try {
    return parseReceipt(locateReceipt(utf8(source)).receipt);
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    throw new Error(`${file}: ${error.message}`, { cause: error });
  }
}

interface Report {
  reproduced: boolean;
  receipt: string;
  methodology: string;
  differences: readonly Difference[];
}

function reproduce(document: ReceiptDocument, found: NamedDerivation | undefined): Report {
  const { measurement, degradation } = document;
  if (measurement === undefined) {
    const why =
      degradation === undefined ? 'the request was refused' : `degraded: ${degradation.code}`;
    throw new Error(`The receipt states no measurement (${why}).`);
  }
  if (found === undefined) {
    const { derivation } = measurement;
    throw new Error(
      `The receipt names its other inputs by a derivation record. Fetch ${derivation}, keep it beside the receipt as ${derivationDigest(measurement)}.json or name it with --derivation, and try again.`,
    );
  }
  const stated = statedMeasurement(wholeMeasurement(measurement, () => found.document));
  const { id, version } = stated.methodology;
  const methodology = shippedMethodologies().methodology(id, version);
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
