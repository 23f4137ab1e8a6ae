import type { AddressInfo } from 'node:net';
import type { Pool } from 'pg';
import packageJson from '../../package.json' with { type: 'json' };
import type { ApiEvents } from '#api/events.ts';
import type { Operations } from '#api/dashboard/operations.ts';
import type { openResources } from '#api/routes/deps.ts';
import type { ExportRoutesOptions } from '#api/routes/exports.ts';
import { createAccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import { createAuditLog } from '#shared/accounts/postgres/audit.ts';
import { createVettings } from '#shared/accounts/postgres/vetting.ts';
import type { RoutingIndex } from '#shared/catalogue/route-index.ts';
import type { Config } from '#shared/config/config.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { systemSurroundings } from '#shared/kernel/system/surroundings.ts';
import { createExportRegistry } from '#shared/packs/postgres/exports.ts';
import { createCommandLines } from '#shared/persons/postgres/command-lines.ts';
import { findRequestRow } from '#shared/requests/postgres/requests.ts';
import { buildAdminApp } from './app.ts';
import type { OperatorsOptions } from './operators.ts';

export interface AdminParts {
  /** Of pages: the admin API does what they do, and waits for the same few connections. */
  pool: Pool;
  resources: ReturnType<typeof openResources>;
  exports: ExportRoutesOptions;
  regionStatuses: Operations['regionStatuses'];
  /** The catalogue as it is now. */
  index: () => RoutingIndex;
  events: Pick<ApiEvents, 'askedByOperator' | 'failedInside' | 'storeFailed'>;
  ratesNow?: OperatorsOptions['now'];
}

/** The admin API over this database, as the api process serves it. */
export function adminAppOf(
  supportEmail: string,
  { pool, resources, exports, regionStatuses, index, events, ratesNow }: AdminParts,
) {
  const surroundings = systemSurroundings;
  const now = (): number => surroundings.now();
  return buildAdminApp({
    version: packageJson.version,
    supportEmail,
    newRequestId: () => newId('req'),
    onAnswered: events.askedByOperator,
    onInternalError: events.failedInside,
    onStoreAway: events.storeFailed,
    operators: { commandLines: createCommandLines(pool, surroundings), now: ratesNow },
    organisations: {
      accounts: createAccountRegistry(pool, surroundings),
      vettings: createVettings(pool, surroundings),
      now,
    },
    regions: { regionStatuses, index, audit: createAuditLog(pool, surroundings), now },
    findRequestRow: (id) => findRequestRow(pool, id),
    own: {
      keys: resources.keys,
      usage: resources.usage,
      requests: { ...resources.requests, usage: resources.usage.usage, index },
      ledger: resources.ledger,
      exports: { ...exports, exports: createExportRegistry(pool, surroundings) },
      auditLog: resources.auditLog,
    },
  });
}

export interface AdminServer {
  /** Listens, and returns the port it got. */
  listen: () => Promise<number>;
  close: () => Promise<void>;
}

/** The admin API on its own port; undefined where none is named. */
export async function openAdmin(
  { adminPort: port, adminHost: host, supportEmail }: Config,
  parts: AdminParts,
): Promise<AdminServer | undefined> {
  if (port === undefined) return undefined;
  const app = await adminAppOf(supportEmail, parts);
  return {
    async listen() {
      await app.listen({ port, host });
      return (app.server.address() as AddressInfo).port;
    },
    close: () => app.close(),
  };
}
