import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { json } from '#api/docs/operation.ts';
import { describeAccount } from '#shared/accounts/describe.ts';
import type { AccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { Nullable } from './fields.ts';

const Contact = Type.Object({ name: Type.String(), email: Type.String() });

/** An account, as its own keys and operators read it. */
export const accountFields = {
  object: Type.Literal('account'),
  id: Type.String(),
  name: Type.String(),
  identifier: Nullable(
    Type.String({ description: 'A LEI, or a number in a register: for reports' }),
  ),
  state: Type.String(),
  plan: Type.String({ enum: [...PLANS] }),
  limits: Type.Object({
    requests_per_second: Type.Integer(),
    burst: Type.Integer(),
    requests_per_day: Type.Integer(),
    concurrent_streams: Type.Integer(),
  }),
  allowed_regions: Nullable(
    Type.Array(Type.String(), {
      description: 'Regions that the organisation has chosen to use; null for all that are offered',
    }),
  ),
  allowed_models: Nullable(
    Type.Array(Type.String(), {
      description: 'Models that the organisation has chosen to use; null for all that are offered',
    }),
  ),
  keep_responses: Type.Boolean({
    description: 'Whether responses are kept for 24 hours; owners decide it in the dashboard',
  }),
  tags: Type.Array(Type.String(), {
    description:
      'Members of `metadata` that are tags of requests; owners and admins declare them in the dashboard',
  }),
  billing_contact: Contact,
  technical_contact: Contact,
  created_at: Type.String(),
  state_changed_at: Type.String(),
};
const Account = Type.Object(
  {
    ...accountFields,
    key: Type.Object({ id: Type.String(), scopes: Type.Array(Type.String()) }),
  },
  { title: 'Account' },
);

const CONTACT = { name: 'Tess Example', email: 'tess@bakery.example' };
/** One to show. */
export const ACCOUNT_SHOWN = {
  object: 'account' as const,
  id: 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
  name: 'Harmless Bakery',
  identifier: null,
  state: 'active',
  plan: 'audit_plus' as const,
  limits: {
    requests_per_second: 200,
    burst: 800,
    requests_per_day: 400_000,
    concurrent_streams: 100,
  },
  allowed_regions: null,
  allowed_models: null,
  keep_responses: true,
  tags: ['team', 'project'],
  billing_contact: CONTACT,
  technical_contact: CONTACT,
  created_at: '2026-10-01T08:00:00.000Z',
  state_changed_at: '2026-10-02T08:00:00.000Z',
};
const ACCOUNT: Static<typeof Account> = {
  ...ACCOUNT_SHOWN,
  key: {
    id: 'key_01JD0A9F6R4N8P1S5VZC7B2DEG',
    scopes: ['inference:read', 'inference:write', 'service:read'],
  },
};

export interface AccountRoutesOptions {
  accounts: Pick<AccountRegistry, 'get'>;
}

/** The account that the caller's key belongs to, and what that key may do. */
export const accountRoutes: FastifyPluginAsyncTypebox<AccountRoutesOptions> = async (
  app,
  { accounts },
) => {
  app.get(
    '/account',
    {
      config: { scope: 'any' },
      schema: {
        operationId: 'retrieveAccount',
        tag: 'Account',
        summary: 'Read your account',
        description: 'Your organisation, its plan and limits, and what the key you use may do.',
        response: { 200: json('The account.', Account, { account: ACCOUNT }) },
      },
    },
    async (request) => {
      const { orgId, keyId, scopes } = request.credential;
      const account = await accounts.get(orgId);
      return { ...describeAccount(account), key: { id: keyId, scopes: [...scopes] } };
    },
  );
};
