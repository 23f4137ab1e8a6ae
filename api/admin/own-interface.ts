import type { FastifyPluginAsync, RouteOptions } from 'fastify';
import { type TObject, Type } from 'typebox';
import { auditLogRoutes, type AuditLogRoutesOptions } from '#api/routes/audit-log.ts';
import { exportRoutes, type ExportRoutesOptions } from '#api/routes/exports.ts';
import { keyReadingRoutes, type KeyRoutesOptions } from '#api/routes/keys.ts';
import { ledgerRoutes, type LedgerRoutesOptions } from '#api/routes/ledger.ts';
import { requestRoutes, type RequestRoutesOptions } from '#api/routes/requests.ts';
import { usageRoutes, type UsageRoutesOptions } from '#api/routes/usage.ts';
import { type Account, limitsOf } from '#shared/accounts/account.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { OPERATOR, OrgParam } from './fields.ts';

export interface OwnInterfaceOptions {
  account: (orgId: string) => Promise<Account>;
  keys: KeyRoutesOptions;
  usage: UsageRoutesOptions;
  requests: RequestRoutesOptions;
  ledger: LedgerRoutesOptions;
  exports: ExportRoutesOptions;
  auditLog: AuditLogRoutesOptions;
}

/** No key: what is done here is an operator's. */
const KEY_OF_NONE = 'none';

/**
 * What an organisation reads with keys of its own, for operators, below its address: the same routes, which are given the
 * organisation of the address in the place of a key's.
 */
export const ownInterface: FastifyPluginAsync<OwnInterfaceOptions> = async (app, options) => {
  app.decorateRequest('credential', null as never);
  app.addHook('preHandler', async (request) => {
    const { org_id: orgId } = request.params as { org_id: string };
    const account = await options.account(orgId);
    const { plan, state: accountState, allowedRegions, allowedModels } = account;
    request.credential = {
      keyId: KEY_OF_NONE,
      orgId: account.id,
      keyState: 'active',
      expiresAt: null,
      scopes: SCOPES,
      plan,
      accountState,
      limits: limitsOf(account),
      keyLimit: null,
      allowedRegions,
      allowedModels,
      keepResponses: account.keepResponses,
      budgets: [],
      tags: account.tags,
    };
  });
  await app.register(keyReadingRoutes, options.keys);
  await app.register(usageRoutes, options.usage);
  await app.register(requestRoutes, options.requests);
  await app.register(ledgerRoutes, options.ledger);
  await app.register(exportRoutes, options.exports);
  await app.register(auditLogRoutes, options.auditLog);
};

/** Before anything else looks at such a route: an operator key opens it, and the organisation stands in its path. */
export function openedByOperators(route: RouteOptions): void {
  if (!route.url.includes('/:org_id/') || route.config?.scope === 'operator') return;
  const { params, patternedErrors = [] } = route.schema ?? {};
  const named = (params as TObject | undefined)?.properties ?? {};
  route.config = { ...route.config, ...OPERATOR };
  route.schema = {
    ...route.schema,
    params: Type.Object({ org_id: OrgParam, ...named }),
    patternedErrors: [...patternedErrors, 'organisation_not_found'],
  };
}
