import { Argument, type Command } from 'commander';
import {
  createRegionStatusStore,
  type RegionNote,
  type RegionOverrides,
  type RegionStatusStore,
} from '#shared/catalogue/redis/region-status.ts';
import { type Region, REGION_STATUSES, type RegionStatus } from '#shared/catalogue/catalogue.ts';
import { setRegion } from '#shared/catalogue/set-region.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { readCatalogue } from '#cli/catalogue.ts';
import { type ActOptions, actorFrom, recordServiceAct, withActOptions } from '#cli/operator.ts';
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
      .addArgument(
        new Argument('<status>', 'the new status; catalogue for what that says').choices([
          ...REGION_STATUSES,
          'catalogue',
        ]),
      )
      .option('--note <text>', 'what everyone is told at /status, until the region is normal again')
      .option('--no-note', 'take away what everyone is told'),
  ).action(set);
}

async function list({ json }: { json?: boolean }): Promise<void> {
  const { catalogue } = readCatalogue();
  const said = await withRedis((client) => whatIsSaid(createRegionStatusStore(client)));
  print(catalogue.regions, said, json);
}

interface SetOptions extends ActOptions {
  /** False for `--no-note`. */
  note?: string | false;
}

async function set(
  code: string,
  status: RegionStatus | 'catalogue',
  { note, ...options }: SetOptions,
): Promise<void> {
  const region = readCatalogue().catalogue.regions.find((one) => one.code === code);
  if (region === undefined) throw new Fault('region_not_found');
  const actor = await actorFrom(options);
  const { details, said } = await withRedis(async (client) => {
    const store = createRegionStatusStore(client);
    const setting = { status, note: note === false ? null : note, at: Date.now() };
    return { details: await setRegion(store, code, setting), said: await whatIsSaid(store) };
  });
  await recordServiceAct(
    { action: 'region.set', subject: code, details },
    actor,
    `The region ${code} is ${status === 'catalogue' ? region.status : status} now`,
  );
  print([region], said, options.json);
}

const whatIsSaid = async (store: RegionStatusStore): Promise<Said> => ({
  overrides: await store.list(),
  notes: await store.notes(),
});

interface Said {
  overrides: RegionOverrides;
  notes: ReadonlyMap<string, RegionNote>;
}

function print(
  regions: readonly Region[],
  { overrides, notes }: Said,
  json: boolean | undefined,
): void {
  const rows = regions.map((region): Row => ({
    region: region.code,
    name: region.name,
    zone: region.zone,
    capacity: region.capacity,
    catalogue: region.status,
    status: overrides.get(region.code) ?? region.status,
    note: notes.get(region.code)?.text ?? null,
  }));
  if (json === true) printJson(rows);
  else printTable(rows, 'No regions.');
}
