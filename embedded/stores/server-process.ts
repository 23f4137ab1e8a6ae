import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { eachLine } from '#embedded/each-line.ts';
import { claimPort } from '#embedded/ports.ts';
import { bareEnvironment } from './bare-environment.ts';

/** A server that has said it is ready. */
export interface RunningServer {
  readonly pid: number;
  /** Resolves when it has ended, with `exit 0`, `exit SIGKILL` or the like. */
  readonly exited: Promise<string>;
  /** Asks it to finish and waits until it has; kills it when it takes longer than its bound. */
  readonly stop: () => Promise<void>;
  /** SIGKILL, as a power failure would: nothing is flushed. */
  readonly kill: () => void;
}

export interface ServerCommand {
  /** Its name in messages. */
  name: string;
  command: string;
  args: readonly string[];
  cwd?: string;
  user?: { uid: number; gid: number };
  /** The line after which it takes connections. */
  ready: RegExp;
  /** A bound on the time until that line. */
  readyMs: number;
  stopSignal: NodeJS.Signals;
  /** A bound on the time that a stop takes before it becomes a kill. */
  stopMs: number;
  onLog?: (line: string) => void;
  /** Told its process id before it is ready, so that it is not left behind when the launcher dies meanwhile. */
  onSpawn?: (pid: number) => void;
}

/** The server ended, or stayed silent, before it was ready. */
export class ServerStartError extends Error {
  /** The last lines it wrote. */
  readonly log: string;

  constructor(name: string, reason: string, log: string) {
    super(`${name} did not start (${reason})${log === '' ? '' : `:\n${log}`}`);
    this.name = 'ServerStartError';
    this.log = log;
  }
}

/** Enough to hold the reason that a server gives before it exits. */
const LOG_LINES_KEPT = 30;

/**
 * Starts a server in the foreground and returns when it is ready.
 * It gets a session of its own: a Ctrl-C in the terminal reaches the launcher alone, which stops
 * its processes in order, stores last.
 */
export async function startServer(options: ServerCommand): Promise<RunningServer> {
  // Its files are for its user alone, also where our own umask is laxer. `exec` keeps the process id.
  const masked = ['-c', 'umask 077; exec "$0" "$@"', options.command, ...options.args];
  const child = spawn('/bin/sh', masked, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...options.user,
    env: bareEnvironment(),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(`exit ${signal ?? code}`));
  });
  if (child.pid !== undefined) options.onSpawn?.(child.pid);
  const tail: string[] = [];
  const ready = new Promise<true>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      eachLine(stream, (line) => {
        tail.push(line);
        if (tail.length > LOG_LINES_KEPT) tail.shift();
        options.onLog?.(line);
        if (options.ready.test(line)) resolve(true);
      });
    }
  });
  const timer = new AbortController();
  const late = delay(options.readyMs, 'no sign of life', { signal: timer.signal, ref: false });
  const outcome = await Promise.race([ready, exited, late]);
  timer.abort();
  late.catch(() => undefined);
  if (outcome !== true) {
    child.kill('SIGKILL');
    await exited;
    throw new ServerStartError(options.name, outcome, tail.join('\n'));
  }
  return running(child, exited, options);
}

function running(
  child: ChildProcess,
  exited: Promise<string>,
  { stopSignal, stopMs }: ServerCommand,
): RunningServer {
  // The launcher may end without stopping the server only by being killed; until then it waits for
  // its own work, not for this pipe.
  child.unref();
  const kill = (): void => {
    child.kill('SIGKILL');
  };
  const stop = async (): Promise<void> => {
    child.ref();
    child.kill(stopSignal);
    const deadline = setTimeout(kill, stopMs);
    await exited;
    clearTimeout(deadline);
  };
  return { pid: child.pid!, exited, stop, kill };
}

/** Another process may take a free port between the look and the bind; ten losses in a row are no accident. */
const PORT_ATTEMPTS = 10;

/**
 * Runs `start` with a port: the one asked for, or free ones until the server gets to bind one.
 * @param portTaken tells from a failed start's log that the port was the reason.
 */
export async function withPort<T>(
  wanted: number | undefined,
  portTaken: RegExp,
  start: (port: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await start(wanted ?? (await claimPort('127.0.0.1', 0)));
    } catch (error) {
      const taken = error instanceof ServerStartError && portTaken.test(error.log);
      if (!taken || wanted !== undefined || attempt >= PORT_ATTEMPTS) throw error;
    }
  }
}
