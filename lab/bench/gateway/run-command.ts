import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface CommandRun {
  code: number;
  seconds: number;
  /** The most memory that it held at once (RSS), by what a look twenty times a second found. */
  peakMb: number;
}

const LOOK_MS = 50;

/** Runs a command to its end, without its output, and watches how much memory it takes at most. */
export async function runCommand(
  program: string,
  args: readonly string[],
  env?: NodeJS.ProcessEnv,
): Promise<CommandRun> {
  const started = performance.now();
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'inherit'],
    ...(env === undefined ? {} : { env }),
  });
  let peakKb = 0;
  const timer = setInterval(() => {
    peakKb = Math.max(peakKb, peakOf(child.pid!));
  }, LOOK_MS);
  const code = await new Promise<number>((resolve) => child.once('close', resolve));
  clearInterval(timer);
  return { code, seconds: (performance.now() - started) / 1_000, peakMb: peakKb / 1_024 };
}

function peakOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB/m.exec(text)?.[1] ?? 0);
  } catch {
    // It has ended.
    return 0;
  }
}
