import { readFileSync, statSync } from 'node:fs';
import type { Command } from 'commander';
import { multihashOfContent } from '#shared/kernel/multihash.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { isOutOfRange, zoneYearsIn } from '#shared/packs/zone-years.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import {
  type HourlyFactor,
  type HourlySource,
  parseHourlyFactors,
} from '#shared/methodology/hourly-factors.ts';
import { addGridHours } from '#shared/methodology/postgres/grid-hour-imports.ts';
import { type ActOptions, actorFrom, asOperator, withActOptions } from '#cli/operator.ts';
import { printFields, printJson } from '#cli/print.ts';

/** Ten years of hours are a tenth of it. */
const FILE_BYTES_MAX = 128 * 1024 * 1024;

/** `docket factors …`: hourly carbon intensities of grid zones. */
export function register(program: Command): void {
  const factors = program.command('factors').description('hourly carbon intensities of grid zones');
  withActOptions(
    factors
      .command('import <file>')
      .description('import hours: a file of Electricity Maps, or zone,hour,gwp_kgco2e_per_kwh')
      .option('--zone <code>', 'grid zone of the factor set that the file is of, e.g. FRA')
      .option('--provider <name>', 'who publishes it, where the layout does not say')
      .option('--signal <name>', 'what it is, e.g. "life cycle, consumption-based"')
      .addHelpText(
        'after',
        '\nReceipts of the tier enterprise take the hour in which their request began; those issued before are\nrevised. Life-cycle, location-based intensities alone: marginal signals are refused.\n',
      ),
  ).action(importFile);
}

async function importFile(path: string, options: ActOptions & HourlySource): Promise<void> {
  if (statSync(path).size > FILE_BYTES_MAX)
    throw new Error(`${path} is too large for a file of hours.`);
  const bytes = readFileSync(path);
  const factors = read(path, bytes, options);
  const version = multihashOfContent(bytes);
  const actor = await actorFrom(options);
  const { reason } = options;
  const added = await asOperator(({ pool, surroundings }) =>
    addGridHours(pool, surroundings, {
      version,
      factors,
      by: reason === undefined ? { actor } : { actor, reason },
    }),
  );
  const hours = factors.map(({ hour }) => hour).toSorted();
  const odd = outOfRange(factors);
  const outcome = {
    zones: [...new Set(factors.map(({ zone }) => zone))].join(' '),
    from: hours[0]!,
    to: hours.at(-1)!,
    hours: factors.length,
    new_hours: added,
    version,
  };
  if (options.json === true) return printJson({ ...outcome, out_of_range: odd });
  printFields(outcome);
  if (odd.length === 0) return;
  const more = odd.length > ODD_SHOWN_MAX ? ` and ${odd.length - ODD_SHOWN_MAX} more` : '';
  process.stderr.write(
    `Further from the annual factor of their zone than zones are from the world, which is said of their receipts too: ${odd.slice(0, ODD_SHOWN_MAX).join(', ')}${more}.\n`,
  );
}

/** Hours that are shown; a file in another unit has all of its hours out of range. */
const ODD_SHOWN_MAX = 8;

/** Hours that are further from the year of their zone than an hour is believed to be: zone, hour and kilograms. */
function outOfRange(factors: readonly HourlyFactor[]): string[] {
  const methodologies = shippedMethodologies();
  const { id, version } = methodologies.current;
  const years = new Map(zoneYearsIn(methodologies.methodologyDocument(id, version)!.text));
  const odd = factors.filter(({ zone, gwpKgco2ePerKwh: gwp }) =>
    isOutOfRange(gwp, years.get(zone)!),
  );
  return odd.map(({ zone, hour, gwpKgco2ePerKwh: gwp }) => `${zone} ${hour} ${gwp}`);
}

function read(path: string, bytes: Buffer, source: HourlySource) {
  try {
    const factors = parseHourlyFactors(bytes.toString('utf8'), source);
    const known = new Set(newestFactorSet().grid.map(({ id }) => id));
    const unknown = factors.find(({ zone }) => !known.has(zone));
    if (unknown !== undefined) throw new Error(`The factor set has no grid zone ${unknown.zone}.`);
    return factors;
  } catch (error) {
    if (error instanceof MalformedData)
      throw new Error(`${path}: ${error.message}.`, { cause: error });
    throw error;
  }
}
