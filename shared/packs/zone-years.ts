import { toExactDecimalString } from '#shared/kernel/decimal.ts';

/** What a factor set says of the greenhouse gas of a grid zone over a year. */
export interface ZoneYear {
  /** Kilograms of a kilowatt-hour, as a plain decimal. */
  gwp: string;
  /**
   * How many times more or less an hour may have before it is said to be out of range: the factor within which nine in ten
   * zones lie from the world's figure. The set has no history by hour; an hour that is further from its own year than zones
   * are from each other is worth a look. Undefined where the set does not say it.
   */
  spread: number | undefined;
}

/** A record of a factor set. */
type FactorRecord = Readonly<{ [name: string]: unknown }>;

/** Grid zones of the factor set in a methodology's document; none where it has no factor set, or is of a form of its own. */
export function zoneYearsIn(text: string): [zone: string, year: ZoneYear][] {
  const content = within(within(JSON.parse(text), 'factor_set'), 'content');
  const spread = listIn(content, 'uncertainty').find(({ id }) => id === 'gwp_of_world')?.['factor'];
  return listIn(content, 'grid').flatMap(({ id, gwp_kgco2e_per_kwh: gwp }) =>
    typeof id === 'string' && isAmount(gwp)
      ? [[id, { gwp: toExactDecimalString(gwp), spread: isAmount(spread) ? spread : undefined }]]
      : [],
  );
}

/** Of several methodologies, by their paths in the pack: of a zone that several have the last has its say. */
export function zoneYears(documents: ReadonlyMap<string, string>): Map<string, ZoneYear> {
  const sorted = [...documents].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return new Map(sorted.flatMap(([, text]) => zoneYearsIn(text)));
}

/** Whether an hour's factor is further from the year's than hours are. */
export function isOutOfRange(gwp: number, { gwp: year, spread }: ZoneYear): boolean {
  return spread !== undefined && (gwp > Number(year) * spread || gwp < Number(year) / spread);
}

const isAmount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0;

function within(value: unknown, name: string): FactorRecord | undefined {
  const isRecord = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isRecord ? ((value as FactorRecord)[name] as FactorRecord | undefined) : undefined;
}

function listIn(value: FactorRecord | undefined, name: string): FactorRecord[] {
  const list: unknown = within(value, name);
  return Array.isArray(list)
    ? list.filter((each): each is FactorRecord => typeof each === 'object' && each !== null)
    : [];
}
