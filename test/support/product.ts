import type { Pool } from 'pg';
import { inject } from 'vitest';
import { LIMITS_MAX } from '#shared/accounts/checks.ts';
import type { Environment } from '#shared/config/config.ts';
import { PLANS, type Plan } from '#shared/kernel/plan.ts';
import { createPool } from '#shared/kernel/postgres/pool.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { scopesOnPlan } from '#shared/keys/rules.ts';
import { atFileEnd } from './file-end.ts';
import { newOrganisation } from './organisations.ts';
import { startProcess } from './processes.ts';
import type { Product } from './system.ts';

/** Where the product is that the files of a project share, as its processes were told. */
export interface SharedProduct {
  baseUrls: string[];
  /** Of the api process that has the dashboard. */
  pagesUrl: string;
  databaseUrl: string;
  redisUrl: string;
  sandboxUrl: string;
  signingKeysDir: string;
  env: Environment;
}

declare module 'vitest' {
  interface ProvidedContext {
    product: SharedProduct;
  }
}

/** Of PostgreSQL: who has it makes endpoints fail. */
const TURN_AT_FAULTS = 1;

/**
 * The product that other files use too, with an organisation and a key of this file's own for each plan. Of what all share
 * (signing keys, states of regions, circuits, counts of the whole) a file here changes nothing: one that has to, or that
 * stops a process, starts a system of its own.
 * @param options.faults the file makes upstreams fail: those that do take turns, since failures in a row of two callers tell
 * of the endpoint itself, and its circuit would open for all
 */
export async function joinProduct(options: { faults?: boolean } = {}): Promise<Product> {
  const { databaseUrl, redisUrl, env, ...product } = inject('product');
  const pool = createPool({ url: databaseUrl, max: 4, applicationName: 'test' });
  atFileEnd(() => pool.end());
  if (options.faults === true) await takeTurn(pool);
  const database = { url: databaseUrl, pool };
  const organisations: string[] = [];
  const byPlan = {} as Record<Plan, string>;
  const keys = {} as Record<Plan, string>;
  for (const plan of PLANS) {
    const limits = plan === 'enterprise' ? LIMITS_MAX : undefined;
    const organisation = await newOrganisation({ database, organisations }, limits, plan);
    byPlan[plan] = organisation.id;
    keys[plan] = await organisation.newKey({ scopes: scopesOnPlan(SCOPES, plan) });
  }
  const baseUrl = product.baseUrls[0]!;
  return {
    ...product,
    baseUrl,
    root: baseUrl.replace(/\/v1$/, ''),
    demo: { organisations: byPlan, keys, inactive: [] },
    key: keys.enterprise,
    orgId: byPlan.enterprise,
    organisations,
    database,
    redis: { url: redisUrl },
    start: (role, more = {}) => startProcess({ role, env: { ...env, ...more } }),
  };
}

/** Until the file's end, when the connection that has it is closed. */
async function takeTurn(pool: Pool): Promise<void> {
  const client = await pool.connect();
  atFileEnd(() => client.release(true));
  await client.query('select pg_advisory_lock($1)', [TURN_AT_FAULTS]);
}
