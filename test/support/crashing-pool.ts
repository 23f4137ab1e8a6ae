import { flushCompileCache } from 'node:module';
import { Pool, type PoolClient } from 'pg';

/**
 * The one connection of a process that dies by SIGKILL at its n-th statement: `before` it is sent, or once it is sent and no
 * process waits for the answer. `statements` says how many there were so far.
 */
export function crashingPool(
  connectionString: string,
  { nth, moment }: { nth: number; moment: string },
) {
  let statements = 0;
  // Who is killed does not write down by itself what was compiled for it.
  flushCompileCache();

  const die = (): never => {
    process.kill(process.pid, 'SIGKILL');
    // The signal is delivered before this returns; the loop is for the type checker.
    for (;;);
  };

  const pool = new Pool({ connectionString, max: 1, application_name: 'crashing' });
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    const counted = (...args: unknown[]): Promise<unknown> => {
      statements += 1;
      const chosen = statements === nth;
      if (chosen && moment === 'before') die();
      const answer = query(...args);
      // The driver writes at once; a turn of the event loop later the bytes are with the kernel.
      if (chosen) setImmediate(die);
      return answer;
    };
    client.query = counted as PoolClient['query'];
  });
  return { pool, statements: () => statements };
}
