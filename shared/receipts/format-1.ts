import Type from 'typebox';
import {
  FAILURES,
  OUTCOMES,
  ROUTES,
  USAGE_REASONS,
  USAGE_SOURCES,
} from '#shared/kernel/inference.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { FAILURE_STAGES } from '#shared/methodology/measurement.ts';
import {
  CODE,
  carriedRecord,
  classes,
  contexts,
  decimal,
  digest,
  flag,
  FOREIGN_ID,
  iri,
  NAME,
  named,
  node,
  oneClass,
  oneOf,
  own,
  REGION,
  salt,
  text,
  time,
  when,
  wholeNumber,
} from './fields.ts';
import { dataQuality, InclusionPromise, Proof, receiptType, results, Revised } from './parts.ts';

/**
 * The first form of the receipt, field by field: from this follow its type, its check, its JSON-LD context, its SHACL
 * shapes, its part of the API's description and the tables in docs/receipts.md. docs/compatibility.md says from when on it
 * is frozen.
 *
 * Fields stand in the order of RFC 8785 (UTF-16 code units), and what builds a receipt keeps it.
 */

/** The request's own inputs: its usage record, and the factor of its hour. */
const OWN_INPUTS_MAX = 2;
/** Words of the one who asked for a revision. */
export const NOTE_MAX = 500;
/** Why a receipt revises another. */
export const REVISION_REASONS = [
  'methodology_failed',
  'new_methodology',
  'hourly_factor',
  'hours_incomplete',
  'measured',
] as const;
export type RevisionReason = (typeof REVISION_REASONS)[number];

const OwnInput = node(
  {
    name: text('schema:name', 'the record’s id'),
    record: carriedRecord('docket:record', 'the record: flat, text and whole numbers only'),
    type: named(undefined, own(['UsageRecord', 'GridFactor']), 'what kind of record it is'),
  },
  { 'x-shape': 'docket:InputShape' },
);

const Measurement = node(
  {
    dataQuality: dataQuality(),
    derivation: iri(
      'docket:derivation',
      '`<public address>/derivations/uEi…`: the published record of what is the same for every request of a deployment, the methodology and every input record that is not the request’s own. Its name is the multihash of its bytes',
    ),
    id: iri(undefined, '`<public address>/measurements/msr_…`'),
    metered: Type.Optional(
      node(
        {
          digest: digest('sec:digestMultibase', 'of the interval as the meter gave it'),
          from: time('docket:meteredFrom', 'its start'),
          to: time('docket:meteredTo', 'its end'),
        },
        {
          'x-term': 'docket:metered',
          description:
            'on a revision by a meter: the interval over which energy was metered. Its content is for the operator and their auditor, since it covers requests of others',
        },
      ),
    ),
    qualifiedAssociation: node(
      {
        agent: iri('prov:agent', 'the issuer'),
        hadPlan: iri('prov:hadPlan', 'the address at which the methodology is published'),
        type: oneClass('Association', 'prov:Association'),
      },
      {
        'x-term': 'prov:qualifiedAssociation',
        'x-shape': 'docket:AssociationShape',
        description: 'who computed it, by which methodology',
      },
    ),
    result: results(),
    software: text('docket:software', 'name and version of what computed it', NAME),
    type: classes(['Activity', 'Measurement'], {
      Activity: 'prov:Activity',
      Measurement: 'docket:Measurement',
    }),
    used: Type.Array(OwnInput, {
      minItems: 1,
      maxItems: OWN_INPUTS_MAX,
      'x-term': 'prov:used',
      description:
        'the request’s own inputs: its usage, and the factor of its hour where one was used. All others stand in the derivation record',
    }),
    wasInformedBy: iri('prov:wasInformedBy', 'the inference: which activity was measured'),
  },
  {
    'x-term': 'docket:measurement',
    'x-shape': 'docket:MeasurementShape',
    description: 'the estimate, a `prov:Activity`. Absence is explicit, never a zero',
  },
);

