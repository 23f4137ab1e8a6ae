import type { Limits, Plan } from '#shared/kernel/plan.ts';
import type { KeyRequest } from '#shared/keys/rules.ts';
import { activeAccount, createRegistries, OPERATOR } from './accounts.ts';
import type { Product } from './system.ts';

export interface TestOrganisation {
  id: string;
  /** Issues a key; all scopes of the plan's default unless told otherwise. */
  newKey(request?: Partial<KeyRequest>): Promise<string>;
}

/** Numbers that a test does not run into by accident. */
const ROOMY: Limits = {
  requestsPerSecond: 10_000,
  burst: 10_000,
  requestsPerDay: 1_000_000,
  concurrentStreams: 1_000,
};

/** An organisation of the test's own on a running system; with negotiated limits when some are named. */
export async function newOrganisation(
  { database, organisations }: Pick<Product, 'database' | 'organisations'>,
  limits?: Partial<Limits>,
  plan: Plan = 'enterprise',
): Promise<TestOrganisation> {
  const registries = createRegistries(database.pool);
  const { id } = await activeAccount(registries, plan);
  organisations?.push(id);
  if (limits !== undefined) {
    await registries.accounts.setLimits(id, { ...ROOMY, ...limits }, OPERATOR);
  }
  return {
    id,
    newKey: async (request = {}) => {
      const { plaintext } = await registries.keys.issue(id, { name: 'test', ...request }, OPERATOR);
      return plaintext;
    },
  };
}
