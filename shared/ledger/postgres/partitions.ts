import type { Pool } from 'pg';

/** Room for a quarter in which nobody runs housekeeping; later ids go to the default partition, so nothing is lost. */
const MONTHS_AHEAD = 3;

/**
 * Makes the monthly partitions of receipt bodies that are missing, with the rights of `docket_housekeeping`. A month that
 * has bodies in the default partition already stays there, so this has to run before the month begins.
 * @returns the names of the new ones
 */
export async function ensureLedgerPartitions(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    'select name from ensure_ledger_partitions($1) as name',
    [MONTHS_AHEAD],
  );
  return rows.map(({ name }) => name);
}
