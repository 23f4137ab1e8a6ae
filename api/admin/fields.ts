import type { FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import { lineOfText } from '#api/routes/fields.ts';
import { STAFF_ROLES } from '#shared/persons/roles.ts';
import { type Actor, REASON_LENGTH_MAX, TICKET_LENGTH_MAX } from '#shared/accounts/audit/entry.ts';

/** What a program says of an act: each is written down with it. */
export const WORDS = {
  reason: Type.Optional(lineOfText(REASON_LENGTH_MAX, 'Why, for the audit log')),
  ticket: Type.Optional(lineOfText(TICKET_LENGTH_MAX, 'The request to support that it answers')),
};
/** The same, where an act is not done without a word. */
export const REASONED = {
  ...WORDS,
  reason: Type.String({ ...lineOfText(REASON_LENGTH_MAX, 'Why, for the audit log'), minLength: 1 }),
};

/** What may stand in the body of an act. */
export type Acted = Partial<Static<typeof WordsBody>>;
export const WordsBody = Type.Object(WORDS, { additionalProperties: false });
export const ReasonBody = Type.Object(REASONED, { additionalProperties: false });

export const ORG_ID = 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF';
/** The organisation in a path. */
export const OrgParam = Type.String({
  maxLength: 64,
  description: 'Id of the organisation',
  examples: [ORG_ID],
});
export const OfOrganisation = Type.Object({ org_id: OrgParam });

/** Of every route that a key of an operator opens. */
export const OPERATOR = { scope: 'operator' } as const;
/** Of reviews, which all read who work for the service. */
export const STAFF = { scope: 'operator', staff: STAFF_ROLES } as const;
/** Of acts that reviewers do. */
export const REVIEWER = { scope: 'operator', staff: ['reviewer'] } as const;

/** In whose name a program acts. */
export function operatorOf({ operator }: FastifyRequest): Actor {
  if (operator === null) throw new Error('a route without an operator was reached');
  return operator;
}
