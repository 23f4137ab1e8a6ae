import Type, { type Static } from 'typebox';
import {
  classes,
  contexts,
  decimal,
  digest,
  iri,
  node,
  oneClass,
  quantityKind,
  text,
  time,
  unit,
  wholeNumber,
} from '#shared/receipts/fields.ts';
import { PACK_FORMATS, TAG_FILES } from './layout.ts';
import { QUANTITIES } from './totals.ts';

/**
 * The seal of an evidence pack, field by field, in the order of RFC 8785: its type, its check, and what it means as
 * linked data. docs/compatibility.md says from when on a change of it is another format of packs.
 */

/** Names of witnesses are addresses without a scheme: what is repeated of them can pose as nothing else. */
const LACKS_PATTERN = '^a (?:timestamp|cosignature of [!-*,-~]{1,255})$';

/** Where anything is anchored: what of the anchor must be in the pack. */
const Anchor = node(
  {
    headSize: wholeNumber(
      'docket:headSize',
      'entries of the ledger under its newest anchored head; 0 where none is anchored',
    ),
    keyEvents: wholeNumber('docket:keyEvents', 'what happened to keys', 1),
    keyHeads: wholeNumber('docket:keyHeads', 'heads that say how far keys of the past count'),
    lacks: Type.Optional(
      Type.Array(
        text('docket:lacks', '', {
          pattern: LACKS_PATTERN,
          'x-expected': '`a timestamp` or `a cosignature of <name of a witness>`',
        }),
        {
          minItems: 1,
          maxItems: 17,
          'x-term': 'docket:lacks',
          description: 'what the service asks others to attest of its anchor, and they had not',
        },
      ),
    ),
    log: text('docket:log', 'origin of the anchor log'),
    root: digest('docket:root', 'root of the anchor log'),
    size: wholeNumber('docket:size', 'entries in it'),
    timestamps: wholeNumber('docket:timestamps', 'timestamps of that head of the anchor log'),
    type: oneClass('PackAnchor', 'docket:PackAnchor'),
  },
  { 'x-term': 'docket:anchor', description: 'the head of the anchor log that the pack leads to' },
);

const Checkpoint = node(
  {
    log: text('docket:log', 'origin of the organisation’s ledger'),
    root: digest('docket:root', 'root of the tree'),
    size: wholeNumber('docket:size', 'entries in it'),
    type: oneClass('Checkpoint', 'docket:Checkpoint'),
  },
  {
    'x-term': 'docket:checkpoint',
    description: 'the signed tree head that everything in the pack leads to',
  },
);

const File = node({
  digest: digest('sec:digestMultibase', 'of its bytes'),
  name: Type.Enum([...TAG_FILES], {
    'x-term': 'schema:name',
    'x-type': 'xsd:string',
    description: 'its path in the bag',
  }),
  type: oneClass('PackFile', 'docket:PackFile'),
});

const Lineage = node(
  {
    described: wholeNumber('docket:described', 'receipts whose derivation has a document'),
    documents: wholeNumber('docket:documents', 'lineage documents in the pack'),
    type: oneClass('PackLineage', 'docket:PackLineage'),
    undescribed: wholeNumber(
      'docket:undescribed',
      'receipts of derivations that came after the last document that a pack may have',
    ),
  },
  {
    'x-term': 'docket:lineage',
    description: 'receipts that state no measurement are in neither count',
  },
);

const Range = node(
  {
    firstIndex: wholeNumber('docket:firstIndex', 'in the organisation’s ledger'),
    lastIndex: wholeNumber('docket:lastIndex', 'included'),
    receipts: wholeNumber('docket:receipts', 'all of them'),
    revisions: wholeNumber('docket:revisions', 'revisions of these that came after the range'),
    signedHeads: wholeNumber('docket:signedHeads', 'signed heads within the range'),
    superseded: wholeNumber('docket:superseded', 'entries that were revised'),
    type: oneClass('LedgerRange', 'docket:LedgerRange'),
  },
  { 'x-term': 'docket:range' },
);

/** Where a period was asked for. */
const Requested = node(
  {
    after: Type.Optional(
      time(
        'docket:after',
        'when the entry after the range was integrated, if the checkpoint has one',
      ),
    ),
    before: Type.Optional(
      time('docket:before', 'when the entry before the range was integrated, if there is one'),
    ),
    from: Type.Optional(time('docket:from', 'start of the period, included')),
    pending: Type.Optional(
      wholeNumber(
        'docket:pending',
        'where the period has an end: requests from before it that were integrated after it, up to the checkpoint',
      ),
    ),
    to: Type.Optional(time('docket:to', 'end of the period, excluded')),
    type: oneClass('RequestedPeriod', 'docket:RequestedPeriod'),
  },
  {
    'x-term': 'docket:requested',
    description: 'the time of integration that was asked for',
  },
);

