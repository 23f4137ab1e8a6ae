/** Stands in for a process of the Procfile: says it is ready, then ends as it is told to. */
import { readEnvironment } from '#shared/config/config.ts';

const env = readEnvironment();
process.stdout.write('starting\n');
if (env['MODE'] === 'fail') throw new Error('the catalogue is wrong');
process.once('SIGTERM', () => {
  process.stdout.write(`${JSON.stringify({ event: 'stopped', seen: Object.keys(env) })}\n`);
  process.exit(0);
});
process.stdout.write(
  `${JSON.stringify({ event: 'ready', port: Number(env['PORT']) + 1, metrics_port: 2 })}\n`,
);
setInterval(() => {}, 1_000);
