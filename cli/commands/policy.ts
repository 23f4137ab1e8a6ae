import type { Command } from 'commander';
import type { Explanation } from '#shared/screening/explain.ts';
import { DEFAULT_PACK_PATH, loadScreen } from '#shared/screening/files/load.ts';
import { EXIT_CODES } from '#cli/exit-codes.ts';
import { readInput } from '#cli/input.ts';
import { printJson, printTable } from '#cli/print.ts';
import { plain } from '#shared/kernel/plain-text.ts';

/** The default limit of a request body; a text to try out is smaller. */
const TEXT_BYTES_MAX = 20 * 1_048_576;
/** Found words longer than this are cut in the table. */
const SHOWN_CHARACTERS = 60;

interface TestOptions {
  pack: string;
  json?: boolean;
}

/** `docket policy test`: what screening makes of a text, rule by rule. Exits with 3 when it would be blocked. */
export function register(program: Command): void {
  const policy = program.command('policy').description('the rules that requests are screened by');
  policy
    .command('test')
    .description('show every rule and term that a text meets; exit code 3 when it would be blocked')
    .argument('<file>', 'a text file, or - for standard input')
    .option('--pack <file>', 'another rule pack than the one in use', DEFAULT_PACK_PATH)
    .option('--json', 'for programs')
    .action(async (file: string, options: TestOptions) => {
      const screen = loadScreen(options.pack);
      const text = (await readInput(file, TEXT_BYTES_MAX)).toString('utf8');
      const verdict = screen.check([text]);
      const explanation = screen.explain(text);
      if (options.json === true) {
        printJson({ blocked: verdict !== null, verdict, digest: screen.digest, ...explanation });
      } else print(text, explanation, verdict !== null);
      if (verdict !== null) process.exitCode = EXIT_CODES.policy.blocked.code;
    });
}

function print(text: string, explanation: Explanation, blocked: boolean): void {
  const verdict = blocked ? 'would be blocked' : 'would pass';
  process.stdout.write(`policy ${plain(explanation.policyVersion)}: ${verdict}\n\n`);
  printTable(
    explanation.rules.map((hit) => ({
      rule: hit.rule,
      code: hit.code,
      category: hit.category,
      at: place(text, hit.start),
      found: hit.evidence.map((span) => shown(text, span.start, span.end)).join(' … '),
    })),
    'No rule is met.',
  );
  process.stdout.write('\n');
  printTable(
    explanation.terms.map((hit) => ({
      term: hit.term,
      groups: hit.groups.join(', '),
      at: place(text, hit.start),
      found: shown(text, hit.start, hit.end),
      hidden: hit.masked ? 'by an innocent phrase' : null,
    })),
    'No term is found.',
  );
}

/** Line and column, from 1. */
function place(text: string, at: number): string {
  const before = text.slice(0, at);
  return `${before.split('\n').length}:${at - before.lastIndexOf('\n')}`;
}

/** A text may hold anything, and a terminal obeys some of it: only what is printed as itself is shown. */
function shown(text: string, start: number, end: number): string {
  const found = text.slice(start, Math.min(end, start + SHOWN_CHARACTERS));
  return found.replaceAll(/[\p{C}\s]+/gu, ' ') + (end - start > SHOWN_CHARACTERS ? '…' : '');
}
