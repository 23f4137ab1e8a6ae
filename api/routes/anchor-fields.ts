import { type Static, Type } from 'typebox';
import example from '#api/docs/examples/anchor.json' with { type: 'json' };
import type { AnchorChoice } from '#shared/ledger/postgres/anchor-reader.ts';
import { LogIndex } from './fields.ts';

export const AnchorQuery = Type.Object({
  head_size_max: Type.Optional(LogIndex),
  before: Type.Optional(LogIndex),
  anchor_size: Type.Optional(LogIndex),
  attested: Type.Boolean({ default: false }),
});

const Base64 = Type.String({ contentEncoding: 'base64' });

export const AnchorProof = Type.Object(
  {
    object: Type.Literal('anchor_proof'),
    checkpoint: Type.String({ description: 'The signed checkpoint of your log' }),
    slot: Type.Integer({ minimum: 0, maximum: 1_048_575, description: 'Yours for ever' }),
    salt: Base64,
    path: Type.Array(Base64, {
      minItems: 20,
      maxItems: 20,
      description: 'From leaf to heads root',
    }),
    entry: Type.String({ description: 'The exact text of the entry in the anchor log' }),
    proof: Type.String({ description: 'C2SP tlog-proof of that entry' }),
    timestamps: Type.Array(
      Type.Object({
        authority: Type.String(),
        time: Type.String({ format: 'date-time' }),
        response: Base64,
      }),
      { description: 'RFC 3161, over the text of the anchor checkpoint in `proof`' },
    ),
  },
  { title: 'AnchorProof' },
);

/** One that is real. To the compiler a literal in a JSON file is any text. */
export const PROOF: Static<typeof AnchorProof> = { ...example.proof, object: 'anchor_proof' };

/** Which proof a caller has asked for. */
export function anchorChoice(query: Static<typeof AnchorQuery>): AnchorChoice {
  const { head_size_max: headSizeMax, before, anchor_size: anchorSize, attested } = query;
  return {
    attested,
    ...(headSizeMax === undefined ? {} : { headSizeMax }),
    ...(before === undefined ? {} : { before }),
    ...(anchorSize === undefined ? {} : { anchorSize }),
  };
}
