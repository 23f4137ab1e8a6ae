import { Argument, type Command } from 'commander';
import {
  createRegionStatusStore,
  type RegionOverrides,
} from '#shared/catalogue/redis/region-status.ts';
import { type Region, REGION_STATUSES, type RegionStatus } from '#shared/catalogue/catalogue.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { readCatalogue } from '#cli/catalogue.ts';
import { type ActOptions, actorOf, recordServiceAct, withActOptions } from '#cli/operator.ts';
import { printJson, printTable, type Row } from '#cli/print.ts';
import { withRedis } from '#cli/redis.ts';

/** `docket regions …`: which regions take requests. */
export function register(program: Command): void {
  const regions = program.command('regions').description('the regions of the catalogue');
  regions
    .command('list')
    .description('list regions with their status now')
    .option('--json', 'for programs')
    .action(list);
  withActOptions(
    regions
      .command('set <code>')
      .description('set a region’s status at run time; it holds until it is set again')
      .addArgument(new Argument('<status>', 'the new status').choices(REGION_STATUSES)),
  ).action(set);
}

async function list({ json }: { json?: boolean }): Promise<void> {
  const { catalogue } = readCatalogue();
  const overrides = await withRedis((client) => createRegionStatusStore(client).list());
  print(catalogue.regions, overrides, json);
}

async function set(code: string, status: RegionStatus, options: ActOptions): Promise<void> {
  const region = readCatalogue().catalogue.regions.find((one) => one.code === code);
  if (region === undefined) throw new Fault('region_not_found');
  const actor = actorOf(options);
  const overrides = await withRedis(async (client) => {
    const store = createRegionStatusStore(client);
    await store.set(code, status);
    return store.list();
  });
  await recordServiceAct(
    { action: 'region.set', subject: code, details: { status } },
    { ...options, actor },
    `The region ${code} is ${status} now`,
  );
  print([region], overrides, options.json);
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
