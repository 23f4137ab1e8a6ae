import { INDUSTRIES, STATEMENTS } from '../declaration.ts';
import type { NameIndex, NameMatch } from './name-index.ts';
import { COUNTRY_RISK_TEXTS, COUNTRY_RISKS } from './risk-rules.ts';

/** From this score on a name is a hit: an active account is suspended, and then reviewed. */
export const HIT_SCORE = 0.92;
/** From this score on a person should look. Chosen on the spelling variants in the tests; below it lie other names. */
export const LOOK_SCORE = 0.85;
/** Matches kept of one vetting: a person decides on the first few. What the rules say is kept whole, since the risk follows from it. */
const MATCHES_MAX = 20;
/**
 * Another of the applicant's names may come this much closer to a listed party than the one that a review has judged, before
 * it is a question of its own: words weigh a little more or less with each version of a list.
 */
const CLOSER_BY = 0.02;

/** Why a vetting was not clear, for the person who reviews. */
interface VettingReason {
  kind: 'list_match' | 'country' | 'industry' | 'statement' | 'no_list';
  /** 0..1; 1 for rules. */
  score: number;
  text: string;
  /** The applicant's name that was compared. */
  name?: string;
  /** The listed entity, `source:id`: a review that approves dismisses this match for good. */
  entity?: string;
}

/** Everything an applicant is known by and has declared. */
export interface Party {
  names: readonly string[];
  people: readonly string[];
  /** Its own, and those of its owners and directors. */
  countries: readonly string[];
  industry: string;
  /** Which text the statements answer. */
  declarationVersion: string;
  statements: Readonly<Record<string, boolean>>;
  /** Matches of which a review has found that the listed party is another of a similar name. */
  dismissed: readonly DismissedMatch[];
}

/** A reason of a vetting after which the account was approved. */
export type DismissedMatch = Required<Pick<VettingReason, 'entity' | 'name' | 'score'>>;

export interface Assessment {
  /** hit: a listed name · flagged: a question for a person · clear: neither. */
  outcome: 'clear' | 'flagged' | 'hit';
  reasons: readonly VettingReason[];
}

/** Compares a party with the lists and the rules. Without any list no party is clear. */
export function assess(party: Party, index: NameIndex): Assessment {
  const matches = matchNames(party, index);
  const reasons = [...matches.slice(0, MATCHES_MAX).map(reasonOf), ...ruleReasons(party)];
  if (index.size === 0) {
    reasons.push({ kind: 'no_list', score: 1, text: 'No sanctions list has been imported.' });
  }
  const outcome = matches.some(isHit) ? 'hit' : reasons.length > 0 ? 'flagged' : 'clear';
  return { outcome, reasons };
}

interface PartyMatch extends NameMatch {
  /** The applicant's name that was compared. */
  name: string;
}

/** The best match per listed entity. A person is not compared with ships, a company is with people: owners name firms. */
function matchNames(party: Party, index: NameIndex): PartyMatch[] {
  const dismissed = Map.groupBy(party.dismissed, ({ entity }) => entity);
  const best = new Map<string, PartyMatch>();
  const consider = (name: string, isPerson: boolean): void => {
    for (const match of index.search(name, LOOK_SCORE)) {
      if (isPerson && match.listed.kind !== 'person') continue;
      const entity = entityOf(match);
      if (dismissed.get(entity)?.some((before) => covers(before, name, match.score))) continue;
      if ((best.get(entity)?.score ?? 0) >= match.score) continue;
      best.set(entity, { ...match, name });
    }
  };
  for (const name of party.names) consider(name, false);
  for (const name of party.people) consider(name, true);
  return [...best.values()].toSorted((a, b) => b.score - a.score);
}

/** Whether a review has judged this already: this name, or one that is about as close to the listed party. */
function covers(before: DismissedMatch, name: string, score: number): boolean {
  return before.name === name || score <= before.score + CLOSER_BY;
}

/** What the list itself calls a weak alias only leads to a question. */
function isHit(match: PartyMatch): boolean {
  return match.score >= HIT_SCORE && !match.listed.weak;
}

function reasonOf(match: PartyMatch): VettingReason {
  const { listed } = match;
  const score = Math.round(match.score * 1_000) / 1_000;
  const weak = listed.weak ? ', a weak alias' : '';
  const programme = listed.programme === '' ? '' : ` (${listed.programme})`;
  return {
    kind: 'list_match',
    score,
    entity: entityOf(match),
    name: match.name,
    text: `"${match.name}" resembles "${listed.name}"${weak} of ${listed.source} ${listed.entityId}${programme}, score ${score}.`,
  };
}

function ruleReasons(party: Party): VettingReason[] {
  const reasons: VettingReason[] = [];
  for (const code of new Set(party.countries)) {
    const risk = COUNTRY_RISKS[code];
    if (risk === undefined) continue;
    const text = `The country ${code} ${COUNTRY_RISK_TEXTS[risk]}.`;
    reasons.push({ kind: 'country', score: 1, text });
  }
  if (INDUSTRIES[party.industry] !== 'normal') {
    const text = `The industry ${party.industry} is reviewed by a person.`;
    reasons.push({ kind: 'industry', score: 1, text });
  }
  for (const { id, text: statement, expected } of STATEMENTS[party.declarationVersion] ?? []) {
    if (party.statements[id] !== expected) {
      const answer = party.statements[id] === true ? 'yes' : 'no';
      const text = `"${statement}" (${id}) was answered with ${answer}.`;
      reasons.push({ kind: 'statement', score: 1, text });
    }
  }
  return reasons;
}

function entityOf({ listed }: NameMatch): string {
  return `${listed.source}:${listed.entityId}`;
}
