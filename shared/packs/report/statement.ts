import Type, { type Static } from 'typebox';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { WRITTEN_DECIMAL_PATTERN } from '#shared/kernel/decimal.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { MULTIHASH_PATTERN } from '#shared/kernel/multihash.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { MalformedLedgerText } from '#shared/ledger/notes.ts';
import { parseWitnessPolicy, POLICY_BYTES_MAX } from '#shared/ledger/witness-policy.ts';
import type { QuantityName } from '#shared/methodology/measurement.ts';
import type { TotalsDocument } from '#shared/packs/seal-format.ts';
import { QUANTITIES } from '#shared/packs/totals.ts';

/**
 * What no receipt says and a report needs (`stated.json`): names, contracts for electricity, which evidence there is of what
 * the operator declares, packs of before, for how long packs are kept, and where the operator says so, how it accounts for
 * greenhouse gas and whose cosignatures its anchor is to have.
 */

const text = Type.String({ minLength: 1, maxLength: 1_024 });
const sha256 = Type.String({ pattern: '^[0-9a-f]{64}$' });
const CLOSED = { additionalProperties: false };
const Party = Type.Object({ identifier: Type.Optional(text), name: Type.Optional(text) }, CLOSED);

/** What an estimate, or a report, takes from the word of the operator. */
const DECLARED_KINDS = [
  'batch',
  'contract',
  'gpus',
  'precision',
  'pue',
  'size',
  'wue',
  'zone',
] as const;
export type DeclaredKind = (typeof DECLARED_KINDS)[number];

/** A file that the operator has for something that it declares; of a contract also what was bought. */
export const EVIDENCE = Type.Object(
  {
    certificate: Type.Optional(text),
    file: text,
    input: Type.Enum([...DECLARED_KINDS]),
    of: text,
    says: text,
    sha256,
    vintage: Type.Optional(text),
    volumeKwh: Type.Optional(Type.String({ pattern: '^(?:0|[1-9][0-9]{0,14})$' })),
  },
  CLOSED,
);
export type Evidence = Static<typeof EVIDENCE>;

/** What the operator says of its own inventory of greenhouse gas. No figure of a pack rests on it. */
export const INVENTORY = Type.Object(
  {
    baseYear: Type.Optional(text),
    consolidationApproach: Type.Optional(text),
    gwpSet: Type.Optional(text),
    restatementPolicy: Type.Optional(text),
    /** Of a total. */
    restatementThresholdPercent: Type.Optional(
      Type.String({ pattern: '^(?:0|[1-9][0-9]?)(?:\\.[0-9]{0,3}[1-9])?$' }),
    ),
  },
  { ...CLOSED, minProperties: 1 },
);
export type Inventory = Static<typeof INVENTORY>;

/** A policy as a pack has it: letters that show what they are, since it is shown. */
export const STATED_POLICY = Type.String({
  minLength: 1,
  maxLength: POLICY_BYTES_MAX,
  pattern: '^[\\t\\n -~]+$',
});

/** As many as there are contracts and models that an operator has papers for. */
export const EVIDENCE_MAX = 256;
/** Days for which a pack can be kept: ten years. */
const KEPT_DAYS_MAX = 3_650;

const count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const decimal = Type.String({ pattern: WRITTEN_DECIMAL_PATTERN });
const Amount = Type.Object({ lower: decimal, upper: decimal, value: decimal }, CLOSED);

/** A pack that was sealed before, with the figures that its seal states. */
const EarlierPack = Type.Object(
  {
    amounts: Type.Object(
      Object.fromEntries(QUANTITIES.map((name) => [name, Amount])) as Record<
        QuantityName,
        typeof Amount
      >,
      CLOSED,
    ),
    checkpointSize: count,
    covered: count,
    failed: count,
    firstIndex: count,
    lastIndex: count,
    name: text,
    refused: count,
    seal: Type.String({ pattern: MULTIHASH_PATTERN }),
    uncovered: count,
  },
  CLOSED,
);
export type EarlierPack = Static<typeof EarlierPack>;

