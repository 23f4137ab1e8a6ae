import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { integrateBatch } from '#shared/ledger/postgres/integration.ts';
import { createCheckpointMemory } from '#shared/ledger/redis/checkpoint-memory.ts';
import { connectRedis } from '#shared/lanes/redis/connect.ts';
import { createAnchorWriter, keysByNumber } from '#test/support/anchor.ts';
import { crashingPool } from '#test/support/crashing-pool.ts';
import { makeCheckpointSigner, originOf } from '#test/support/ledger.ts';

/**
 * A ledger worker that dies by SIGKILL at its n-th statement: `before` it is sent, or once it is `sent`
 * and no process waits for the answer. Run as: ledger-crashing.ts <database url> <redis url> <n> <before|sent>
 * <integrate|anchor> <how many signing keys there are>. Prints how many statements a whole turn has when
 * it gets through one.
 */
const [databaseUrl = '', redisUrl = '', nth = '', moment = '', turn = '', keys = ''] =
  process.argv.slice(2);
const { pool, statements } = crashingPool(databaseUrl, { nth: Number(nth), moment });
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
process.stdout.write(`${statements()}\n`);
