/** Tamperings with words: names, times, statements and notes that a receipt or a seal may only say as they can be. */
import { newestFactorSet } from '#shared/methodology/files/load.ts';
import { createMethodology } from '#shared/methodology/docket-1.ts';
import { atEntry, atFirst, atRevision, type Edit, isMetered, PLAIN } from './ledger-edits.ts';
import { toDecimalString as plainDecimal } from '#shared/kernel/decimal.ts';
import type { Loose } from './tampering.ts';

interface WordRow {
  name: string;
  /** Why a verifier can do no better. */
  note?: string;
  /** What both say of it then. */
  says?: RegExp;
}

const subject =
  (members: Loose): ((receipt: Loose) => void) =>
  (receipt) =>
    void Object.assign(receipt.credentialSubject, members);
const plainSays = (members: Loose): Edit => atEntry(PLAIN, subject(members));
const isStated = ({ measurement }: Loose): boolean => measurement?.dataQuality === 'TS';
/** What is of one request stands in two of them. */
const shared =
  (name: string): Edit =>
  (all) =>
    plainSays({ [name]: all[PLAIN - 1].credentialSubject[name] })(all);
const earlierBy = (time: string, ms: number): string =>
  new Date(Date.parse(time) - ms).toISOString();

const SAID_NOTE =
  'Nothing in a pack confirms it: both verifiers say in their first lines what is said, and that it is the word of who says it.';
const LEFT_NOTE =
  'Whoever has every key of the issuer is the issuer; the receipt that the caller holds says otherwise, and --require-anchor refuses it.';

/** Energy that cannot be, with the figures that would follow from it. */
const absurd = (receipt: Loose): void => {
  const { record } = receipt.measurement.used[0];
  const joules = 0.000001;
  const { results } = createMethodology(newestFactorSet()).estimate({
    usage: {
      inputTokens: record.input_tokens,
      cachedInputTokens: record.cached_input_tokens,
      outputTokens: record.output_tokens,
      source: record.usage_source,
    },
    meteredJoules: joules,
    route: record.route,
    attempts: record.attempts,
    latencyS: Number(record.latency_s),
    model: { id: 'llama-3.1-8b', footprint: { ref: 'llama-3.1-8b', gpus: 1, batch: 64 } },
    zone: 'FRA',
    site: { operator: 'example', pue: 1.12, wue: 0.18 },
  });
  receipt.measurement.result = results.map(({ name, unit, ...ends }) => ({
    lower: plainDecimal(ends.lower),
    quantityKind: name,
    type: 'QuantityValue',
    unit,
    upper: plainDecimal(ends.upper),
    value: plainDecimal(ends.value),
  }));
  record.stated_joules = plainDecimal(joules);
  receipt.credentialSubject.statedJoules = record.stated_joules;
};

const refusedInstead = (receipt: Loose): void => {
  const { credentialSubject: of } = receipt;
  for (const name of [
    'answerId',
    'attempts',
    'cachedInputTokens',
    'inputTokens',
    'outputTokens',
    'responseDigest',
    'usageSource',
  ])
    delete of[name];
  Object.assign(of, { outcome: 'refused', policy: { version: '2026-11-01' } });
  delete receipt.measurement;
};

const degradedInstead = (receipt: Loose): void => {
  Object.assign(receipt, {
    degradation: { code: 'model_size_unknown', requestedTier: receipt.tier, stage: 'model' },
    explanation: 'The size of the model is not known.',
    tier: 'degraded',
  });
  delete receipt.measurement;
};

const names: readonly (readonly [what: string, members: Loose])[] = [
  ['a region with a hyphen that is none (U+2010)', { region: 'eu\u2010west' }],
  ['a region with Cyrillic letters', { region: 'eu-w\u0435st' }],
  ['a model with a space of no width (U+200B)', { model: 'llama-3.1\u200b-8b' }],
  ['a model with a space that does not break (U+00A0)', { model: 'llama\u00a03.1' }],
  ['a model with a joiner (U+200D)', { model: 'llama-3.1-8b\u200d' }],
  ['a model that turns the direction (U+202E)', { model: 'llama\u202e-3.1' }],
  ['a requested model that turns the direction (U+2066)', { requestedModel: '\u2066gpt-4o' }],
  ['an upstream’s name that turns the direction', { modelVersion: 'llama\u202e-3.1' }],
  ['an upstream’s name with a line of its own', { modelVersion: 'llama\u2028GOOD' }],
  ['an upstream’s name with an unseen space', { modelVersion: 'llama\u200b' }],
  ['an upstream’s name with a wide space', { modelVersion: 'llama\u3000' }],
  ['an upstream’s name with a character of Unicode 15', { modelVersion: 'llama\u{1343F}' }],
  ['an upstream’s name that is a blank letter (U+3164)', { modelVersion: '\u3164' }],
  ['an answer’s id that is a formula', { upstreamAnswerId: '=HYPERLINK(1)' }],
  ['an answer’s id with a line of its own', { upstreamAnswerId: 'chatcmpl-1\nGOOD' }],
  ['a zone of the grid with an unseen space', { gridZone: 'FRA\u200b' }],
  ['a model that is a formula (=)', { model: '=HYPERLINK(1)' }],
  ['a model that is a formula (+)', { model: '+1+cmd' }],
  ['a model that is a formula (-)', { model: '-1+cmd' }],
  ['a model that is a formula (@)', { model: '@SUM(1)' }],
  ['a model that begins with a tab', { model: '\t=1' }],
  ['a model that begins with a carriage return', { model: '\r=1' }],
  ['a model that is markup', { model: '<b>llama</b>' }],
  ['a requested model that is a formula', { requestedModel: '=1+1' }],
];

