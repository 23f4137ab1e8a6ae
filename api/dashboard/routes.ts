import type { FastifyPluginAsync } from 'fastify';
import { may, type Membership } from '#shared/persons/roles.ts';
import type { DashboardDeps } from './deps.ts';
import { takeForms } from './forms.ts';
import {
  demandMembership,
  demandOwnSession,
  demandSession,
  demandStaff,
  guardPages,
  seeOther,
  SESSION,
  wayInto,
} from './guard.ts';
import { notFound } from './page-error.ts';
import { homeOf, staffHome } from './parts/layout.ts';
import { accountPageRoutes, credentialRoutes } from './account/routes.ts';
import { commandLineRoutes } from './command-line/routes.ts';
import { accountsRoutes } from './accounts/routes.ts';
import { signInRoutes } from './sign-in/routes.ts';
import { playgroundRoutes } from './playground/routes.ts';
import { keyPageRoutes } from './keys/routes.ts';
import { receiptByAddress, receiptByAnyId, receiptPageRoutes } from './receipts/routes.ts';
import { requestPageRoutes } from './requests/routes.ts';
import { rotationRoutes } from './rotation/routes.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { budgetRoutes } from './budgets/routes.ts';
import { webhookRoutes } from './webhooks/routes.ts';
import { usagePageRoutes } from './usage/routes.ts';
import { exportPageRoutes } from './exports/routes.ts';
import { ledgerPageRoutes } from './ledger/routes.ts';
import { healthRoutes } from './health/routes.ts';
import { lookUpRoutes } from './look-up/routes.ts';
import { applyRoutes, onboardingRoutes } from './onboarding/routes.ts';
import { chartRoutes, serviceChartRoutes } from './charts/routes.ts';
import { timesRoutes, trafficRoutes } from './traffic/routes.ts';
import { incidentRoutes } from './incidents/routes.ts';
import { auditRoutes } from './audit/routes.ts';
import { policyRoutes } from './policy/routes.ts';
import { queueRoutes } from './queues/routes.ts';
import { regionRoutes } from './regions/routes.ts';
import { reviewRoutes } from './reviews/routes.ts';
import { sanctionsRoutes } from './sanctions/routes.ts';
import { serviceKeyRoutes } from './service-keys/routes.ts';
import type { Place } from './search/find.ts';
import { searchRoutes } from './search/routes.ts';
import { settingsRoutes } from './settings/routes.ts';
import { issuerRoutes, singleSignOnRoutes } from './single-sign-on/routes.ts';
import {
  invitationRoutes,
  memberSessionRoutes,
  secondFactorRuleRoutes,
  teamRoutes,
} from './team/routes.ts';

/**
 * The pages that people come in by. Signing in is a session of a person; API keys open nothing here, and sessions nothing
 * under `/v1`.
 */
export const dashboardRoutes: FastifyPluginAsync<
  DashboardDeps & {
    /** What a search finds of the documentation; nothing when absent. */
    docs?: () => Promise<readonly Place[]>;
  }
> = async (app, { docs = () => Promise.resolve([]), ...deps }) => {
  await app.register(
    async (pages) => {
      takeForms(pages);
      guardPages(pages, deps);
      deps.bounds.limit(pages);
      signInRoutes(pages, deps);
      receiptByAddress(pages, deps);
      receiptByAnyId(pages, deps);
      issuerRoutes(pages, deps);
      await pages.register(async (ours) => {
        demandSession(ours, deps);
        ours.get('/', SESSION, async (request, reply) => {
          const { memberships, staff } = request.visit;
          const first =
            memberships.find((each) => wayInto(each, request.visit) === undefined) ??
            memberships[0];
          if (first === undefined && staff.length > 0) return seeOther(reply, staffHome(staff));
          if (first !== undefined) return seeOther(reply, await beginningOf(deps, first));
          const invitations = await deps.teams.invitationsFor(request.visit.person);
          const next = invitations.length > 0 ? 'invitations' : 'apply';
          return seeOther(reply, `/dashboard/${next}`);
        });
        // Letters lead here.
        ours.get<{ Params: { org: string } }>('/:org', SESSION, async (request, reply) => {
          const { org } = request.params;
          const membership = request.visit.memberships.find(({ orgId }) => orgId === org);
          if (membership === undefined) throw notFound();
          return seeOther(reply, await beginningOf(deps, membership));
        });
        accountPageRoutes(ours, deps);
        searchRoutes(ours, deps, docs);
        await ours.register(async (own) => {
          demandOwnSession(own);
          credentialRoutes(own, deps);
          invitationRoutes(own, deps);
          applyRoutes(own, deps);
        });
        await ours.register(
          async (service) => {
            demandStaff(service, ['reviewer', 'operator']);
            reviewRoutes(service, deps);
            commandLineRoutes(service, deps);
            await service.register(async (operations) => {
              demandStaff(operations, ['operator']);
              accountsRoutes(operations, deps);
              lookUpRoutes(operations, deps);
              trafficRoutes(operations, deps);
              serviceChartRoutes(operations, deps);
              serviceKeyRoutes(operations, deps);
              regionRoutes(operations, deps);
              incidentRoutes(operations, deps);
              queueRoutes(operations, deps);
              policyRoutes(operations, deps);
              healthRoutes(operations, deps);
              // It takes files, which other pages do not.
              await operations.register(async (uploads) => sanctionsRoutes(uploads, deps));
            });
          },
          { prefix: '/service' },
        );
        await ours.register(
          async (organisation) => {
            demandMembership(organisation);
            onboardingRoutes(organisation, deps);
            notificationRoutes(organisation, deps);
            keyPageRoutes(organisation, deps);
            rotationRoutes(organisation, deps);
            receiptPageRoutes(organisation, deps);
            requestPageRoutes(organisation, deps);
            timesRoutes(organisation, deps);
            chartRoutes(organisation, deps);
            playgroundRoutes(organisation, deps);
            exportPageRoutes(organisation, deps);
            ledgerPageRoutes(organisation, deps);
            usagePageRoutes(organisation, deps);
            budgetRoutes(organisation, deps);
            webhookRoutes(organisation, deps);
            auditRoutes(organisation, deps);
            teamRoutes(organisation, deps);
            secondFactorRuleRoutes(organisation, deps);
            memberSessionRoutes(organisation, deps);
            settingsRoutes(organisation, deps);
            singleSignOnRoutes(organisation, deps);
          },
          { prefix: '/:org' },
        );
        ours.get('/*', SESSION, () => {
          throw notFound();
        });
      });
    },
    { prefix: '/dashboard' },
  );
};

/** Where a member begins: while an active organisation has no key, who may create it is led to the first one. */
async function beginningOf({ keys }: DashboardDeps, membership: Membership): Promise<string> {
  const { orgId } = membership;
  if (membership.orgState !== 'active' || !may(membership, 'issue keys')) return homeOf(membership);
  const { items } = await keys.list({ orgId, limit: 1, order: 'asc' });
  return items.length === 0 ? `/dashboard/${orgId}/onboarding` : homeOf(membership);
}
