import { loadConfig } from '../../shared/config/config.ts';
import { createLedgerProcess } from './deps.ts';
import { runLedger } from './loop.ts';

const config = loadConfig();
const { loop, health, log, close } = await createLedgerProcess(config);
const stopping = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.once(signal, () => {
    health.setDraining();
    stopping.abort();
    // A batch is one short transaction; whoever holds it up loses it, and the next worker does it again.
    setTimeout(() => process.exit(1), config.shutdownMs).unref();
  });
}
log.info({ event: 'ready', metrics_port: health.port });
await runLedger(loop, stopping.signal);
await close();
log.info({ event: 'stopped' });
