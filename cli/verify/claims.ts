import { DAY_MS } from '#shared/kernel/time.ts';
import { MAXIMUM_MERGE_DELAY_SECONDS, type ReceiptDocument } from '#shared/receipts/document.ts';
import { SOFTWARE } from '#shared/receipts/software.ts';
import type { ZoneHours } from '#shared/packs/hours.ts';
import { type DeclaredInput, nameOf } from '#shared/packs/report/declared.ts';
import type { ReportStatement } from '#shared/packs/report/statement.ts';
import { count, counted } from '#shared/methodology/readable.ts';
import { quoted } from '#shared/kernel/plain-text.ts';
import type { Row } from '#cli/print.ts';
import type { GivenEvidence } from './judge-pack.ts';

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
  /** The first programs that made estimates, by their own words. */
  software: string[];
  /** Receipts that were signed more than a day after their requests had ended, by their own word. */
  late: number;
  /** Seconds of the longest promise to include a receipt. */
  delayS: number;
  /** Revisions with words of those who asked for them, and the first of these words. */
  notes: number;
  firstNotes: string[];
}

export function noClaims(): Claims {
  return {
    stated: 0,
    beyond: 0,
    tokensCounted: 0,
    software: [],
    late: 0,
    delayS: 0,
    notes: 0,
    firstNotes: [],
  };
}

/** What one receipt says. */
export function claimsOf({
  credentialSubject: subject,
  inclusionPromise,
  measurement,
  revisionNote,
  validFrom,
  wasRevisionOf,
}: ReceiptDocument): Claims {
  const isLate = Date.parse(validFrom) > Date.parse(subject.endedAt) + DAY_MS;
  const isBeyond = measurement?.used.some(({ record }) => record['stated_beyond'] !== undefined);
  return {
    stated: measurement?.dataQuality === 'TS' ? 1 : 0,
    beyond: isBeyond ? 1 : 0,
    tokensCounted: subject.usageSource === 'counted' ? 1 : 0,
    software: measurement === undefined ? [] : [measurement.software],
    late: isLate && wasRevisionOf === undefined ? 1 : 0,
    delayS: Number(/\d+/.exec(inclusionPromise?.maximumMergeDelay ?? '')?.[0] ?? 0),
    notes: revisionNote === undefined ? 0 : 1,
    firstNotes: revisionNote === undefined ? [] : [revisionNote],
  };
}

