import { MAXIMUM_MERGE_DELAY_SECONDS, type ReceiptDocument } from '#shared/receipts/document.ts';
import { SOFTWARE } from '#shared/receipts/software.ts';
import type { ReportStatement } from '#shared/packs/report/statement.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import { plain } from '#shared/kernel/plain-text.ts';
import type { Row } from '#cli/print.ts';

/** Names of programs, and notes, that are shown of a pack; the rest is counted. */
const SHOWN_MAX = 4;
/** Characters of each that are shown. */
const CHARS_MAX = 120;

/** What receipts of a pack say that nothing in it confirms, as plain data for handing to another thread. */
export interface Claims {
  /** Receipts whose energy is the word of their upstream, and those whose upstream states energy that cannot be. */
  stated: number;
  beyond: number;
  /** Receipts whose tokens the service counted itself. */
  tokensCounted: number;
  /** Receipts that nothing in the pack revises and that take the grid factor of their hour, by the zone of the grid. */
  hours: Readonly<Record<string, OfHours>>;
  /** The first who publish those hours, by the operator's word. */
  providers: string[];
  /** The first programs that made estimates, by their own words. */
  software: string[];
  /** Seconds of the longest promise to include a receipt. */
  delayS: number;
  /** Revisions with words of those who asked for them, and the first of these words. */
  notes: number;
  firstNotes: string[];
}

/** What receipts with factors of hours add up to. Which hours are imported is the operator's choice. */
interface OfHours {
  receipts: number;
  kwh: number;
  /** Greenhouse gas of that electricity by the factors of hours. */
  kg: number;
  /** The same by the annual factor of the zone; null where no factor set of the pack has one. */
  annualKg: number | null;
}

export function noClaims(): Claims {
  return {
    stated: 0,
    beyond: 0,
    tokensCounted: 0,
    hours: {},
    providers: [],
    software: [],
    delayS: 0,
    notes: 0,
    firstNotes: [],
  };
}

/** What one receipt says. @param isCurrent nothing in the pack revises it */
export function claimsOf(document: ReceiptDocument, isCurrent: boolean): Claims {
  const { credentialSubject: subject, inclusionPromise, measurement, revisionNote } = document;
  const isBeyond = measurement?.used.some(({ record }) => record['stated_beyond'] !== undefined);
  return {
    stated: measurement?.dataQuality === 'TS' ? 1 : 0,
    beyond: isBeyond ? 1 : 0,
    tokensCounted: subject.usageSource === 'counted' ? 1 : 0,
    ...(isCurrent ? hourOf(document) : { hours: {}, providers: [] }),
    software: measurement === undefined ? [] : [measurement.software],
    delayS: Number(/\d+/.exec(inclusionPromise?.maximumMergeDelay ?? '')?.[0] ?? 0),
    notes: revisionNote === undefined ? 0 : 1,
    firstNotes: revisionNote === undefined ? [] : [revisionNote],
  };
}

function hourOf({ measurement }: ReceiptDocument): Pick<Claims, 'hours' | 'providers'> {
  const record = measurement?.used.find(({ record: one }) => one['hour'] !== undefined)?.record;
  const energy = measurement?.result.find(({ quantityKind }) => quantityKind === 'energy');
  if (record === undefined || energy === undefined) return { hours: {}, providers: [] };
  const kwh = Number(energy.value);
  const kg = kwh * Number(record['gwp_kgco2e_per_kwh']);
  return {
    hours: { [String(record['zone'])]: { receipts: 1, kwh, kg, annualKg: null } },
    providers: [String(record['provider'])],
  };
}

/** With the sums by annual factors. @param annual kilograms of a kilowatt-hour by zone */
export function withAnnual(claims: Claims, annual: ReadonlyMap<string, number>): Claims {
  const hours = Object.entries(claims.hours).map(([zone, of]) => {
    const factor = annual.get(zone);
    return [zone, { ...of, annualKg: factor === undefined ? null : of.kwh * factor }] as const;
  });
  return { ...claims, hours: Object.fromEntries(hours) };
}

function summed(one: Claims['hours'], other: Claims['hours']): Claims['hours'] {
  const all = { ...one };
  for (const [zone, of] of Object.entries(other)) {
    const { receipts = 0, kwh = 0, kg = 0 } = all[zone] ?? {};
    const sum = { receipts: receipts + of.receipts, kwh: kwh + of.kwh, kg: kg + of.kg };
    all[zone] = { ...sum, annualKg: null };
  }
  return all;
}

