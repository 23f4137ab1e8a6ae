import Type, { type Static } from 'typebox';
import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

/** What no receipt says and a report needs (`stated.json`): names, and contracts for electricity. */

const text = Type.String({ minLength: 1, maxLength: 1_024 });
const CLOSED = { additionalProperties: false };
const Party = Type.Object({ identifier: Type.Optional(text), name: Type.Optional(text) }, CLOSED);

const Statement = Type.Object(
  {
    contracts: Type.Array(
      Type.Object(
        {
          kgCo2ePerKwh: Type.String({ pattern: '^(?:0|[1-9][0-9]{0,2})(?:\\.[0-9]{1,9})?$' }),
          name: text,
          region: text,
        },
        CLOSED,
      ),
      { maxItems: 256 },
    ),
    operator: Party,
    organisation: Party,
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
  return statement;
}
