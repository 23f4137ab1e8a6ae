import Type from 'typebox';
import { INPUT_TYPES, QUANTITY_UNITS } from '#shared/receipts/document.ts';
import { PLANS } from '#shared/kernel/plan.ts';

const Iri = Type.String({ description: 'An absolute IRI' });
const Time = Type.String({ format: 'date-time', description: 'RFC 3339, UTC' });
const Decimal = Type.String({
  pattern: '^(0|[1-9][0-9]*)(\\.[0-9]+)?$',
  description: 'A plain decimal as text, so that no reader rounds it',
});
const Digest = Type.String({
  pattern: '^uEi[A-D][A-Za-z0-9_-]{43}$',
  description: 'SHA-256 multihash in base64url multibase',
});
const Whole = Type.Integer({ minimum: 0 });

const Inference = Type.Object(
  {
    id: Iri,
    type: Type.Array(Type.String()),
    organisation: Type.String({ description: 'A pseudonymous IRI' }),
    model: Type.String(),
    modelVersion: Type.Optional(Type.String({ description: 'The model as its upstream names it' })),
    route: Type.Enum(['chat.completions', 'completions', 'embeddings']),
    region: Type.String(),
    gridZone: Type.Optional(Type.String()),
    startedAt: Time,
    endedAt: Type.Optional(Time),
    outcome: Type.Optional(
      Type.Enum(['complete', 'partial', 'truncated', 'refused'], {
        description:
          '`partial`: the client left. `truncated`: the upstream died. `refused`: blocked by screening.',
      }),
    ),
    inputTokens: Type.Optional(Whole),
    cachedInputTokens: Type.Optional(Whole),
    outputTokens: Type.Optional(Whole),
    usageSource: Type.Optional(
      Type.Enum(['upstream', 'counted'], { description: 'Who counted the tokens' }),
    ),
    measuredJoules: Type.Optional(
      Type.String({ description: 'GPU energy as the upstream measured it, a decimal' }),
    ),
    attempts: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Calls made to upstreams, failed ones included' }),
    ),
    requestDigest: Type.Optional(Digest),
    responseDigest: Type.Optional(Digest),
    salt: Type.Optional(Type.String({ description: '16 random bytes in base64url multibase' })),
    policy: Type.Optional(Type.Object({ version: Type.String(), rule: Type.String() })),
  },
  { description: 'What happened: a `prov:Activity`' },
);

const Quantity = Type.Object({
  type: Type.Literal('QuantityValue'),
  quantityKind: Type.Enum(Object.keys(QUANTITY_UNITS), {
    description:
      'energy; gwp (greenhouse gas); water; adpe (metals and minerals); adpf (fossil resources)',
  }),
  unit: Type.Enum(Object.values(QUANTITY_UNITS)),
  value: Decimal,
  lower: Decimal,
  upper: Decimal,
});

const Measurement = Type.Object(
  {
    id: Iri,
    type: Type.Array(Type.String()),
    hadPlan: Type.Object(
      {
        type: Type.Literal('Plan'),
        id: Iri,
        name: Type.String(),
        version: Type.String(),
        digest: Digest,
      },
      { description: 'The methodology, pinned by digest' },
    ),
    used: Type.Array(
      Type.Object({
        type: Type.Enum(Object.values(INPUT_TYPES)),
        name: Type.String(),
        digest: Digest,
        record: Type.Optional(
          Type.Record(Type.String(), Type.Union([Type.String(), Type.Integer()]), {
            description: 'The record itself, where no published factor set has it',
          }),
        ),
      }),
      { description: 'Every input record, pinned by digest' },
    ),
    result: Type.Array(Quantity, {
      minItems: 1,
      maxItems: 5,
      description: 'Medians with their 5-95 % interval',
    }),
    software: Type.Optional(Type.String({ description: 'What computed it, with its version' })),
    dataQuality: Type.Enum(['T1', 'T2', 'T3', 'T4', 'T5'], {
      description:
        'T1 measured by the upstream, T2 open weights and known hardware, T3 open weights, T4 guessed architecture, T5 class default',
    }),
  },
  { description: 'The estimate. Absent, never zero, on a degraded receipt' },
);

const Proof = Type.Object(
  {
    '@context': Type.Array(Type.String()),
    type: Type.Literal('DataIntegrityProof'),
    cryptosuite: Type.Literal('eddsa-jcs-2022'),
    created: Time,
    proofPurpose: Type.Literal('assertionMethod'),
    verificationMethod: Iri,
    proofValue: Type.String(),
  },
  {
    description:
      'Ed25519 over the canonical JSON. Absent only on a receipt that was late: the signed one appears under the same id',
  },
);

/** A receipt for readers. What may stand in one, and what its fields say of each other, is decided by `parseReceipt`. */
export const Receipt = Type.Object(
  {
    '@context': Type.Array(Type.String()),
    id: Iri,
    type: Type.Array(Type.String()),
    issuer: Type.String({ description: 'did:web' }),
    validFrom: Time,
    validUntil: Type.Optional(Time),
    tier: Type.Enum([...PLANS, 'degraded'], {
      description: 'The tier delivered; `degraded` when the methodology failed',
    }),
    explanation: Type.Optional(
      Type.String({ description: 'On a degraded receipt: what failed, and what happens next' }),
    ),
    degradation: Type.Optional(
      Type.Object({
        stage: Type.Enum(['model', 'factors', 'computation', 'input', 'timeout', 'issuance']),
        code: Type.String(),
        requestedTier: Type.Optional(
          Type.Enum(PLANS, { description: 'The tier that the estimate would have been for' }),
        ),
      }),
    ),
    credentialSubject: Inference,
    measurement: Type.Optional(Measurement),
    inclusionPromise: Type.Optional(
      Type.Object(
        {
          log: Type.String(),
          maximumMergeDelay: Type.String({ description: 'ISO 8601 duration' }),
        },
        { description: 'From the tier `audit_plus`: when the ledger will include it' },
      ),
    ),
    wasRevisionOf: Type.Optional(
      Type.Object(
        { id: Iri, digest: Digest, leafIndex: Whole },
        {
          description: 'On a recalculated receipt: the exact bytes that it revises',
        },
      ),
    ),
    revisionNumber: Type.Optional(Whole),
    revisionReason: Type.Optional(Type.String()),
    proof: Type.Optional(Proof),
  },
  {
    title: 'Receipt',
    description:
      'A W3C Verifiable Credential in JSON-LD. The receipt in an answer, the leaf of the ledger and the line in an evidence pack are the same bytes.',
  },
);
