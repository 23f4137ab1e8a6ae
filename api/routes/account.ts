import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type, type Static } from 'typebox';
import { limitsOf, type Account } from '../../shared/domain/accounts/account.ts';
import type { AccountRegistry } from '../../shared/ports/accounts.ts';

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
      const { organisationId, keyId, scopes } = request.credential;
      const account = await accounts.get(organisationId);
      return { ...describeAccount(account), key: { id: keyId, scopes: [...scopes] } };
    },
  );
};

function describeAccount(account: Account): Omit<Static<typeof AccountSchema>, 'key'> {
  const limits = limitsOf(account);
  return {
    object: 'account',
    id: account.id,
    name: account.name,
    state: account.state,
    plan: account.plan,
    limits: {
      requests_per_second: limits.requestsPerSecond,
      burst: limits.burst,
      requests_per_day: limits.requestsPerDay,
      concurrent_streams: limits.concurrentStreams,
    },
    billing_contact: account.billing,
    technical_contact: account.technical,
    created_at: new Date(account.createdAt).toISOString(),
  };
}
