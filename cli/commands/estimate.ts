import { type Command, Option } from 'commander';
import { FROZEN_METHODOLOGIES } from '#shared/methodology/frozen.ts';
import { DEFAULT_METHODOLOGY, loadMethodologies } from '#shared/methodology/files/methodologies.ts';
import { answerTo, profiles } from '#cli/estimate-line.ts';
import { answerLines, type LineProblem } from '#cli/json-lines.ts';

const PROBLEMS: Readonly<Record<LineProblem, string>> = {
  line_too_long: 'The line is longer than 64 KiB.',
  line_not_utf8: 'The line is not UTF-8.',
  line_not_json: 'The line is not JSON.',
};

const HELP = `
One JSON object per line on standard input, one result or {"error":{…}} per line on standard output, in order.
A bad line does not stop the others, and does not change the exit code. An "id" on a line comes back with its result.

Fields of docket-1:
  model | active_b, total_b     a record of the factor set, or billions of parameters
  precision, batch              bf16 fp16 fp8 int8 fp4 int4; concurrent requests per replica
  input_tokens, cached_input_tokens, output_tokens, latency_s
  zone, pue, wue                grid zone (FRA, USA, WOR …); of the data centre
Fields of ecologits-0.11.2: those of the reference's published vectors (output_token_count, datacenter_pue …).

Example:
  $ echo '{"model":"llama-3.1-8b","input_tokens":200,"output_tokens":300,"zone":"FRA"}' | npx docket estimate
`;

/** `docket estimate`: the methodology over standard input. */
export function register(program: Command): void {
  const ids = [...new Set(FROZEN_METHODOLOGIES.map(({ id }) => id))];
  program
    .command('estimate')
    .description('estimate footprints: one JSON object per line in, one result per line out')
    .addOption(
      new Option('--profile <id>', 'methodology').choices(ids).default(DEFAULT_METHODOLOGY),
    )
    // A line of JSON is for programs already; the option is there because every command has it.
    .option('--json', 'for programs (always so)')
    .addHelpText('after', HELP)
    .action(async ({ profile }: { profile: string }) => {
      const estimate = profiles(loadMethodologies().current).get(profile);
      if (estimate === undefined) throw new Error(`There is no profile ${profile}.`);
      await answerLines(process.stdin, process.stdout, (line) =>
        'problem' in line
          ? { error: { code: line.problem, message: PROBLEMS[line.problem] } }
          : answerTo(line.value, estimate),
      );
    });
}
