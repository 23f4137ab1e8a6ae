import type { Command } from 'commander';
import { EXIT_CODES } from '#cli/exit-codes.ts';
import type { Finding, Verdict } from '#cli/doctor/finding.ts';
import type { Report } from '#cli/doctor/examine.ts';
import { printJson, printTable } from '#cli/print.ts';
import { plain } from '#shared/kernel/plain-text.ts';

const SIGNS: Readonly<Record<Verdict, string>> = {
  ok: '✓',
  warning: '!',
  problem: '✗',
  skipped: '-',
};

/** `docket doctor`: what is wrong here, and what to do about it. */
export function register(program: Command): void {
  program
    .command('doctor')
    .description(
      'check stores, versions, keys, catalogue, upstreams, clocks and settings, and say what to fix',
    )
    .option('--no-upstreams', 'ask no upstream')
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      `
Upstreams are asked as by \`docket catalogue check --probe\`, with the credentials of this environment.

Exit codes: 0 nothing must be fixed, 1 something must.`,
    )
    .action(async (options: { upstreams: boolean; json?: boolean }) => {
      const { examine } = await import('#cli/doctor/examine.ts');
      const report = await examine(options);
      if (options.json === true) printJson(report);
      else print(report);
      if (!report.healthy) process.exitCode = EXIT_CODES.doctor.ill.code;
    });
}

function print({ findings, settings, healthy }: Report): void {
  printTable(
    settings.map(({ name, value, source, problem }) => ({
      setting: name,
      value: problem === null ? value : `${value}  ← ${problem}`,
      source,
    })),
    'No settings.',
  );
  process.stdout.write('\n');
  const width = Math.max(...findings.map(({ name }) => name.length));
  for (const finding of findings) process.stdout.write(line(finding, width));
  const toFix = findings.filter(({ verdict }) => verdict === 'problem').length;
  process.stdout.write(healthy ? '\nNothing must be fixed.\n' : `\n${toFix} to fix.\n`);
}

function line({ name, verdict, detail, fix }: Finding, width: number): string {
  const first = `${SIGNS[verdict]} ${name.padEnd(width)}  ${plain(detail)}\n`;
  return fix === undefined ? first : `${first}  ${' '.repeat(width)}  → ${fix}\n`;
}
