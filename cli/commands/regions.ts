import { userInfo } from 'node:os';
import { Argument, type Command } from 'commander';
import {
  createRegionStatusStore,
  type RegionOverrides,
} from '#shared/catalogue/redis/region-status.ts';
import type { Region, RegionStatus } from '#shared/catalogue/catalogue.ts';
import { SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { readCatalogue } from '#cli/catalogue.ts';
import { actorFrom, asOperator } from '#cli/operator.ts';
import { printJson, printTable, type Row } from '#cli/print.ts';
import { withRedis } from '#cli/redis.ts';

const STATUSES = ['normal', 'degraded', 'decommissioned'] satisfies RegionStatus[];

interface SetOptions {
  actor?: string;
  reason?: string;
  json?: boolean;
}

/** `docket regions …`: which regions take requests. */
export function register(program: Command): void {
  const regions = program.command('regions').description('the regions of the catalogue');
  regions
    .command('list')
    .description('list regions with their status now')
    .option('--json', 'for programs')
    .action(list);
  regions
    .command('set <code>')
    .description('set a region’s status at run time; it holds until it is set again')
    .addArgument(new Argument('<status>', 'the new status').choices(STATUSES))
    .option('--actor <who>', 'operator:<name> or support:<ticket>; you, when absent')
    .option('--reason <text>', 'why, for the audit log')
    .option('--json', 'for programs')
    .action(set);
}

async function list({ json }: { json?: boolean }): Promise<void> {
  const { catalogue } = readCatalogue();
  const overrides = await withRedis((client) => createRegionStatusStore(client).list());
  print(catalogue.regions, overrides, json);
}

async function set(code: string, status: RegionStatus, options: SetOptions): Promise<void> {
  const region = readCatalogue().catalogue.regions.find((one) => one.code === code);
  if (region === undefined) throw new Fault('region_not_found');
  const actor = actorFrom(options.actor ?? `operator:${userInfo().username}`);
  const overrides = await withRedis(async (client) => {
    const store = createRegionStatusStore(client);
    await store.set(code, status);
    return store.list();
  });
  // After the act: an incident must not wait for a database that may be part of it.
  await recordChange(code, status, {
    actor,
    ...(options.reason === undefined ? {} : { reason: options.reason }),
  });
  print([region], overrides, options.json);
}

async function recordChange(
  code: string,
  status: RegionStatus,
  by: { actor: ReturnType<typeof actorFrom>; reason?: string },
): Promise<void> {
  try {
    await asOperator(({ audit }) =>
      audit.append({
        ...by,
        orgId: SERVICE_CHAIN,
        action: 'region.set',
        subject: code,
        details: { status },
      }),
    );
  } catch (error) {
    throw new Error(
      `The region ${code} is ${status} now, but the audit log could not be written.`,
      { cause: error },
    );
  }
}

function print(
  regions: readonly Region[],
  overrides: RegionOverrides,
  json: boolean | undefined,
): void {
  const rows = regions.map((region): Row => ({
    region: region.code,
    name: region.name,
    zone: region.zone,
    capacity: region.capacity,
    catalogue: region.status,
    status: overrides.get(region.code) ?? region.status,
  }));
  if (json === true) printJson(rows);
  else printTable(rows, 'No regions.');
}
