import Type from 'typebox';
import { OUTCOMES, USAGE_SOURCES } from '#shared/kernel/inference.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { FAILURE_STAGES } from '#shared/methodology/measurement.ts';
import {
  classes,
  contexts,
  decimal,
  digest,
  iri,
  named,
  node,
  oneClass,
  oneOf,
  own,
  salt,
  text,
  time,
  when,
  wholeNumber,
} from './fields.ts';
import {
  dataQuality,
  InclusionPromise,
  Input,
  INPUTS_MAX,
  Proof,
  receiptType,
  results,
  Revised,
} from './parts.ts';

/** The operations of its time. */
const ROUTES = ['chat.completions', 'completions', 'embeddings'] as const;

/**
 * The first form of the receipt, field by field: from this follow its type, its check, its part of the API's description,
 * its SHACL shapes and the tables in docs/receipts.md, and tests hold the JSON-LD context and the writer to it. Released:
 * what it says of a receipt that was issued never changes.
 *
 * Fields stand in the order of RFC 8785 (UTF-16 code units), and what builds a receipt keeps it.
 */

const Plan = node(
  {
    digest: digest('sec:digestMultibase', 'of that document'),
    id: iri(undefined, 'the address at which the methodology is published'),
    name: text('schema:name', 'the methodology, e.g. `docket-1`'),
    type: oneClass('Plan', 'prov:Plan'),
    version: text('schema:version', 'its version'),
  },
  { 'x-term': 'prov:hadPlan', 'x-shape': 'docket:PlanShape', description: 'the methodology' },
);

const Measurement = node(
  {
    dataQuality: dataQuality(),
    hadPlan: Plan,
    id: iri(undefined, '`<public address>/measurements/msr_…`'),
    result: results(),
    software: text('docket:software', 'name and version of what computed it'),
    type: classes(['Activity', 'Measurement'], {
      Activity: 'prov:Activity',
      Measurement: 'docket:Measurement',
    }),
    used: Type.Array(Input, {
      minItems: 1,
      maxItems: INPUTS_MAX,
      'x-term': 'prov:used',
      description: 'every input record, pinned by digest',
    }),
  },
  {
    'x-term': 'docket:measurement',
    'x-shape': 'docket:MeasurementShape',
    description: 'the estimate, a `prov:Activity`. Absence is explicit, never a zero',
  },
);

const Policy = node(
  {
    // Receipts issued before it was withheld have it, and stay good.
    rule: Type.Optional(
      text(
        'docket:rule',
        'the rule that blocked the request; absent since callers are no longer told it',
      ),
    ),
    version: text('schema:version', 'the version of the policy'),
  },
  {
    'x-term': 'docket:policy',
    description:
      'what blocked the request. Nothing ran, so there are no tokens, attempts, answer or measurement',
  },
);

