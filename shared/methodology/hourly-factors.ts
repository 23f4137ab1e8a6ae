import { isDisguised } from '#shared/kernel/characters.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { QUANTITY_MIN } from './measurement.ts';
import type { GridSignal } from './methodology.ts';

/** The intensity of one hour in one grid zone. */
export interface HourlyFactor extends Omit<GridSignal, 'version'> {
  readonly zone: string;
}

/** Ten years of one zone. */
const ROWS_MAX = 100_000;
/** No grid is above 5 kgCO2e per kWh: such a figure is in another unit. */
const GWP_MAX = 5;

/** How a layout is known by its header, and read. */
interface Layout {
  readonly time: string;
  readonly value: string;
  readonly kgPerUnit: number;
  readonly zone?: string;
  readonly provider?: string;
  readonly signal?: string;
}

/** The published layouts. Electricity Maps renamed its columns in 2025; both names are in use. */
const LAYOUTS: readonly Layout[] = [
  ...['Carbon intensity gCO₂eq/kWh (Life cycle)', 'Carbon Intensity gCO₂eq/kWh (LCA)'].map(
    (value) => ({
      time: 'Datetime (UTC)',
      value,
      kgPerUnit: 1e-3,
      provider: 'Electricity Maps',
      signal: 'life cycle, consumption-based',
    }),
  ),
  { time: 'hour', value: 'gwp_kgco2e_per_kwh', kgPerUnit: 1, zone: 'zone' },
];

/** What stands in for words that a file does not say. */
export interface HourlySource {
  readonly zone?: string | undefined;
  readonly provider?: string | undefined;
  readonly signal?: string | undefined;
}

/**
 * Reads hourly carbon intensities: Electricity Maps' files of one zone, or the plain columns `zone`, `hour`,
 * `gwp_kgco2e_per_kwh`. Whole or not at all.
 * @throws MalformedData naming the line; `wrong_value` for a marginal signal, which never replaces a location-based factor
 */
export function parseHourlyFactors(text: string, source: HourlySource): HourlyFactor[] {
  const [head = '', ...lines] = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  const columns = fieldsOf(head);
  const layout = LAYOUTS.find(
    ({ time, value }) => columns.includes(time) && columns.includes(value),
  );
  if (layout === undefined) throw unknownLayout(columns);
  const at = (name: string | undefined): number =>
    name === undefined ? -1 : columns.indexOf(name);
  const [time, value, zone, zoneId, estimated] = [
    at(layout.time),
    at(layout.value),
    at(layout.zone),
    Math.max(at('Zone id'), at('Zone Id')),
    Math.max(at('Data estimated'), at('Data Estimated')),
  ];
  const provider = named('provider', source.provider ?? layout.provider);
  const signal = named('signal', source.signal ?? layout.signal);
  const factors = new Map<string, HourlyFactor>();
  const places = new Set<string>();
  for (const [index, line] of lines.entries()) {
    if (line === '') continue;
    const path = `line ${index + 2}`;
    if (factors.size >= ROWS_MAX) throw wrong(path, `has more than ${ROWS_MAX} hours`);
    const fields = fieldsOf(line);
    if (zoneId >= 0) places.add(fields[zoneId] ?? '');
    if (places.size > 1) throw wrong(path, 'is of another zone; import a file of one zone');
    // Hours that the provider has no figure for are left out by us too.
    if ((fields[value] ?? '') === '') continue;
    const hour = hourOf(fields[time] ?? '', path);
    const gwp = Number(fields[value]) * layout.kgPerUnit;
    const isIntensity = gwp === 0 || (gwp >= QUANTITY_MIN && gwp <= GWP_MAX);
    if (!/^\d+(\.\d+)?(e-?\d+)?$/i.test(fields[value]!) || !isIntensity)
      throw wrong(path, `must state an intensity from 0 to ${GWP_MAX} kgCO2e/kWh`);
    const of = named('zone', zone >= 0 ? fields[zone] : source.zone);
    if (!/^[A-Z]{3}$/.test(of)) throw wrong(path, 'must name a grid zone of the factor set');
    const key = `${of} ${hour}`;
    if (factors.has(key)) throw wrong(path, `states ${key} twice`);
    const isEstimated = /^true$/i.test(fields[estimated] ?? '');
    factors.set(key, {
      zone: of,
      hour,
      provider,
      signal: isEstimated ? named('signal', `${signal}, estimated`) : signal,
      gwpKgco2ePerKwh: Number(gwp.toPrecision(12)),
    });
  }
  if (factors.size === 0) throw wrong('line 2', 'is missing: there is no hour in the file');
  return [...factors.values()];
}

function unknownLayout(columns: readonly string[]): MalformedData {
  const marginal =
    columns.some((name) => /moer|marginal/i.test(name)) || columns.includes('point_time');
  return wrong(
    'line 1',
    marginal
      ? 'is of a marginal or direct signal, which never replaces a location-based life-cycle factor'
      : 'is no known layout: Electricity Maps (Datetime (UTC), Carbon intensity gCO₂eq/kWh (Life cycle)), or zone,hour,gwp_kgco2e_per_kwh',
  );
}

/** `2026-11-20 13:00:00` or `2026-11-20T13:00:00Z`, of the hour's start in UTC. */
function hourOf(text: string, path: string): string {
  const [, day, hour] =
    /^(\d{4}-\d{2}-\d{2})[ T](\d{2}):00(?::00(?:\.0+)?)?(?:Z|\+00:?00)?$/.exec(text) ?? [];
  const start = `${day}T${hour}:00:00Z`;
  const ms = Date.parse(start);
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== `${day}T${hour}:00:00.000Z`)
    throw wrong(path, 'must begin with a whole hour in UTC, such as 2026-11-20 13:00:00');
  return start;
}

function named(what: string, value: string | undefined): string {
  if (value === undefined || value === '')
    throw new MalformedData('missing_field', what, 'is not in the file; give it as an option');
  if (value.length > 200) throw wrong(what, 'is longer than any name');
  if (isDisguised(value)) throw wrong(what, 'has characters that show nothing or as others');
  return value;
}

/** The fields of a line (RFC 4180, without line breaks in fields). */
function fieldsOf(line: string): string[] {
  const fields = line.match(/(?<=^|,)(?:"(?:[^"]|"")*"|[^,]*)(?=,|$)/g) ?? [];
  return fields.map((field) =>
    field.startsWith('"') ? field.slice(1, -1).replaceAll('""', '"') : field.trim(),
  );
}

function wrong(path: string, rule: string): MalformedData {
  return new MalformedData('wrong_value', path, rule);
}
