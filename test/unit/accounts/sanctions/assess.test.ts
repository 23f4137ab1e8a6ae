import { describe, expect, it } from 'vitest';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import { assess, type Party } from '#shared/accounts/sanctions/assess.ts';
import type { ListedName } from '#shared/accounts/sanctions/listed.ts';
import { riskOf } from '#shared/accounts/vetting.ts';
import { NameIndex } from '#shared/accounts/sanctions/name-index.ts';

const listed = (name: string, over: Partial<ListedName> = {}): ListedName => ({
  source: 'un',
  entityId: name,
  name,
  kind: 'organisation',
  weak: false,
  programme: 'TEST',
  ...over,
});
const index = new NameIndex([
  listed('Zorvanik Heavy Industries'),
  listed('Quellmar Weak Alias', { weak: true }),
  listed('Miroslav Zorin', { kind: 'person' }),
  listed('Tarfaoui Star', { kind: 'other' }),
]);
const innocent: Party = {
  names: ['Harmless Bakery'],
  people: ['Ada Example'],
  countries: ['FR'],
  industry: 'retail',
  declarationVersion: DECLARATION_VERSION,
  statements: Object.fromEntries(
    STATEMENTS[DECLARATION_VERSION]!.map(({ id, expected }) => [id, expected]),
  ),
  dismissed: [],
};
const kinds = (party: Partial<Party>): [string, string[]] => {
  const { outcome, reasons } = assess({ ...innocent, ...party }, index);
  return [outcome, reasons.map(({ kind }) => kind)];
};

describe('the assessment of an applicant', () => {
  it('is clear when nothing speaks against it', () => {
    expect(kinds({})).toEqual(['clear', []]);
  });

  it('is a hit for a listed organisation, under any of its names', () => {
    expect(kinds({ names: ['Zorvanik Heavy Industries GmbH'] })).toEqual(['hit', ['list_match']]);
    expect(kinds({ names: ['Harmless Bakery', 'Industries Zorvanik Heavy'] })[0]).toBe('hit');
  });

  it('is a hit for a listed person among the people', () => {
    expect(kinds({ people: ['ZORIN Miroslav'] })).toEqual(['hit', ['list_match']]);
  });

  it('does not compare people with ships', () => {
    expect(kinds({ people: ['Tarfaoui Star'] })).toEqual(['clear', []]);
  });

  it('asks a person about a weak alias, and does no more', () => {
    expect(kinds({ names: ['Quellmar Weak Alias'] })).toEqual(['flagged', ['list_match']]);
  });

  it('does not ask again about a match that a review has dismissed', () => {
    const name = 'Zorvanik Heavy Industries';
    const before = { entity: `un:${name}`, name, score: 1 };
    expect(kinds({ names: [name], dismissed: [before] })).toEqual(['clear', []]);
    // Also at a time when words weighed otherwise.
    expect(kinds({ names: [name], dismissed: [{ ...before, score: 0.9 }] })).toEqual(['clear', []]);
  });

  it('asks about another name that is closer to the listed one than what a review has dismissed: a signatory who signs afterwards', () => {
    const before = { entity: 'un:Miroslav Zorin', name: 'Zorin Mira Slavna', score: 0.86 };
    const party = { names: ['Zorin Mira Slavna'], dismissed: [before] };
    expect(kinds(party)).toEqual(['clear', []]);
    expect(kinds({ ...party, people: ['Miroslav Zorin'] })).toEqual(['hit', ['list_match']]);
  });

  it('says what the rules say beside any number of matches: the risk follows from it', () => {
    const alike = Array.from({ length: 40 }, (_, at) =>
      listed('Tarfaoui Quellmar', { entityId: String(at), weak: true }),
    );
    const party = { ...innocent, names: ['Tarfaoui Quellmar'], countries: ['KP'] };
    const vetting = assess(party, new NameIndex(alike));
    expect(vetting.reasons.map(({ kind }) => kind)).toContain('country');
    expect(vetting.reasons.length).toBeLessThanOrEqual(21);
    expect(riskOf(vetting)).toBe('high');
  });

  it('flags countries, industries and statements by their rules', () => {
    expect(kinds({ countries: ['FR', 'KP'] })).toEqual(['flagged', ['country']]);
    expect(kinds({ industry: 'defence' })).toEqual(['flagged', ['industry']]);
    expect(kinds({ industry: 'unheard_of' })).toEqual(['flagged', ['industry']]);
    for (const { id, expected } of STATEMENTS[DECLARATION_VERSION]!) {
      const statements = { ...innocent.statements, [id]: !expected };
      expect(kinds({ statements })).toEqual(['flagged', ['statement']]);
    }
  });

  it('is never clear without a list', () => {
    const { outcome, reasons } = assess(innocent, new NameIndex([]));
    expect([outcome, reasons.map(({ kind }) => kind)]).toEqual(['flagged', ['no_list']]);
  });
});
