/**
 * Loaded before the main file of every process that the launcher starts (`node --import`). When the launcher ends, in
 * any way, the channel to it closes: then this process stops as on SIGTERM, and exits when that takes too long.
 */
import process from 'node:process';

/** Time for an orderly stop of any role. No launcher is left that could grant more. */
const FINISH_MS = 10_000;

if (process.channel) {
  process.once('disconnect', () => {
    setTimeout(() => process.exit(1), FINISH_MS).unref();
    process.kill(process.pid, 'SIGTERM');
  });
  // Listening must not keep a process alive that has nothing else to do.
  process.channel.unref();
}
