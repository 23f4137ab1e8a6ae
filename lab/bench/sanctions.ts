import { performance } from 'node:perf_hooks';
import { DECLARATION_VERSION } from '#shared/accounts/declaration.ts';
import { assess, type Party } from '#shared/accounts/sanctions/assess.ts';
import { NameIndex } from '#shared/accounts/sanctions/name-index.ts';
import { syntheticNames } from '#test/support/synthetic-names.ts';
import { readNumbers } from './support/arguments.ts';

/**
 * The time to vet one applicant, which has to stay under 300 ms against 50,000 names:
 * npm run bench sanctions [names]
 * An applicant has two names and three people.
 */
const { names: count } = readNumbers('sanctions [names]', { names: 50_000 });
const ROUNDS = 100;

const begun = performance.now();
const names = syntheticNames(count, 1);
const index = new NameIndex(
  names.map((name, at) => ({
    source: 'opensanctions',
    entityId: `NK-${at}`,
    name,
    kind: at % 2 === 0 ? 'person' : 'organisation',
    weak: false,
    programme: 'bench',
  })),
);
process.stdout.write(`index of ${count} names: ${(performance.now() - begun).toFixed(0)} ms\n`);

const strangers = syntheticNames(ROUNDS * 5, 2);
const times: number[] = [];
let flagged = 0;
for (let round = 0; round < ROUNDS; round += 1) {
  const own = strangers.slice(round * 5, round * 5 + 5);
  const party: Party = {
    names: own.slice(0, 2),
    people: own.slice(2),
    countries: ['FR'],
    industry: 'retail',
    declarationVersion: DECLARATION_VERSION,
    statements: {},
    dismissed: [],
  };
  const start = performance.now();
  const { reasons } = assess(party, index);
  times.push(performance.now() - start);
  if (reasons.some(({ kind }) => kind === 'list_match')) flagged += 1;
}
times.sort((a, b) => a - b);
const at = (share: number): string => times[Math.floor(share * ROUNDS)]!.toFixed(1);
process.stdout.write(`one applicant: p50 ${at(0.5)} ms  p99 ${at(0.99)} ms\n`);
process.stdout.write(`strangers that resemble a listed party: ${flagged} of ${ROUNDS}\n`);