/** Both together. */
export function joined(one: Claims, other: Claims): Claims {
  return {
    stated: one.stated + other.stated,
    beyond: one.beyond + other.beyond,
    tokensCounted: one.tokensCounted + other.tokensCounted,
    software: firstOf(one.software, other.software),
    late: one.late + other.late,
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

interface Said {
  claims: Claims;
  hours: readonly ZoneHours[];
  statement: ReportStatement | null;
  declared: readonly DeclaredInput[];
  evidence: readonly GivenEvidence[];
}

/** The same in words, for the first lines of a verdict. */
export function claimsSaid(said: Said): Row {
  const { claims, hours, statement } = said;
  const { stated, beyond, tokensCounted, software, late, delayS, notes, firstNotes } = claims;
  const foreign = software.filter((name) => name !== SOFTWARE);
  return {
    ...(stated + beyond === 0 ? {} : { 'energy stated': energyStated(stated, beyond) }),
    ...(tokensCounted === 0
      ? {}
      : {
          'tokens counted': `by the service for ${counted(tokensCounted, 'receipt')}: their upstream stated none, or what cannot be`,
        }),
    ...hoursSaid(hours),
    ...(foreign.length === 0
      ? {}
      : {
          software: `${shown(foreign)}, by its own word; this is ${SOFTWARE}`,
        }),
    ...(late === 0
      ? {}
      : {
          'signed late': `${counted(late, 'receipt')}, more than a day after the request ended: in which month it counts is the word of the issuer`,
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
    ...(statement === null
      ? {}
      : { ...declaredSaid(said, statement), ...statementSaid(statement) }),
  };
}

/** Hours are imported by the operator, who may leave out days that are dirty. */
function hoursSaid(zones: readonly ZoneHours[]): Row {
  if (zones.length === 0) return {};
  const said = zones.map(({ zone, hourly, annual, mixedDays, byHour, byYear, providers }) => {
    const year = byYear === null ? 'no annual factor is known' : `${byYear} by year`;
    const mixed = mixedDays === 0 ? '' : `, ${counted(mixedDays, 'day')} in part`;
    return `${zone}, ${count(hourly)} of ${counted(hourly + annual, 'receipt')} of the tier enterprise${mixed}: ${byHour} kgCO2e of electricity by hour, ${year}; hours by ${shown(providers)}`;
  });
  const odd = zones.filter(({ outOfRange }) => outOfRange > 0);
  const out = odd.map(({ zone, outOfRange }) => `${zone}, ${counted(outOfRange, 'receipt')}`);
  return {
    'factors of hours': `${said.join('; ')}. Which days are imported is the word of the operator`,
    ...(out.length === 0
      ? {}
      : {
          'hours out of range': `${out.join('; ')}: further from the annual factor of their zone than zones are from the world`,
        }),
  };
}

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

/** What the operator declares, and for which of it there are papers, by its word. */
function declaredSaid({ declared, evidence: given }: Said, { evidence }: ReportStatement): Row {
  const inputs = [...new Set(declared.map(nameOf))];
  if (inputs.length === 0) return {};
  const papers = new Map(
    inputs.map((name) => [name, evidence.filter((each) => nameOf(each) === name)]),
  );
  const [named, none] = [
    inputs.filter((name) => papers.get(name)!.length > 0),
    inputs.filter((name) => papers.get(name)!.length === 0),
  ];
  const files = named.flatMap((name) => papers.get(name)!.map(({ file }) => `${name}: ${file}`));
  const same = given.map(({ name }) => name);
  return {
    'declared inputs': `${counted(inputs.length, 'input')} by the word of the operator; ${
      named.length === 0
        ? 'evidence is named for none'
        : `evidence is named for ${named.length}: ${shown(files)}`
    }${none.length === 0 ? '' : `; for ${none.length} there is none: ${shown(none)}`}`,
    ...(named.length === 0
      ? {}
      : {
          evidence:
            same.length === 0
              ? 'NOT CHECKED: ask for the files, and give them with --evidence'
              : `${shown(same)}, by SHA-256 among the files that are named; what is in them, and the other files, NOT CHECKED`,
        }),
  };
}

/** Names and contracts are on no receipt. */
function statementSaid(statement: ReportStatement): Row {
  const { contracts, earlier, inventory = {}, operator, organisation } = statement;
  const [nearest] = earlier;
  const parties = [organisation, operator].flatMap(({ name, identifier }) =>
    [name, identifier].filter((each) => each !== undefined),
  );
  const bought = contracts.map(
    ({ region, kgCo2ePerKwh, name }) => `${region} at ${kgCo2ePerKwh} kgCO2e/kWh: ${name}`,
  );
  const accounts = Object.entries(inventory).map(([name, value]) => `${name}: ${value}`);
  return {
    ...(parties.length === 0 ? {} : { names: `${shown(parties)}, the word of whoever sealed` }),
    ...(nearest === undefined
      ? {}
      : {
          'earlier packs': `${earlier.length} named, NOT CHECKED; the nearest has the entries ${nearest.firstIndex} to ${nearest.lastIndex} and the seal ${nearest.seal}: docket reconcile lays it beside this one`,
        }),
    ...(accounts.length === 0
      ? {}
      : { inventory: `${shown(accounts)}, the word of whoever sealed; no figure rests on it` }),
    ...(bought.length === 0
      ? {}
      : { contracts: `${shown(bought)}, the word of whoever sealed; no total has them` }),
  };
}

function shown(words: readonly string[]): string {
  const first = words.slice(0, SHOWN_MAX).map((each) => {
    const text = Array.from(each).slice(0, CHARS_MAX).join('');
    return quoted(text, text.length < each.length ? '…' : '');
  });
  return first.join(', ') + (words.length > SHOWN_MAX ? ' and more' : '');
}