const Total = node({
  lower: decimal('qudt:lowerBound', 'the sum of the lower bounds'),
  quantityKind: quantityKind(),
  type: oneClass('QuantityValue', 'qudt:QuantityValue'),
  unit: unit(),
  upper: decimal('qudt:upperBound', 'the sum of the upper bounds'),
  value: decimal('qudt:numericValue', 'the sum of the medians'),
});

const Totals = node(
  {
    covered: wholeNumber('docket:covered', 'requests whose current receipt states a measurement'),
    coveredCachedInputTokens: wholeNumber('docket:coveredCachedInputTokens', 'of these'),
    coveredInputTokens: wholeNumber('docket:coveredInputTokens', 'of these'),
    coveredOutputTokens: wholeNumber('docket:coveredOutputTokens', 'of these'),
    failed: wholeNumber(
      'docket:failed',
      'requests of which an upstream was called and nothing came: what they used is not known',
    ),
    refused: wholeNumber('docket:refused', 'requests that screening blocked: nothing ran'),
    result: Type.Array(Total, {
      minItems: QUANTITIES.length,
      maxItems: QUANTITIES.length,
      'x-term': 'prov:generated',
      description: 'one of each kind',
    }),
    type: oneClass('PackTotals', 'docket:PackTotals'),
    uncovered: wholeNumber('docket:uncovered', 'requests whose current receipt is degraded'),
    uncoveredCachedInputTokens: wholeNumber('docket:uncoveredCachedInputTokens', 'of these'),
    uncoveredInputTokens: wholeNumber('docket:uncoveredInputTokens', 'of these'),
    uncoveredOutputTokens: wholeNumber('docket:uncoveredOutputTokens', 'of these'),
  },
  { 'x-term': 'docket:totals', description: 'over current receipts, each inference once' },
);

/** More than every methodology and context that there ever was. */
const RESOURCES_MAX = 256;

export const SEAL_FORMAT = node({
  '@context': contexts('the base context of Verifiable Credentials, then that of packs'),
  credentialSubject: node(
    {
      anchor: Type.Optional(Anchor),
      checkpoint: Checkpoint,
      file: Type.Array(File, {
        minItems: TAG_FILES.length,
        maxItems: TAG_FILES.length,
        'x-term': 'dcterms:hasPart',
        description: 'the bag’s own files',
      }),
      format: Type.Enum([...PACK_FORMATS], {
        'x-term': 'dcterms:conformsTo',
        'x-type': 'xsd:string',
        description: 'of the pack',
      }),
      id: iri(undefined, 'the pack'),
      lineage: Lineage,
      organisation: iri('prov:wasAttributedTo', 'as on its receipts'),
      pageVersion: wholeNumber(
        'docket:pageVersion',
        'of the page for people; one that a reader does not know is not checked',
        1,
      ),
      range: Range,
      requested: Type.Optional(Requested),
      totals: Totals,
      type: oneClass('EvidencePack', 'docket:EvidencePack'),
    },
    { 'x-term': 'cred:credentialSubject' },
  ),
  id: iri(undefined, 'the seal'),
  issuer: iri('cred:issuer', 'the service as `did:web:…`'),
  proof: node({
    '@context': contexts('the same as the seal’s'),
    created: time(undefined, 'the time of the checkpoint: equal packs are sealed at equal times'),
    cryptosuite: Type.Literal('eddsa-jcs-2022'),
    proofPurpose: Type.Literal('assertionMethod'),
    proofValue: text(undefined, 'the signature', {
      pattern: '^z[1-9A-HJ-NP-Za-km-z]{60,88}$',
      'x-expected': 'a base58btc Ed25519 signature',
    }),
    type: Type.Literal('DataIntegrityProof'),
    verificationMethod: iri(undefined, 'the key'),
  }),
  relatedResource: Type.Array(
    node({
      digestMultibase: digest('sec:digestMultibase', 'of its bytes'),
      id: iri(undefined, 'its address'),
    }),
    {
      minItems: 1,
      maxItems: RESOURCES_MAX,
      'x-term': 'cred:relatedResource',
      description: 'contexts and methodologies, on which the meaning of the pack rests',
    },
  ),
  type: classes(['VerifiableCredential', 'EvidencePackCredential'], {
    VerifiableCredential: 'cred:VerifiableCredential',
    EvidencePackCredential: 'docket:EvidencePackCredential',
  }),
  validFrom: time('cred:validFrom', 'the time of the checkpoint'),
});

export type SignedSeal = Static<typeof SEAL_FORMAT>;

/** What a seal says, before it is signed. */
export type SealDocument = Omit<SignedSeal, 'proof'>;

type Subject = SealDocument['credentialSubject'];
export type SealedFile = Subject['file'][number]['name'];
/** Tokens and quantities are those of the covered receipts. */
export type TotalsDocument = Subject['totals'];
export type RequestedDocument = NonNullable<Subject['requested']>;
export type AnchorDocument = NonNullable<Subject['anchor']>;
export type LineageCounts = Subject['lineage'];
