import type { Pool, PoolClient } from 'pg';

/** Runs a statement: the pool, or the client that holds a transaction. */
export type Queryable = Pick<Pool, 'query'>;

/**
 * Runs `work` in one transaction: committed when it resolves, rolled back when it rejects. `queriesOn(client)`
 * builds queries within it. A statement that failed undoes everything, also when its error was caught: then
 * this rejects.
 */
export async function inTransaction<T>(
  pool: Pool,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    const { command } = await client.query('commit');
    // PostgreSQL answers the commit of a failed transaction with ROLLBACK, and with no error.
    if (command === 'ROLLBACK') throw new Error('the transaction had failed and was rolled back');
    return result;
  } catch (error) {
    // A connection that cannot even roll back is thrown away, not returned to the pool.
    await client.query('rollback').catch((cause: unknown) => {
      broken = cause instanceof Error ? cause : new Error('rollback failed');
    });
    throw error;
  } finally {
    client.release(broken);
  }
}
