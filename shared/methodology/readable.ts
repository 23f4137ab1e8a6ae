import type { DataQuality, QuantityName } from './measurement.ts';

/** The units in which people read a quantity, largest first: a factor over the receipts' unit, and its name. */
const UNITS: Readonly<Record<QuantityName, readonly (readonly [number, string])[]>> = {
  energy: [
    [1e9, 'TWh'],
    [1e6, 'GWh'],
    [1e3, 'MWh'],
    [1, 'kWh'],
    [1e-3, 'Wh'],
    [1e-6, 'mWh'],
  ],
  gwp: [
    [1e9, 'Mt CO₂e'],
    [1e6, 'kt CO₂e'],
    [1e3, 't CO₂e'],
    [1, 'kg CO₂e'],
    [1e-3, 'g CO₂e'],
    [1e-6, 'mg CO₂e'],
  ],
  water: [
    [1e9, 'GL'],
    [1e6, 'ML'],
    [1e3, 'm³'],
    [1, 'L'],
    [1e-3, 'mL'],
    [1e-6, 'µL'],
  ],
  adpe: [
    [1e3, 't Sbe'],
    [1, 'kg Sbe'],
    [1e-3, 'g Sbe'],
    [1e-6, 'mg Sbe'],
    [1e-9, 'µg Sbe'],
    [1e-12, 'ng Sbe'],
  ],
  adpf: [
    [1e9, 'PJ'],
    [1e6, 'TJ'],
    [1e3, 'GJ'],
    [1, 'MJ'],
    [1e-3, 'kJ'],
    [1e-6, 'J'],
  ],
};

/** A unit in which the largest of several amounts reads as 1 to 999. */
export interface Scale {
  unit: string;
  /** An amount in it, to three digits. */
  text: (amount: string | number) => string;
}

export function scaleFor(quantity: QuantityName, largest: string | number): Scale {
  const units = UNITS[quantity];
  const [factor, unit] = units.find(([each]) => Number(largest) >= each) ?? units.at(-1)!;
  return { unit, text: (amount) => digits(Number(amount) / factor) };
}

/** Three significant digits, with narrow spaces between thousands that break no line, never an exponent. */
function digits(value: number): string {
  if (value === 0) return '0';
  const rounded = Number(value.toPrecision(3));
  if (rounded < 0.001) return '< 0.001';
  const exponent = Number(rounded.toExponential().split('e')[1]);
  const places = Math.max(0, 2 - exponent);
  const [whole = '', fraction] = rounded.toFixed(places).split('.');
  return spaced(whole) + (fraction === undefined ? '' : `.${fraction}`);
}

/** A whole number with narrow spaces between thousands that break no line. */
export function count(value: number): string {
  return spaced(String(value));
}

/** `1 request`, `2 requests`. */
export function counted(value: number, one: string, more = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : more}`;
}

function spaced(whole: string): string {
  return whole.replaceAll(/\B(?=(\d{3})+$)/g, '\u202F');
}

/** An amount of money with two places, or three digits where these would say little. */
export function moneyText(amount: number): string {
  const isSmall = amount > 0 && amount < 0.1;
  const [whole = '', fraction] = (
    isSmall ? amount.toFixed(Math.min(12, 2 - Math.floor(Math.log10(amount)))) : amount.toFixed(2)
  ).split('.');
  return `${count(Number(whole))}.${fraction}`;
}

export const QUANTITY_TITLES: Readonly<Record<QuantityName, string>> = {
  energy: 'Energy',
  gwp: 'Greenhouse gas',
  water: 'Water',
  adpe: 'Minerals and metals',
  adpf: 'Fossil energy',
};

/** What the quality of the data behind an estimate is called. */
export const QUALITY_WORDS: Readonly<Record<DataQuality, string>> = {
  T1: 'metered',
  TS: 'stated by the upstream of itself',
  T2: 'open weights on known hardware',
  T3: 'open weights',
  T4: 'architecture guessed',
  T5: 'class of model alone',
};