/** A year by quarters; those before are named by the earliest of them. */
export const EARLIER_PACKS_MAX = 4;

const Statement = Type.Object(
  {
    contracts: Type.Array(
      Type.Object(
        {
          kgCo2ePerKwh: Type.String({ pattern: '^(?:0|[1-9][0-9]{0,2})(?:\\.[0-9]{0,8}[1-9])?$' }),
          name: text,
          region: text,
        },
        CLOSED,
      ),
      { maxItems: 256 },
    ),
    earlier: Type.Array(EarlierPack, { maxItems: EARLIER_PACKS_MAX }),
    evidence: Type.Array(EVIDENCE, { maxItems: EVIDENCE_MAX }),
    inventory: Type.Optional(INVENTORY),
    keptDays: Type.Integer({ minimum: 1, maximum: KEPT_DAYS_MAX }),
    operator: Party,
    organisation: Party,
    /** C2SP tlog-policy. */
    witnessPolicy: Type.Optional(STATED_POLICY),
  },
  CLOSED,
);

/** The operator, the organisation, and the operator’s contracts for electricity, one for each region at most. */
export type ReportStatement = Static<typeof Statement>;

const statementOf = shapeOf(Statement);

/** Reads a statement from anyone. @throws MalformedData */
export function parseStatement(source: string): ReportStatement {
  const statement = statementOf(parseStrictJson(source));
  if (canonicalJson(statement) !== source) {
    throw new MalformedData('wrong_value', '', 'is not in its canonical form');
  }
  check(statement);
  return statement;
}

/** @throws MalformedData */
function check({ contracts, evidence, witnessPolicy, ...statement }: ReportStatement): void {
  const { earlier, inventory = {}, operator, organisation } = statement;
  const refuse = (message: string): never => {
    throw new MalformedData('wrong_value', '', message);
  };
  const words = [
    ...[operator, organisation, inventory, ...evidence].flatMap((each) => Object.values(each)),
    ...contracts.flatMap(({ name, region }) => [name, region]),
    ...earlier.map(({ name }) => name),
  ];
  // A name that shows as another, or as a line of its own, says something else to people than to programs.
  if (!words.every((each) => isPrintable(each, each.length))) refuse('A name is not what it shows');
  if (new Set(contracts.map(({ region }) => region)).size < contracts.length)
    refuse('A region has two contracts');
  if (!evidence.every(isOfItsInput)) refuse('Evidence of no contract says what was bought');
  if (witnessPolicy !== undefined) checkPolicy(witnessPolicy);
}

/** What was bought stands with a contract alone. */
export function isOfItsInput({ input, certificate, vintage, volumeKwh }: Evidence): boolean {
  return input === 'contract' || (certificate ?? vintage ?? volumeKwh) === undefined;
}

function checkPolicy(policy: string): void {
  try {
    parseWitnessPolicy(policy);
  } catch (error) {
    if (!(error instanceof MalformedLedgerText)) throw error;
    throw new MalformedData(
      'wrong_value',
      'witnessPolicy',
      `is no witness policy: ${error.message}`,
    );
  }
}

/** A pack as later ones name it. @param totals as its seal states them */
export function earlierPack(
  pack: Omit<EarlierPack, 'amounts' | 'covered' | 'failed' | 'refused' | 'uncovered'>,
  { covered, failed, refused, uncovered, result }: TotalsDocument,
): EarlierPack {
  const amounts = result.map(({ quantityKind, lower, upper, value }) => [
    quantityKind,
    { lower, upper, value },
  ]);
  return {
    ...pack,
    covered,
    failed,
    refused,
    uncovered,
    amounts: Object.fromEntries(amounts) as EarlierPack['amounts'],
  };
}

/** Do the entries of each lie before those of the one that names it, and of the one before it in the list? */
export function areInOrder(earlier: readonly EarlierPack[], firstIndex: number): boolean {
  return earlier.every(({ firstIndex: first, lastIndex, checkpointSize }, i) => {
    const next = i === 0 ? firstIndex : earlier[i - 1]!.firstIndex;
    return first <= lastIndex && lastIndex < next && lastIndex < checkpointSize;
  });
}
