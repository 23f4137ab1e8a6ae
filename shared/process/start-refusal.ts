import { CatalogueError } from '#shared/catalogue/problem.ts';
import { ConfigError } from '#shared/config/config.ts';
import { LaneKeyProblem } from '#shared/lanes/files/lane-keys.ts';
import { VolatileRedis } from '#shared/lanes/redis/durability.ts';
import { PeerProblem } from '#shared/lanes/redis/peers.ts';
import { SigningKeyProblem } from '#shared/receipts/signing/files/key-files.ts';
import { PackError } from '#shared/screening/pack.ts';

/** EX_CONFIG of sysexits: starting again without mending something is in vain. */
const EXIT_CONFIG = 78;
/** PostgreSQL: the database of the URL does not exist (`invalid_catalog_name`). */
const NO_SUCH_DATABASE = '3D000';

/** What a person must mend before a process can start, in words for them; undefined for every other error. */
export function startRefusal(error: unknown): string | undefined {
  if (error instanceof ConfigError) return error.message;
  if (error instanceof CatalogueError) return `The catalogue cannot be used: ${error.message}`;
  if (error instanceof PackError) return `The screening rules cannot be used: ${error.message}`;
  if (error instanceof SigningKeyProblem)
    return `The signing keys cannot be used: ${error.message}`;
  if (error instanceof LaneKeyProblem) return `The lane keys cannot be used: ${error.message}`;
  if (error instanceof VolatileRedis) return error.message;
  if (error instanceof PeerProblem)
    return `This process cannot serve beside one that runs: ${error.message}. Mend that, or stop the other; one that was killed counts for some seconds more.`;
  return isWithoutDatabase(error)
    ? `DATABASE_URL cannot be used: ${(error as Error).message}. Create the database, or correct the URL.`
    : undefined;
}

/** Writes the refusal to standard error and ends the process. */
export function refuseToStart(refusal: string): never {
  process.stderr.write(`${refusal}\n`);
  return process.exit(EXIT_CONFIG);
}

function isWithoutDatabase(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === NO_SUCH_DATABASE;
}
