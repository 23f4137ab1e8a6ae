import { flushCompileCache } from 'node:module';
import { Pool, type PoolClient } from 'pg';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { integrateBatch } from '#shared/ledger/postgres/integration.ts';
import { createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { createAnchorWriter, keysByNumber } from '#test/support/anchor.ts';
import { makeCheckpointSigner, originOf } from '#test/support/ledger.ts';

/**
 * A ledger worker that dies by SIGKILL at its n-th statement: `before` it is sent, or once it is `sent`
 * and no process waits for the answer. Run as: ledger-crashing.ts <database url> <redis url> <n> <before|sent>
 * <integrate|anchor> <how many signing keys there are>. Prints how many statements a whole turn has when
 * it gets through one.
 */
const [databaseUrl = '', redisUrl = '', nth = '', moment = '', turn = '', keys = ''] =
  process.argv.slice(2);
let statements = 0;
// Who is killed does not write down by itself what was compiled for it.
flushCompileCache();

const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  // The signal is delivered before this returns; the loop is for the type checker.
  for (;;);
};

const pool = new Pool({ connectionString: databaseUrl, max: 1, application_name: 'crashing' });
pool.on('connect', (client) => {
  const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
  const counted = (...args: unknown[]): Promise<unknown> => {
    statements += 1;
    const chosen = statements === Number(nth);
    if (chosen && moment === 'before') die();
    const answer = query(...args);
    // The driver writes at once; a turn of the event loop later the bytes are with the kernel.
    if (chosen) setImmediate(die);
    return answer;
  };
  client.query = counted as PoolClient['query'];
});

const redis = connectRedis({ url: redisUrl, name: 'crashing', use: 'patient' });
const signer = makeCheckpointSigner();
const memory = createCheckpointMemory(redis);
if (turn === 'anchor') {
  await createAnchorWriter(signer, memory).turn(pool, { keys: keysByNumber(Number(keys)) });
} else {
  await integrateBatch(pool, 1_000);
  await publishCheckpoints(pool, { signer, memory, originOf, limit: 100, intervalMs: 0 });
}
await pool.end();
redis.disconnect();
process.stdout.write(`${statements}\n`);
