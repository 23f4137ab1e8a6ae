import type { InjectOptions } from 'fastify';
import type { Scope } from '#shared/keys/credential.ts';
import type { Plan } from '#shared/kernel/plan.ts';
import { createAccountEdge, type AccountEdge } from './account-edge.ts';
import { activeAccount, createRegistries, OPERATOR, type Registries } from './accounts.ts';
import type { TestDatabase } from './database.ts';

export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  // oxlint-disable-next-line typescript/no-explicit-any -- answers are looked at field by field
  body: any;
}

export interface AccountCalls {
  edge: AccountEdge;
  registries: Registries;
  call: (
    key: string | null,
    method: 'GET' | 'POST',
    path: string,
    payload?: object,
  ) => Promise<Answer>;
  /** An active organisation with one key. */
  organisation: (
    plan?: Plan,
    scopes?: readonly Scope[],
  ) => Promise<{ id: string; key: string; keyId: string }>;
}

/** An edge to call, and organisations to call it for. */
export async function createAccountCalls(database: TestDatabase): Promise<AccountCalls> {
  const registries = createRegistries(database.poolAs('docket_operator'));
  const edge = await createAccountEdge(database);
  return {
    edge,
    registries,
    async call(key, method, path, payload) {
      const options: InjectOptions = { method, url: `/v1${path}` };
      if (key !== null) options.headers = { authorization: `Bearer ${key}` };
      if (payload !== undefined) options.payload = payload;
      const reply = await edge.app.inject(options);
      return { status: reply.statusCode, headers: reply.headers, body: reply.json() };
    },
    async organisation(plan = 'audit_plus', scopes = ['admin:keys']) {
      const account = await activeAccount(registries, plan);
      const issued = await registries.keys.issue(account.id, { name: 'first', scopes }, OPERATOR);
      return { id: account.id, key: issued.plaintext, keyId: issued.key.id };
    },
  };
}

/** The parts of a refusal that callers rely on. */
export const refusalOf = ({ status, body }: Answer): unknown => [
  status,
  body.error.code,
  body.error.param,
];
