/**
 * Preloaded into every process of the gateway (`--import`), with LOOP_CPU_DIR: notes each quarter of a second, in a file
 * named after the process, how much processor time its event loop spent at most between two looks at its timers. On a
 * machine that others use as well this says what a step costs, where the clock says who else was busy.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

const directory = process.env['LOOP_CPU_DIR'];
const NOTE_MS = 250;

if (directory !== undefined && isMainThread) {
  const file = join(directory, String(process.pid));
  let last = process.threadCpuUsage();
  let most = 0;
  setInterval(() => {
    const now = process.threadCpuUsage();
    most = Math.max(most, (now.user - last.user + now.system - last.system) / 1_000);
    last = now;
  }, 1).unref();
  setInterval(() => {
    appendFileSync(file, `${Date.now()} ${most}\n`);
    most = 0;
  }, NOTE_MS).unref();
}
