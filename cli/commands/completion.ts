import { Argument, type Command } from 'commander';
import { completionFor, type Shell, SHELLS } from '#cli/completion.ts';
import { wholeProgram } from '#cli/program.ts';

/** `docket completion`: from the table of commands itself, so that it knows what this version takes. */
export function register(program: Command): void {
  program
    .command('completion')
    .description(
      'print a script by which a shell completes commands, as `source <(docket completion bash)`',
    )
    .addArgument(new Argument('<shell>', 'the shell that reads it').choices(SHELLS))
    .action(async (shell: Shell) => {
      process.stdout.write(completionFor(shell, await wholeProgram()));
    });
}