const Inference = node(
  {
    attempts: when(
      'ran',
      wholeNumber('docket:attempts', 'calls made to upstreams, failed ones included'),
    ),
    cachedInputTokens: when(
      'ran',
      wholeNumber(
        'docket:cachedInputTokens',
        'the part of `inputTokens` that the upstream had cached',
      ),
    ),
    endedAt: when('issued', time('prov:endedAtTime', 'to the millisecond')),
    gridZone: Type.Optional(
      text('docket:gridZone', 'the electricity grid of the place where it ran'),
    ),
    id: iri(undefined, '`<public address>/requests/req_…`'),
    inputTokens: when('ran', wholeNumber('docket:inputTokens', 'tokens of the prompt')),
    measuredJoules: Type.Optional(
      decimal('docket:measuredJoules', 'energy of the GPUs as the upstream measured it'),
    ),
    model: text('docket:model', 'the model as the catalogue names it'),
    modelVersion: Type.Optional(text('docket:modelVersion', 'the model as its upstream names it')),
    organisation: iri(
      'prov:wasAssociatedWith',
      'the caller’s organisation under an opaque id: the receipt holds no names',
    ),
    outcome: when(
      'issued',
      named(
        'docket:outcome',
        own(OUTCOMES),
        '`complete`; `partial`, the client left; `truncated`, the upstream died; `refused`, screening blocked the request',
      ),
    ),
    outputTokens: when('ran', wholeNumber('docket:outputTokens', 'tokens of all choices')),
    policy: when('refused', Policy),
    region: text('docket:region', 'where it ran'),
    requestDigest: when(
      'issued',
      digest('docket:requestDigest', 'over the salt and the raw body of the request'),
    ),
    responseDigest: Type.Optional(
      digest(
        'docket:responseDigest',
        'over the salt and the answer without the receipt; for a stream the text of its `data:` payloads, joined, as they were before the receipt was added, without `[DONE]`',
      ),
    ),
    route: oneOf('docket:route', ROUTES, 'the operation'),
    salt: when('issued', salt('docket:salt', '16 random bytes')),
    startedAt: time('prov:startedAtTime', 'to the millisecond'),
    type: classes(['Activity', 'Inference'], {
      Activity: 'prov:Activity',
      Inference: 'docket:Inference',
    }),
    usageSource: when(
      'ran',
      named(
        'docket:usageSource',
        own(USAGE_SOURCES),
        '`upstream` when the upstream reported these counts, `counted` when the service counted',
      ),
    ),
  },
  {
    'x-term': 'cred:credentialSubject',
    'x-shape': 'docket:InferenceShape',
    description: 'the inference, a `prov:Activity`',
  },
);

const Degradation = node(
  {
    code: text('docket:code', 'what failed; stable, e.g. `model_size_unknown`'),
    requestedTier: when(
      'issued',
      oneOf(
        'docket:requestedTier',
        PLANS,
        'the tier that was asked for, which a recalculation delivers',
      ),
    ),
    stage: oneOf(
      'docket:stage',
      [...FAILURE_STAGES, 'issuance'],
      'where the estimate failed; `issuance` on what earlier releases sent, unsigned, while a receipt was late',
    ),
  },
  {
    'x-term': 'docket:degradation',
    'x-shape': 'docket:DegradationShape',
    description: 'why there is no estimate',
  },
);

export const FORMAT_1 = node(
  {
    '@context': contexts(
      'the base context of Verifiable Credentials, then ours under a URL that holds the SHA-256 of its content. A signature covers the URL and not what is found there; with the hash in the name, a signed receipt cannot be given another meaning',
    ),
    credentialSubject: Inference,
    degradation: when('degraded', Degradation),
    explanation: when(
      'degraded',
      text('docket:explanation', 'what failed and what happens next, in one sentence'),
    ),
    id: iri(
      undefined,
      '`<public address>/receipts/rcpt_…`. A request’s receipt has the request’s ULID, so it is known before the first byte of the answer',
    ),
    inclusionPromise: Type.Optional(InclusionPromise),
    issuer: iri('cred:issuer', 'the service as `did:web:…`'),
    measurement: when('estimated', Measurement),
    proof: Type.Optional(Proof),
    revisionNumber: when(
      'revision',
      wholeNumber('docket:revisionNumber', '1 for the first revision of a receipt', 1),
    ),
    revisionReason: when('revision', text('docket:revisionReason', 'why, in one sentence')),
    tier: oneOf(
      'docket:tier',
      [...PLANS, 'degraded'],
      'the tier delivered, or `degraded` when the methodology failed',
    ),
    type: receiptType(),
    validFrom: time('cred:validFrom', 'the time of signing, to the millisecond'),
    validUntil: Type.Optional(
      time('cred:validUntil', 'until when it holds; receipts are issued without'),
    ),
    wasRevisionOf: when('revision', Revised),
  },
  {
    title: 'Receipt',
    'x-shape': 'docket:ReceiptShape',
    description:
      'A W3C Verifiable Credential in JSON-LD. The receipt in an answer, the leaf of the ledger and the line in an evidence pack are the same bytes.',
  },
);
