import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { describeAccount } from '#shared/accounts/describe.ts';
import type { AccountRegistry } from '#shared/accounts/postgres/accounts.ts';

const Contact = Type.Object({ name: Type.String(), email: Type.String() });

const AccountSchema = Type.Object(
  {
    object: Type.Literal('account'),
    id: Type.String(),
    name: Type.String(),
    state: Type.String(),
    plan: Type.String({ enum: ['audit', 'audit_plus', 'enterprise'] }),
    limits: Type.Object({
      requests_per_second: Type.Integer(),
      burst: Type.Integer(),
      requests_per_day: Type.Integer(),
      concurrent_streams: Type.Integer(),
    }),
    billing_contact: Contact,
    technical_contact: Contact,
    created_at: Type.String(),
    state_changed_at: Type.String(),
    key: Type.Object({ id: Type.String(), scopes: Type.Array(Type.String()) }),
  },
  { title: 'Account' },
);

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
        tags: ['Account'],
        summary: 'The account and its limits',
        response: { 200: AccountSchema },
      },
    },
    async (request) => {
      const { orgId, keyId, scopes } = request.credential;
      const account = await accounts.get(orgId);
      return { ...describeAccount(account), key: { id: keyId, scopes: [...scopes] } };
    },
  );
};