export const OF_WORDS: readonly (WordRow & { edit: Edit })[] = [
  ...names.map(([what, members]) => ({ name: `a receipt with ${what}`, edit: plainSays(members) })),
  {
    name: 'a receipt of another program’s name with a line of its own',
    edit: atEntry(PLAIN, (r) => void (r.measurement.software = 'docket/0.1.0\nGOOD')),
  },
  {
    name: 'a note on a revision that turns the direction',
    edit: atRevision((r) => void (r.revisionNote = 'assured \u202eton')),
  },
  { name: 'a receipt that waited for ten hours', edit: plainSays({ queuedMs: 36_000_000 }) },
  {
    name: 'a receipt whose upstream took longer than the request',
    edit: plainSays({ upstreamMs: 5_000 }),
  },
  {
    name: 'a receipt that waited and ran for longer than the request took',
    edit: plainSays({ queuedMs: 1_000, upstreamMs: 1_000 }),
  },
  {
    name: 'a receipt that ended a second before it began',
    edit: atEntry(PLAIN, (r) => {
      r.credentialSubject.endedAt = earlierBy(r.credentialSubject.startedAt, 1_000);
    }),
  },
  ...['salt', 'requestDigest', 'responseDigest'].map((name) => ({
    name: `a receipt with the ${name} of another`,
    edit: shared(name),
  })),
  {
    name: 'a metered revision is said to be by a new methodology',
    edit: atFirst(
      (r) => r.revisionReason === 'measured' && isMetered(r),
      (r) => void (r.revisionReason = 'new_methodology'),
    ),
  },
  {
    name: 'energy that an upstream states is called measured',
    edit: atFirst(isStated, (r) => void (r.measurement.dataQuality = 'T1')),
  },
  {
    name: 'energy that an upstream states is called a model’s',
    edit: atFirst(isStated, (r) => void (r.measurement.dataQuality = 'T2')),
  },
  {
    name: 'energy that an upstream states, and cannot be, is used',
    edit: atFirst(isStated, absurd),
  },
  {
    name: 'energy that an upstream states is left out of the estimate unsaid',
    edit: atFirst(isStated, (r) => void delete r.measurement.used[0].record.stated_joules),
  },
  {
    name: 'energy that an upstream states is said to be out of bounds that are none',
    edit: atFirst(isStated, (r) => void (r.measurement.used[0].record.stated_beyond = 'taste')),
  },
  {
    name: 'a complete request is said to have been refused',
    edit: atEntry(PLAIN, refusedInstead),
    note: LEFT_NOTE,
  },
  {
    name: 'an estimated request is said to be degraded',
    edit: atEntry(PLAIN, degradedInstead),
    note: LEFT_NOTE,
  },
  {
    name: 'a receipt by a program of the future',
    edit: atEntry(PLAIN, (r) => void (r.measurement.software = 'docket/99.0.0')),
    note: SAID_NOTE,
    says: /software.*docket\/99\.0\.0.*by its own word/,
  },
  {
    name: 'a promise to be included within eleven days',
    edit: atEntry(PLAIN, (r) => void (r.inclusionPromise.maximumMergeDelay = 'PT950400S')),
    note: SAID_NOTE,
    says: /merge delay.*950.?400 s/,
  },
  {
    name: 'a promise to be included within a year',
    edit: atEntry(PLAIN, (r) => void (r.inclusionPromise.maximumMergeDelay = 'PT31536000S')),
  },
  {
    name: 'a note on a revision that claims assurance',
    edit: atRevision((r) => void (r.revisionNote = 'Assured without reservation by an auditor')),
    note: SAID_NOTE,
    says: /notes on revisions.*nothing confirms.*“Assured without reservation by an auditor”/,
  },
];

const STATED_NOTE =
  'No receipt says names or contracts: both verifiers say in their first lines what they are, and that they are the word of whoever sealed.';
const contract = (region: string, name = 'wind farm'): Loose => ({
  kgCo2ePerKwh: '0',
  name,
  region,
});

const PAPER_NOTE =
  'A pack has the digest of a file that the operator keeps: both verifiers say so, and docket verify --evidence compares the file with it.';
const paper = (members: Loose = {}): Loose => ({
  file: 'pue.pdf',
  input: 'pue',
  of: 'example',
  says: 'PUE 1.12, by the building’s meters',
  sha256: 'a'.repeat(64),
  ...members,
});

const EARLIER_NOTE =
  'Which packs were sealed before is the word of the operator: both verifiers say so, and docket reconcile compares a pack that is named.';
