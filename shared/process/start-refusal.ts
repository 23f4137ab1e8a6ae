import { CatalogueError } from '#shared/catalogue/problem.ts';
import { ConfigError } from '#shared/config/config.ts';
import { DatabaseProblem } from '#shared/kernel/postgres/fitness.ts';
import { LaneKeyProblem } from '#shared/lanes/files/lane-keys.ts';
import { VolatileRedis } from '#shared/lanes/redis/durability.ts';
import { PeerProblem } from '#shared/lanes/redis/peers.ts';
import { SigningKeyProblem } from '#shared/receipts/signing/problem.ts';
import { PackError } from '#shared/screening/pack.ts';
import { EXIT_CONFIG } from './exits.ts';

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
    return `This process does not start: ${error.message}. One that was killed counts for some seconds more.`;
  return error instanceof DatabaseProblem ? error.message : undefined;
}

/** Writes the refusal to standard error and ends the process. */
export function refuseToStart(refusal: string): never {
  process.stderr.write(`${refusal}\n`);
  return process.exit(EXIT_CONFIG);
}
