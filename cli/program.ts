import { existsSync, readdirSync } from 'node:fs';
import { Command, CommanderError, Help } from 'commander';
import { Fault } from '#shared/kernel/errors.ts';
import { plain, plainJson, reasonOf } from '#shared/kernel/plain-text.ts';
import { readBuild } from '#shared/process/build.ts';
import { EXIT_CODES } from './exit-codes.ts';

/** Each file of this folder is one command, named like it, and exports `register(program)`. */
const COMMANDS = new URL('./commands/', import.meta.url);

interface CommandFile {
  register: (program: Command) => void;
}

/** Runs `docket …` with these arguments; what it comes to is the exit code of the process. */
export async function runProgram(args: readonly string[]): Promise<void> {
  const asJson = args.includes('--json');
  const program = makeProgram(asJson);
  await load(program, args[0]);
  try {
    await program.parseAsync(thumbprintsLast(args), { from: 'user' });
  } catch (error) {
    // What is wrong with arguments is said by then.
    const isSaid = error instanceof CommanderError;
    if (!isSaid) {
      const code = error instanceof Fault ? error.code : 'failed';
      const reason = reasonOf(error);
      process.stderr.write(asJson ? jsonError(code, reason) : `docket: ${reason}\n`);
    }
    process.exitCode = isSaid ? error.exitCode : EXIT_CODES.command.failed.code;
  }
}

/** What a key's thumbprint looks like when it begins with a minus, as one in 64 does; no option is that long. */
const THUMBPRINT_LIKE_OPTION = /^-[\w-]{42}$/;

/** A thumbprint is never an option: one that looks like it goes behind `--`, the place of its own argument being the last. */
function thumbprintsLast(args: readonly string[]): readonly string[] {
  const likeOptions = args.filter((arg) => THUMBPRINT_LIKE_OPTION.test(arg));
  if (likeOptions.length === 0 || args.includes('--')) return args;
  return [...args.filter((arg) => !likeOptions.includes(arg)), '--', ...likeOptions];
}

/** A failure as a program reads it: one line, in the form of the API's errors. */
function jsonError(code: string, message: string): string {
  return `${plainJson(JSON.stringify({ error: { code, message } }))}\n`;
}

/** @param asJson whether arguments that are wrong are said to a program */
function makeProgram(asJson: boolean): Command {
  return (
    new Command('docket')
      .description(
        'OpenAI-compatible inference gateway that returns a signed, verifiable receipt with every answer',
      )
      .version(versionLine(), '-V, --version')
      .showHelpAfterError(asJson ? false : '(add --help for what is possible)')
      .configureHelp({
        sortSubcommands: true,
        // An option that is missing is named one at a time, and the usage says "[options]" of all of them.
        optionDescription: (option) =>
          `${new Help().optionDescription(option)}${option.mandatory ? ' (required)' : ''}`,
      })
      // Arguments are often text of others: a script passes on what it was sent.
      .configureOutput({
        outputError: (text, write) =>
          write(
            asJson
              ? jsonError('invalid_arguments', text.trim().replace(/^error: /, ''))
              : text.split('\n').map(plain).join('\n'),
          ),
      })
      .enablePositionalOptions()
      // Thrown instead of ending the process.
      .exitOverride()
  );
}

/** With every command, for what looks at all of them. */
export async function wholeProgram(): Promise<Command> {
  const program = makeProgram(false);
  await load(program, undefined);
  return program;
}

/** With the commit, where it is known: two builds of a version are two. */
function versionLine(): string {
  const { version, commit } = readBuild();
  return commit === undefined ? version : `${version} (commit ${commit})`;
}

/** Only the command that was asked for is loaded, and none for the version; for help, and for a word that is none, all are. */
async function load(program: Command, word: string | undefined): Promise<void> {
  if (word === '-V' || word === '--version') return;
  const wanted = word !== undefined && /^[a-z][a-z-]*$/.test(word) ? [`${word}.ts`] : [];
  const known = wanted.filter((name) => existsSync(new URL(name, COMMANDS)));
  const files =
    known.length > 0 ? known : readdirSync(COMMANDS).filter((name) => name.endsWith('.ts'));
  for (const name of files.toSorted()) {
    const file = (await import(new URL(name, COMMANDS).href)) as CommandFile;
    file.register(program);
  }
}