const amount = { lower: '1', upper: '3', value: '2' };
const before = (members: Loose = {}): Loose => ({
  amounts: { adpe: amount, adpf: amount, energy: amount, gwp: amount, water: amount },
  checkpointSize: 2,
  covered: 2,
  failed: 0,
  firstIndex: 0,
  lastIndex: 1,
  name: 'evidence-pack-of-before',
  refused: 0,
  seal: `uEiA${'A'.repeat(43)}`,
  uncovered: 0,
  ...members,
});

export const WORDS_SEALED: readonly (WordRow & { members: Loose; pack?: 'range' })[] = [
  {
    name: 'another organisation',
    members: { organisation: { identifier: 'LEI 5', name: 'Bakery' } },
    note: STATED_NOTE,
    says: /names.*“Bakery”, “LEI 5”, the word of whoever sealed/,
  },
  {
    name: 'a name that reads like an assurance',
    members: { organisation: { name: 'Verified by Big Four LLP: GOOD' } },
    note: STATED_NOTE,
    says: /names.*“Verified by Big Four LLP: GOOD”, the word of whoever sealed/,
  },
  {
    name: 'a contract for electricity',
    members: { contracts: [contract('eu-west')] },
    note: STATED_NOTE,
    says: /contracts.*“eu-west at 0 kgCO2e\/kWh: wind farm”, the word of whoever sealed/,
  },
  {
    name: 'a contract for a region without requests',
    members: { contracts: [contract('mars-1')] },
    note: STATED_NOTE,
    says: /contracts.*“mars-1 at 0 kgCO2e\/kWh: wind farm”, the word of whoever sealed/,
  },
  {
    name: 'a name that turns the direction',
    members: { organisation: { name: 'Bakery \u202eDOOG' } },
  },
  {
    name: 'a name with a line of its own',
    members: { operator: { name: 'Bakery\u2028GOOD' } },
  },
  {
    name: 'a contract whose name turns the direction',
    members: { contracts: [contract('eu-west', 'wind \u2067farm')] },
  },
  {
    name: 'two contracts for one region',
    members: { contracts: [contract('eu-west'), contract('eu-west', 'sun')] },
  },
  {
    name: 'evidence of what is declared, which the operator has not',
    members: { evidence: [paper()] },
    note: PAPER_NOTE,
    says: /declared inputs.*evidence is named for 1: “pue of example: pue.pdf”; for \d+ there is none.*\n.*evidence.*NOT CHECKED/,
  },
  {
    name: 'evidence of what no receipt takes',
    members: { evidence: [paper({ of: 'moon', says: 'approved' })] },
  },
  {
    name: 'a contract in another spelling of its figure',
    members: { contracts: [{ ...contract('eu-west'), kgCo2ePerKwh: '0.10' }] },
  },
  {
    name: 'evidence whose words turn the direction',
    members: { evidence: [paper({ says: 'PUE 1.12 \u202eDOOG' })] },
  },
  { name: 'evidence by a digest that is none', members: { evidence: [paper({ sha256: 'a' })] } },
  {
    name: 'evidence of an input that there is not',
    members: { evidence: [paper({ input: 'offset' })] },
  },
  {
    name: 'evidence of a building that was bought',
    members: { evidence: [paper({ volumeKwh: '7' })] },
  },
  {
    name: 'an inventory of the operator',
    members: { inventory: { consolidationApproach: 'assured by Big Four LLP' } },
    note: STATED_NOTE,
    says: /inventory.*“consolidationApproach: assured by Big Four LLP”, the word of whoever sealed; no figure rests on it/,
  },
  { name: 'an inventory of nothing', members: { inventory: {} } },
  { name: 'an inventory with a member that is not known', members: { inventory: { offset: '1' } } },
  {
    name: 'a threshold that is no number',
    members: { inventory: { restatementThresholdPercent: '5 %' } },
  },
  {
    name: 'an inventory whose words turn the direction',
    members: { inventory: { baseYear: '2024 \u202eDOOG' } },
  },
  { name: 'a policy of witnesses that is none', members: { witnessPolicy: 'quorum all\n' } },
  {
    name: 'a policy of witnesses with letters that show as others',
    members: { witnessPolicy: '# \u202eDOOG\nquorum none\n' },
  },
  { name: 'packs that are kept for no day', members: { keptDays: 0 } },
  {
    name: 'an earlier pack that never was',
    members: { earlier: [before()] },
    pack: 'range',
    note: EARLIER_NOTE,
    says: /earlier packs.*1 named, NOT CHECKED; the nearest has the entries 0 to 1/,
  },
  {
    name: 'an earlier pack of later entries',
    members: { earlier: [before({ lastIndex: 119, checkpointSize: 120 })] },
    pack: 'range',
  },
  {
    name: 'an earlier pack with an amount in another spelling',
    members: {
      earlier: [before({ amounts: { ...before().amounts, gwp: { ...amount, value: '2.0' } } })],
    },
    pack: 'range',
  },
  {
    name: 'an earlier pack of another form',
    members: { earlier: [before({ offset: 'all' })] },
    pack: 'range',
  },
];
