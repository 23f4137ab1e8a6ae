/**
 * Loaded before the main file of every process that the launcher starts (`node --import`). When the
 * launcher is gone, however it went, the channel to it closes: then this process finishes like after
 * a SIGTERM, and is gone itself when it does not.
 */
import process from 'node:process';

/** What an orderly stop of any role may take; nobody is there any more to wait longer. */
const FINISH_MS = 10_000;

if (process.channel) {
  process.once('disconnect', () => {
    setTimeout(() => process.exit(1), FINISH_MS).unref();
    process.kill(process.pid, 'SIGTERM');
  });
  // Listening must not keep a process alive that has nothing else to do.
  process.channel.unref();
}
