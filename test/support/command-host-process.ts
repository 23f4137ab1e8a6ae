/** Runs the commands that its parent names, one after another, each as a process of its own would. */
import { Readable } from 'node:stream';
import { type CommandEnd, END_OF_COMMAND, type HostedCommand } from './command-host.ts';
import { openHandles } from './handles.ts';

const [program = '', settlingMs = ''] = process.argv.slice(2);
const { runProgram } = (await import(program)) as {
  runProgram: (args: readonly string[]) => Promise<void>;
};
/** Node's own for a program that waits for what cannot come. */
const EXIT_UNSETTLED = 13;

process.on('message', (command: HostedCommand) => void run(command));
// It ends with its parent, also when that is killed.
process.once('disconnect', () => process.exit());

async function run({ args, env, input }: HostedCommand): Promise<void> {
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, env);
  process.argv.splice(2, Infinity, ...args);
  process.exitCode = undefined;
  const value = Readable.from([Buffer.from(input)], { objectMode: false });
  Object.defineProperty(process, 'stdin', { value, configurable: true });
  // The command alone keeps this process alive now, so that it has ended when a process of its own would.
  process.channel!.unref();
  let isSettled = false;
  let late: NodeJS.Timeout | undefined;
  process.once('beforeExit', () => {
    process.channel!.ref();
    clearTimeout(late);
    // Not before: what a command has left to a later turn may set it too.
    end({ code: Number(process.exitCode ?? (isSettled ? 0 : EXIT_UNSETTLED)) });
  });
  await runProgram(args);
  isSettled = true;
  late = setTimeout(() => end({ open: [...openHandles().keys()] }), Number(settlingMs));
  late.unref();
}

function end(how: CommandEnd): void {
  process.stdout.write(END_OF_COMMAND);
  process.stderr.write(END_OF_COMMAND);
  process.send!(how);
}
