import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { childEnvironment } from './child-environment.ts';

/** What a command is given, as a process is. */
export interface HostedCommand {
  args: readonly string[];
  /** All of it: nothing of the command before is left. */
  env: Readonly<Record<string, string | undefined>>;
  /** Standard input. */
  input: string;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** How a command ended, or what still kept it alive when it had done everything. */
export type CommandEnd = { code: number } | { open: string[] };

/** The last that a host writes of a command, on either output. */
export const END_OF_COMMAND = '\0end of command\0';

const HOST = join(import.meta.dirname, 'command-host-process.ts');
/** Closing takes a few turns of the event loop, and a word of the kernel or of the other side. */
const SETTLING_MS = 10_000;
/** A command that hangs is a failure; most take a few milliseconds. */
const TIMEOUT_MS = 80_000;

/**
 * A process that runs commands one after another: what a process of its own takes for each is mostly loading modules. It is
 * started when it is first needed, and again after a command that ended it, and lives as long as the process of tests.
 *
 * What modules keep stays from one command to the next: files that are shipped, and what follows from arguments.
 */
export class CommandHost {
  readonly #program: string;
  readonly #settlingMs: number;
  #child: ChildProcess | undefined;
  /** Of the command that is under way. */
  #said = { stdout: '', stderr: '' };
  #last: Promise<unknown> = Promise.resolve();

  /** @param program the file of a module with `runProgram(args)` */
  constructor(program: string, settlingMs = SETTLING_MS) {
    this.#program = program;
    this.#settlingMs = settlingMs;
    process.once('exit', () => this.stop());
  }

  /** @throws Error when the command does not end; it says what the command has left open if that is why. */
  run(command: HostedCommand): Promise<CommandResult> {
    const result = this.#last.then(() => this.#run(command));
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Ends the process; the next command has another. */
  stop(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }

  async #run(command: HostedCommand): Promise<CommandResult> {
    const child = (this.#child ??= this.#start());
    this.#said = { stdout: '', stderr: '' };
    child.send(command);
    const name = `docket ${command.args.join(' ')}`;
    const [end] = await this.#endOf(child, name);
    if (typeof end !== 'object' || end === null) return { code: end, ...this.#said };
    if ('open' in end) {
      this.stop();
      throw new Error(`${name} has left open: ${end.open.join(', ')}`);
    }
    const [stdout, stderr] = [
      await this.#whole(child, 'stdout'),
      await this.#whole(child, 'stderr'),
    ];
    return { code: end.code, stdout, stderr };
  }

  /** What the host says of the end of a command, or the exit code of the host if the command has ended that. */
  async #endOf(child: ChildProcess, name: string): Promise<[CommandEnd | number | null]> {
    const heard = new AbortController();
    const late = AbortSignal.timeout(TIMEOUT_MS);
    const signal = AbortSignal.any([heard.signal, late]);
    try {
      return (await Promise.race([
        once(child, 'message', { signal }),
        once(child, 'close', { signal }),
      ])) as [CommandEnd | number | null];
    } catch (error) {
      this.stop();
      throw new Error(`${name} did not end.`, { cause: error });
    } finally {
      heard.abort();
    }
  }

  async #whole(child: ChildProcess, output: 'stdout' | 'stderr'): Promise<string> {
    while (!this.#said[output].endsWith(END_OF_COMMAND)) await once(child[output]!, 'data');
    return this.#said[output].slice(0, -END_OF_COMMAND.length);
  }

  /** Nothing of it counts as open in this process, as it outlives files of tests. */
  #start(): ChildProcess {
    const child = spawn(process.execPath, [HOST, this.#program, String(this.#settlingMs)], {
      env: childEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    child.unref();
    child.channel!.unref();
    for (const output of ['stdout', 'stderr'] as const) {
      const stream = child[output] as Socket;
      stream.setEncoding('utf8').on('data', (text: string) => (this.#said[output] += text));
      stream.unref();
    }
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined;
    });
    return child;
  }
}
