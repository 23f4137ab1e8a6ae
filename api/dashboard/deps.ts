import type { FastifyRequest } from 'fastify';
import type { Pool } from 'pg';
import { createAccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { openSanctionsFile } from '#shared/accounts/sanctions/files/read-list.ts';
import { createSanctionsStore } from '#shared/accounts/postgres/sanctions.ts';
import { createBudgetRegistry } from '#shared/budgets/postgres/budgets.ts';
import { createWebhookRegistry } from '#shared/webhooks/postgres/endpoints.ts';
import { createSecretSeals } from '#shared/webhooks/secret-seals.ts';
import { createDrafts } from '#shared/accounts/postgres/drafts.ts';
import { createVettings } from '#shared/accounts/postgres/vetting.ts';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { createUnsentLetters } from '#shared/accounts/postgres/unsent-letters.ts';
import { createStatusHistory } from '#shared/catalogue/postgres/status-history.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import type { Config } from '#shared/config/config.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createKeyRegistry } from '#shared/keys/postgres/keys.ts';
import type { Rate } from '#shared/kernel/plan.ts';
import type { Credential } from '#shared/keys/credential.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import type { ExportRoutesOptions } from '#api/routes/exports.ts';
import type { openResources } from '#api/routes/deps.ts';
import { confirmationLetter, resetLetter } from '#shared/persons/letters.ts';
import {
  type Attempts,
  createPersonRegistry,
  takeAttempt,
} from '#shared/persons/postgres/persons.ts';
import { createCommandLines } from '#shared/persons/postgres/command-lines.ts';
import { createNotifications } from '#shared/persons/postgres/notifications.ts';
import { createPasskeys } from '#shared/persons/postgres/passkeys.ts';
import { createErrands } from '#shared/persons/postgres/errands.ts';
import { createLogins } from '#shared/persons/postgres/logins.ts';
import { createSecondFactors } from '#shared/persons/postgres/second-factors.ts';
import { createSessions } from '#shared/persons/postgres/sessions.ts';
import { createSingleSignOns } from '#shared/persons/postgres/single-sign-on.ts';
import { createTeams } from '#shared/persons/postgres/team.ts';
import { anchoredAuditHead } from '#shared/ledger/postgres/audit-checkpoints.ts';
import { auditLogOf } from '#shared/ledger/origins.ts';
import { madeOnce } from '#shared/kernel/made-once.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { readAttention } from '#shared/ledger/postgres/attention.ts';
import { readBacklog } from '#shared/ledger/postgres/integration.ts';
import { createPolicyHits } from '#shared/receipts/postgres/policy-hits.ts';
import { findRequestRow } from '#shared/requests/postgres/requests.ts';
import { type CountsRequest, readCounts } from '#shared/requests/postgres/counts.ts';
import { readTraffic } from '#shared/requests/postgres/traffic.ts';
import { readCost } from '#shared/receipts/postgres/cost.ts';
import { findRequest } from '#shared/receipts/postgres/request-look-up.ts';
import { AttemptCounter } from './session/attempts.ts';
import { openSignIn } from './session/sign-in.ts';
import type { Ceremony } from './session/ceremony.ts';
import { Flash } from './session/flash.ts';
import { PageBounds } from './session/page-bounds.ts';
import type { Operations } from './operations.ts';
import type { Issuers } from './session/issuer.ts';
import type { SessionSecrets } from './session/secrets.ts';

/** What the routes of the API read from, which pages read from too. */
type Resources = ReturnType<typeof openResources>;

export interface DashboardOptions {
  resources: Resources;
  exports: ExportRoutesOptions;
  /** The keys that receipts are verified with, as they are published now. */
  didDocument: () => object;
  publicUrl: string;
  /** Sign sessions and forms. */
  sessionSecrets: SessionSecrets;
  supportEmail: string;
  /** How long the owners of a closed organisation read what is left of it. */
  closedReadMs: number;
  /** Origins of issuers that may be within our own network. */
  insideIssuers: readonly string[];
  /** What secrets of webhooks are sealed with; without it none are offered. */
  webhooksSecret: string | undefined;
  /** Origins of receivers of webhooks that may be within our own network. */
  insideWebhooks: readonly string[];
  /** A model for the examples. */
  exampleModel: () => string | undefined;
  /** The catalogue as it is now. */
  index: () => RoutingIndex;
  /** The credential of a playground's key, by its hash. */
  credentialOf: (hash: string) => Credential | null | Promise<Credential | null>;
  operations: Operations;
  /** What an address may ask of this process; pages have a share of it. */
  perAddress: Rate;
  /** A store failed, beside what was asked for. */
  onError: (error: unknown) => void;
  /** A page failed, and its request is answered with that. */
  onFailure: (error: unknown, request: FastifyRequest) => void;
  surroundings?: Surroundings;
}

export type DashboardDeps = ReturnType<typeof openDashboard>;

/** Dependencies of the dashboard: PostgreSQL, and the sign-in. */
export function openDashboard(pool: Pool, options: DashboardOptions) {
  const {
    publicUrl,
    sessionSecrets,
    onError,
    resources,
    insideIssuers,
    surroundings = systemSurroundings,
  } = options;
  const persons = createPersonRegistry(pool, surroundings);
  const errands = createErrands(pool, surroundings);
  const passkeys = createPasskeys(pool, surroundings);
  const attempts = new AttemptCounter((name, rate) => takeAttempt(pool, name, rate));
  const link = (path: string, token: string): string =>
    `${new URL(publicUrl).origin}/dashboard/${path}?token=${encodeURIComponent(token)}`;
  const flash = new Flash(sessionSecrets);
  const takeAttempts = (each: readonly (readonly [string, Attempts])[]) => attempts.takeEach(each);
  const signIn = openSignIn({
    sessions: createSessions(pool, surroundings, onError),
    logins: createLogins(pool, surroundings),
    secondFactors: createSecondFactors(pool, surroundings),
    errands,
    flash,
    publicUrl,
    sessionSecrets,
    supportEmail: options.supportEmail,
    now: () => surroundings.now(),
    takeAttempts,
    confirmEmail: (personId) => persons.confirmEmail(personId),
    sendResetLink: (person, token) =>
      persons.sendLetter(resetLetter(person, link('password/reset', token))),
    sendConfirmationLink: (person, token) =>
      persons.sendLetter(confirmationLetter(person, link('e-mail/confirm', token))),
  });
  /** Passkeys, at the name that a request was for; undefined where there are none. */
  const ceremony = async (host: string): Promise<Ceremony | undefined> => {
    const { createCeremony, siteOf } = await import('./session/ceremony.ts');
    const site = siteOf(publicUrl, host);
    return site && createCeremony({ passkeys, errands, now: () => surroundings.now() }, site);
  };
  const reachIssuers = async (): Promise<Issuers> => {
    const [{ createIssuers }, { createPublicFetch }] = await Promise.all([
      import('./session/issuer.ts'),
      import('#shared/kernel/http/public-fetch.ts'),
    ]);
    return createIssuers(createPublicFetch(insideIssuers), insideIssuers);
  };
  return {
    signIn: () => Promise.resolve(signIn),
    persons,
    teams: createTeams(pool, surroundings),
    singleSignOn: createSingleSignOns(pool, surroundings),
    errands,
    passkeys,
    commandLines: createCommandLines(pool, surroundings),
    ceremony,
    insideIssuers,
    /** Loaded by the first sign-in that needs one. */
    issuers: madeOnce(reachIssuers),
    accounts: createAccountRegistry(pool, surroundings),
    keys: createKeyRegistry(pool, surroundings),
    budgets: createBudgetRegistry(pool, surroundings),
    webhooks: createWebhookRegistry(pool, surroundings, {
      seals:
        options.webhooksSecret === undefined
          ? undefined
          : createSecretSeals(options.webhooksSecret, surroundings),
      inside: options.insideWebhooks,
    }),
    /** How the ledger is, and what of it waits for a person. */
    health: async () => ({ backlog: await readBacklog(pool), ...(await readAttention(pool)) }),
    findRequest: (id: string) => findRequest(pool, id),
    /** What became of a request of any organisation, refused and failed ones too. */
    findRequestRow: (id: string) => findRequestRow(pool, id),
    audit: createAuditLog(pool, surroundings),
    /** The newest signed head of an audit log, how much of it is anchored, and the proof of that. */
    auditCheckpoint: resources.auditLog.checkpoint,
    anchoredAudit: (orgId: string) => anchoredAuditHead(pool, orgId),
    auditAnchor: (orgId: string) => resources.auditLog.anchor.proof(auditLogOf(orgId)),
    /** What leads from an anchored head of an organisation's ledger to the anchor log; null before the first. */
    ledgerAnchor: (orgId: string) => resources.anchor.anchor.proof(orgId),
    drafts: createDrafts(pool, surroundings),
    unsentLetters: createUnsentLetters(pool, surroundings),
    vettings: createVettings(pool, surroundings),
    sanctions: createSanctionsStore(pool, surroundings),
    openSanctionsFile,
    /** What organisations were told, for their members. */
    notifications: createNotifications(pool),
    exports: options.exports,
    usage: resources.usage.usage,
    requests: resources.requests.requests,
    ledger: resources.receipts.ledger,
    recalculations: resources.recalculation.recalculations,
    methodologies: resources.lineage.methodologies,
    derivationsOf: resources.lineage.derivationsOf,
    originOf: resources.lineage.originOf,
    trustedKeys: () => trustedKeysOf(JSON.stringify(options.didDocument())),
    flash,
    takeAttempt: (name: string, rate: Attempts) => attempts.take(name, rate),
    takeAttempts,
    bounds: new PageBounds(options.perAddress, { publicUrl }),
    now: () => surroundings.now(),
    publicUrl,
    supportEmail: options.supportEmail,
    closedReadMs: options.closedReadMs,
    exampleModel: options.exampleModel,
    index: options.index,
    credentialOf: options.credentialOf,
    costOf: (of: { orgId: string; receiptId: string }) => readCost(pool, of),
    operations: options.operations,
    policyHits: createPolicyHits(pool),
    /** What became of the requests since a moment: of all organisations, or of one. */
    traffic: (of: { since: number; orgId?: string }) => readTraffic(pool, of),
    /** How many requests there were in each hour or day. */
    requestCounts: (of: CountsRequest) => readCounts(pool, of),
    statusHistory: createStatusHistory(pool, surroundings),
    onError,
    onFailure: options.onFailure,
  };
}

/** The dashboard of a process that has a secret for it. */
export function dashboardOf(
  {
    publicUrl,
    supportEmail,
    closedReadDays,
    ssoInsideIssuers: insideIssuers,
    webhooksInside: insideWebhooks,
    secrets,
  }: Config,
  pool: Pool,
  rest: Omit<
    DashboardOptions,
    | 'publicUrl'
    | 'supportEmail'
    | 'closedReadMs'
    | 'insideIssuers'
    | 'webhooksSecret'
    | 'insideWebhooks'
    | 'sessionSecrets'
    | 'surroundings'
  >,
): DashboardDeps | undefined {
  const { sessionSecret, sessionSecretOlder: older, webhooksSecret } = secrets;
  if (sessionSecret === undefined) return undefined;
  const sessionSecrets: SessionSecrets = [sessionSecret, ...(older === undefined ? [] : [older])];
  const closedReadMs = closedReadDays * DAY_MS;
  const webhooks = { webhooksSecret, insideWebhooks };
  const read = {
    publicUrl,
    supportEmail,
    closedReadMs,
    insideIssuers,
    sessionSecrets,
    ...webhooks,
  };
  return openDashboard(pool, { ...read, ...rest });
}