const Policy = node(
  {
    rule: Type.Optional(
      text('docket:rule', 'the rule that blocked the request, where the caller may know it', NAME),
    ),
    version: text('schema:version', 'the version of the policy', NAME),
  },
  {
    'x-term': 'docket:policy',
    description:
      'what blocked the request. Nothing ran, so there are no tokens, attempts, answer or measurement',
  },
);

const TokenInterval = node(
  {
    inputLower: wholeNumber('docket:inputLower', 'least tokens of the prompt'),
    inputUpper: wholeNumber('docket:inputUpper', 'most tokens of the prompt'),
    outputLower: wholeNumber('docket:outputLower', 'least tokens of all choices'),
    outputUpper: wholeNumber('docket:outputUpper', 'most tokens of all choices'),
  },
  {
    'x-term': 'docket:tokenInterval',
    'x-shape': 'docket:TokenIntervalShape',
    description: 'where the true counts lie, when `tokenizer` is not known to be the model’s own',
  },
);

const Inference = node(
  {
    answerId: Type.Optional(
      text(
        'docket:answerId',
        'the `id` in the answer, with the ULID of the request, by which the receipt can be fetched; embeddings have none, and what failed or was refused',
      ),
    ),
    attempts: when(
      'called',
      wholeNumber('docket:attempts', 'calls made to upstreams, failed ones included', 1),
    ),
    cachedInputTokens: Type.Optional(
      wholeNumber(
        'docket:cachedInputTokens',
        'the part of `inputTokens` that the upstream had cached; absent where not known',
      ),
    ),
    endedAt: time('prov:endedAtTime', 'to the millisecond'),
    extrapolated: Type.Optional(
      flag(
        'docket:extrapolated',
        'true where the service counted a part of a very long text and estimated the rest: `tokenInterval` says between what',
      ),
    ),
    failure: when(
      'failed',
      named(
        'docket:failure',
        own(FAILURES),
        'why nothing came of the calls: `upstream_error`, the upstream failed or broke off; `upstream_timeout`; `worker_lost`, the process died that called it; `internal_error`, a fault of the service. There is no answer, and all that the calls used is not known: there is no measurement. What is known of them may stand: the tokens of the prompt, times, and what the upstream states of its energy',
      ),
    ),
    gridZone: Type.Optional(
      text('docket:gridZone', 'the electricity grid of the place where it ran', NAME),
    ),
    id: iri(undefined, '`<public address>/requests/req_…`'),
    inputTokens: Type.Optional(
      wholeNumber('docket:inputTokens', 'tokens of the prompt; absent where not known'),
    ),
    model: text(
      'docket:model',
      'the model as the catalogue, the answer and `/v1/models` name it',
      NAME,
    ),
    modelVersion: Type.Optional(
      text('docket:modelVersion', 'the model as its upstream named it in the answer'),
    ),
    organisation: iri(
      'prov:wasAssociatedWith',
      'the caller’s organisation under an opaque id: the receipt holds no names',
    ),
    outcome: named(
      'docket:outcome',
      own(OUTCOMES),
      '`complete`; `partial`, the client left; `truncated`, the upstream died in its answer; `failed`, an upstream was called and nothing came of it; `refused`, screening blocked the request',
    ),
    outputTokens: Type.Optional(
      wholeNumber('docket:outputTokens', 'tokens of all choices; absent where not known'),
    ),
    policy: when('refused', Policy),
    previous: Type.Optional(
      iri(
        'docket:previous',
        'the receipt of the response that the request goes on from, by `previous_response_id`',
      ),
    ),
    queuedMs: Type.Optional(
      wholeNumber(
        'docket:queuedMs',
        'milliseconds from the request’s arrival to the upstream call that was answered, earlier calls and their waits included',
      ),
    ),
    region: text('docket:region', 'where it ran', REGION),
    relayedPayloads: Type.Optional(
      wholeNumber(
        'docket:relayedPayloads',
        'of a stream that did not come to its end: the `data:` payloads that were handed on. `responseDigest` is over exactly these',
      ),
    ),
    relayedTokens: Type.Optional(wholeNumber('docket:relayedTokens', 'tokens in those payloads')),
    requestDigest: digest('docket:requestDigest', 'over the salt and the raw body of the request'),
    requestedModel: Type.Optional(
      text(
        'docket:requestedModel',
        'the name by which the request asked for the model, where that is an alias of the catalogue',
        NAME,
      ),
    ),
    responseDigest: Type.Optional(
      digest(
        'docket:responseDigest',
        'over the salt and the answer without the receipt; for a stream the text of its `data:` payloads, joined, as they were before the receipt was added, without `[DONE]`; of a response without the events that announce it and without numbers',
      ),
    ),
    route: oneOf('docket:route', ROUTES, 'the operation'),
    salt: salt('docket:salt', '16 random bytes'),
    startedAt: time('prov:startedAtTime', 'to the millisecond'),
    statedJoules: Type.Optional(
      decimal('docket:statedJoules', 'energy of the GPUs as the upstream states it of itself'),
    ),
    tokenInterval: Type.Optional(TokenInterval),
    tokenizer: Type.Optional(
      text('docket:tokenizer', 'the vocabulary with which the service counted tokens', NAME),
    ),
    type: classes(['Activity', 'Inference'], {
      Activity: 'prov:Activity',
      Inference: 'docket:Inference',
    }),
    upstreamAnswerId: Type.Optional(
      text('docket:upstreamAnswerId', 'the `id` that the upstream gave its answer', FOREIGN_ID),
    ),
    upstreamMs: Type.Optional(
      wholeNumber(
        'docket:upstreamMs',
        'milliseconds from that call to the last byte of its answer, waits for a client that reads slowly included: the longest that the hardware worked on it',
      ),
    ),
    usageReason: Type.Optional(
      named(
        'docket:usageReason',
        own([...USAGE_REASONS, 'overruled']),
        'why the tokens are not known: the caller left before an answer, the upstream broke off, the worker died, nobody can count them; with `counted`, `overruled`: the upstream stated counts that cannot be',
      ),
    ),
    usageSource: when(
      'ran',
      named(
        'docket:usageSource',
        own([...USAGE_SOURCES, 'unknown']),
        '`upstream` when the upstream reported these counts, `counted` when the service counted, `unknown` when nobody knows: then there is no estimate',
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
    code: text(
      'docket:code',
      'what failed; stable, e.g. `model_size_unknown`, `usage_unknown`',
      CODE,
    ),
    requestedTier: oneOf(
      'docket:requestedTier',
      PLANS,
      'the tier that was asked for, which a recalculation delivers',
    ),
    stage: oneOf('docket:stage', FAILURE_STAGES, 'where the estimate failed'),
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
      '`<public address>/receipts/rcpt_…`, where it can be fetched. A request’s receipt has the request’s ULID, so it is known before the first byte of the answer',
    ),
    inclusionPromise: Type.Optional(InclusionPromise),
    issuer: iri('cred:issuer', 'the service as `did:web:…`'),
    measurement: when('estimated', Measurement),
    proof: Type.Optional(Proof),
    revisionNote: Type.Optional(
      text('docket:revisionNote', 'why someone asked for the revision, in their own words'),
    ),
    revisionNumber: when(
      'revision',
      wholeNumber('docket:revisionNumber', '1 for the first revision of a receipt', 1),
    ),
    revisionReason: when(
      'revision',
      named(
        'docket:revisionReason',
        own(REVISION_REASONS),
        '`methodology_failed`, the estimate failed when the receipt was issued; `new_methodology`; `hourly_factor`, the grid’s signal of the hour came; `hours_incomplete`, two days after the end of the day hours of it were still missing, and the annual factor stands; `measured`, energy was metered',
      ),
    ),
    tier: oneOf(
      'docket:tier',
      [...PLANS, 'degraded'],
      'the tier delivered, or `degraded` when there is no estimate',
    ),
    type: receiptType(),
    validFrom: time('cred:validFrom', 'the time of signing, to the millisecond'),
    wasRevisionOf: when('revision', Revised),
  },
  {
    title: 'Receipt',
    'x-shape': 'docket:ReceiptShape',
    description:
      'A W3C Verifiable Credential in JSON-LD. The receipt in an answer, the leaf of the ledger and the line in an evidence pack are the same bytes.',
  },
);
