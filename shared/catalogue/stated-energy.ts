/** Joules in each unit in which an upstream may state the energy of a request. */
const STATED_ENERGY_UNITS = {
  J: 1,
  mJ: 1e-3,
  kJ: 1e3,
  mWh: 3.6,
  Wh: 3_600,
  kWh: 3_600_000,
} as const;

/** Where an upstream states the energy of a request's accelerators, if it does. */
export interface StatedEnergy {
  header?: string;
  usageField?: string;
  /** The steps of a JSON path into the answer, or into each payload of a stream. */
  path?: readonly (string | number)[];
  /** Joules when absent. */
  unit?: keyof typeof STATED_ENERGY_UNITS;
}

const STEP = /\.([A-Za-z_][A-Za-z0-9_-]*)|\['([^'\\]+)'\]|\[(\d{1,6})\]/y;

/** The steps of a singular JSON path (RFC 9535): `$.usage.energy['gpu'].joules`; undefined when it is none. */
export function stepsOfPath(text: string): (string | number)[] | undefined {
  if (!text.startsWith('$') || text.length === 1) return undefined;
  const steps: (string | number)[] = [];
  STEP.lastIndex = 1;
  while (STEP.lastIndex < text.length) {
    const match = STEP.exec(text);
    if (match === null) return undefined;
    steps.push(match[3] === undefined ? (match[1] ?? match[2]!) : Number(match[3]));
  }
  return steps;
}

/** The energy at the path, in joules; undefined when there is none. Untrusted. */
export function joulesIn(body: unknown, energy: StatedEnergy | undefined): number | undefined {
  if (energy?.path === undefined) return undefined;
  let value = body;
  for (const step of energy.path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = (value as Record<string | number, unknown>)[step];
  }
  return inJoules(value, energy);
}

/** Outside these no request lies, in any unit: such a figure is no amount of energy. Zero is one. */
const JOULES_MIN = 1e-30;
const JOULES_MAX = 1e30;

/** A stated figure in joules; undefined when it is no amount of energy. */
export function inJoules(value: unknown, energy: StatedEnergy | undefined): number | undefined {
  if (typeof value !== 'number') return undefined;
  const joules = value * STATED_ENERGY_UNITS[energy?.unit ?? 'J'];
  return joules === 0 || (joules >= JOULES_MIN && joules <= JOULES_MAX) ? joules : undefined;
}
