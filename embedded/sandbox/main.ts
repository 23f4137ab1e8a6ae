import type { AddressInfo } from 'node:net';
import { type Environment, readEnvironment } from '#shared/config/config.ts';
import { isLoadedOnly } from '#shared/process/loaded-only.ts';
import { tellLauncher } from '#shared/process/tell-launcher.ts';
import { createSandbox } from './server.ts';

/** Like a served 70B model for one reader: a stream that can be watched. */
const TOKENS_PER_SECOND_DEFAULT = 200;
/** Streams in progress may end; a client that does not read must not hold the process. */
const DRAIN_MS = 2_000;

/** Levels of LOG_LEVEL at which a line of level info is not written. */
const QUIET_LEVELS: ReadonlySet<string> = new Set(['warn', 'error', 'fatal', 'silent']);

/** Serves the sandbox as a process: says `ready` with its port, and ends on SIGTERM or SIGINT. */
function runSandbox(env: Environment): void {
  const apiKey = env['SANDBOX_API_KEY'];
  const server = createSandbox({
    tokensPerSecond: numberOf(env, 'SANDBOX_TOKENS_PER_SECOND', TOKENS_PER_SECOND_DEFAULT),
    ...(apiKey === undefined || apiKey === '' ? {} : { apiKey }),
  });
  let stopping = false;
  const stop = (): void => {
    if (stopping) return;
    stopping = true;
    server.close(() => process.exit(0));
    server.closeIdleConnections();
    setTimeout(() => process.exit(0), DRAIN_MS).unref();
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  const address = {
    port: numberOf(env, 'PORT', 0),
    host: env['HOST'] ?? '127.0.0.1',
    reusePort: env['REUSE_PORT'] === '1',
  };
  server.listen(address, () => {
    const { port } = server.address() as AddressInfo;
    const ready = { level: 'info', role: 'sandbox', event: 'ready', port };
    if (!QUIET_LEVELS.has(env['LOG_LEVEL'] ?? '')) {
      process.stdout.write(`${JSON.stringify(ready)}\n`);
    }
    tellLauncher({});
  });
}

function numberOf(env: Environment, name: string, fallback: number): number {
  const text = env[name];
  const value = text === undefined || text === '' ? fallback : Number(text);
  if (!Number.isFinite(value) || value < 0) {
    process.stderr.write(`sandbox: ${name} must be a number that is not negative\n`);
    process.exit(1);
  }
  return value;
}

if (!isLoadedOnly()) runSandbox(readEnvironment());