/** Both together. */
export function joined(one: Claims, other: Claims): Claims {
  return {
    stated: one.stated + other.stated,
    beyond: one.beyond + other.beyond,
    tokensCounted: one.tokensCounted + other.tokensCounted,
    hours: summed(one.hours, other.hours),
    providers: firstOf(one.providers, other.providers),
    software: firstOf(one.software, other.software),
    delayS: Math.max(one.delayS, other.delayS),
    notes: one.notes + other.notes,
    firstNotes: firstOf(one.firstNotes, other.firstNotes),
  };
}

/** Each once. One more than is shown, so that it is known that there are more. */
function firstOf(one: string[], other: readonly string[]): string[] {
  const more = other.filter((each) => !one.includes(each));
  if (more.length === 0 || one.length > SHOWN_MAX) return one;
  return [...one, ...new Set(more)].slice(0, SHOWN_MAX + 1);
}

/** The same in words, for the first lines of a verdict. */
export function claimsSaid(claims: Claims, statement: ReportStatement | null): Row {
  const { stated, beyond, tokensCounted, software, delayS, notes, firstNotes } = claims;
  const foreign = software.filter((name) => name !== SOFTWARE);
  return {
    ...(stated + beyond === 0 ? {} : { 'energy stated': energyStated(stated, beyond) }),
    ...(tokensCounted === 0
      ? {}
      : {
          'tokens counted': `by the service for ${counted(tokensCounted, 'receipt')}: their upstream stated none, or what cannot be`,
        }),
    ...hoursSaid(claims),
    ...(foreign.length === 0
      ? {}
      : {
          software: `${shown(foreign)}, by its own word; this is ${SOFTWARE}`,
        }),
    ...(delayS <= MAXIMUM_MERGE_DELAY_SECONDS
      ? {}
      : {
          'merge delay': `up to ${count(delayS)} s until a signed head has a receipt, by its promise; the service as released promises ${MAXIMUM_MERGE_DELAY_SECONDS} s`,
        }),
    ...(notes === 0
      ? {}
      : {
          'notes on revisions': `${count(notes)}, the word of those who asked, which nothing confirms: ${shown(firstNotes)}`,
        }),
    ...(statement === null ? {} : statementSaid(statement)),
  };
}

/** Hours are imported by the operator, who may leave out those that are dirty. */
function hoursSaid({ hours, providers }: Claims): Row {
  const zones = Object.entries(hours).toSorted(([one], [other]) => (one < other ? -1 : 1));
  if (zones.length === 0) return {};
  const said = zones.map(([zone, { receipts, kg, annualKg }]) => {
    const year =
      annualKg === null ? 'no annual factor is known' : `${threeDigits(annualKg)} by year`;
    return `${zone}, ${counted(receipts, 'receipt')}: ${threeDigits(kg)} kgCO2e of electricity by hour, ${year}`;
  });
  return {
    'factors of hours': `${said.join('; ')}. Which hours are used is the word of the operator, who names as their source ${shown(providers)}`,
  };
}

const threeDigits = (value: number): string => String(Number(value.toPrecision(3)));

function energyStated(stated: number, beyond: number): string {
  const parts = [
    ...(stated === 0
      ? []
      : [`of ${counted(stated, 'receipt')} by their upstream of itself; no meter confirms it`]),
    ...(beyond === 0
      ? []
      : [`of ${counted(beyond, 'receipt')} it cannot be, and was not used (stated_beyond)`]),
  ];
  return parts.join('; ');
}

/** Names and contracts are on no receipt. */
function statementSaid({ contracts, operator, organisation }: ReportStatement): Row {
  const parties = [organisation, operator].flatMap(({ name, identifier }) =>
    [name, identifier].filter((each) => each !== undefined),
  );
  const bought = contracts.map(
    ({ region, kgCo2ePerKwh, name }) => `${region} at ${kgCo2ePerKwh} kgCO2e/kWh: ${name}`,
  );
  return {
    ...(parties.length === 0 ? {} : { names: `${shown(parties)}, the word of whoever sealed` }),
    ...(bought.length === 0
      ? {}
      : { contracts: `${shown(bought)}, the word of whoever sealed; no total has them` }),
  };
}

function shown(words: readonly string[]): string {
  const first = words.slice(0, SHOWN_MAX).map((each) => {
    const text = Array.from(each).slice(0, CHARS_MAX).join('');
    return `“${plain(text)}${text.length < each.length ? '…' : ''}”`;
  });
  return first.join(', ') + (words.length > SHOWN_MAX ? ' and more' : '');
}
