import Type from 'typebox';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import type { InputDocument } from './document.ts';

/**
 * What a derivation record lists: machine, model, grid, site (up to three), and how the model is served. What it carries of
 * them is the operator's word, in these forms and no others: a member that one reader passes over could be a figure to
 * another.
 */
const LISTED = /^HardwareRecord ModelRecord GridFactor (?:SiteFactor ){1,3}HardwareRecord$/;
/** Of how the model is served; the machine is of the factor set. */
const REPLICA = 'replica';

const CLOSED = { additionalProperties: false };
const text = Type.String({ minLength: 1 });
/** In its one spelling, and of any length: a catalogue may state what is very small. */
const decimal = Type.String({ pattern: '^(?:0|[1-9][0-9]*)(?:\\.[0-9]*[1-9])?$' });
const byCatalogue = Type.Literal('catalogue');

const replica = shapeOf(
  Type.Object(
    {
      batch: decimal,
      batch_basis: Type.Enum(['catalogue', 'assumed']),
      gpus: Type.Integer({ minimum: 1 }),
      gpus_basis: Type.Enum(['catalogue', 'computed']),
      precision: text,
      precision_basis: Type.Enum(['catalogue', 'model_record', 'assumed']),
    },
    CLOSED,
  ),
);
const model = shapeOf(
  Type.Object(
    {
      active_b: Type.Optional(decimal),
      declared_by: byCatalogue,
      id: text,
      total_b: Type.Optional(decimal),
    },
    CLOSED,
  ),
);
const site = shapeOf(
  Type.Object(
    {
      declared_by: byCatalogue,
      operator: text,
      pue: Type.Optional(decimal),
      wue_l_per_kwh: Type.Optional(decimal),
    },
    CLOSED,
  ),
);

/** @throws MalformedData unless these are the inputs of a deployment, with what is carried of them in its form */
export function checkDeployment(inputs: readonly InputDocument[]): void {
  if (!LISTED.test(inputs.map(({ type }) => type).join(' ')))
    throw new MalformedData('contradiction', 'derivation.inputs', 'stand in their order');
  const firstSite = inputs.findIndex(({ type }) => type === 'SiteFactor');
  for (const [i, { name, type, record }] of inputs.entries()) {
    const isReplica = i === inputs.length - 1;
    if (isReplica !== (name === REPLICA)) throw odd(name, 'is named as what it is');
    if (record === undefined) {
      if (isReplica) throw odd(name, 'is carried');
    } else if (isReplica) replica(record);
    else if (type === 'ModelRecord') named(name, model(record).id);
    else if (i === firstSite) named(name, operatorOf(record));
    else throw odd(name, 'is of a factor set');
  }
}

function operatorOf(record: unknown): string {
  const { operator, pue, wue_l_per_kwh: wue } = site(record);
  if ((pue ?? wue) === undefined || Number(pue ?? 1) < 1) throw odd(operator, 'states a figure');
  return operator;
}

function named(name: string, stated: string): void {
  if (name !== stated) throw odd(name, 'is named as what it is');
}

function odd(name: string, rule: string): MalformedData {
  return new MalformedData('contradiction', `derivation.inputs.${name}`, rule);
}
