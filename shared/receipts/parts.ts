import Type from 'typebox';
import { DATA_QUALITIES, QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import { INPUT_TYPES } from './document.ts';
import {
  carriedRecord,
  contexts,
  decimal,
  digest,
  duration,
  iri,
  named,
  node,
  oneClass,
  own,
  quantityKind,
  text,
  unit,
  wholeNumber,
} from './fields.ts';

/** Parts of a receipt that do not hang on its form, some of which derivation records have too. */

const Quantity = node(
  {
    lower: decimal('qudt:lowerBound', 'lower end of the 5-95 % interval'),
    quantityKind: quantityKind(),
    type: oneClass('QuantityValue', 'qudt:QuantityValue'),
    unit: unit(),
    upper: decimal('qudt:upperBound', 'upper end of that interval'),
    value: decimal('qudt:numericValue', 'the median'),
  },
  { 'x-shape': 'docket:QuantityShape' },
);

/** Five kinds of input today; a computation over several sites or hours has several of one. */
export const INPUTS_MAX = 64;

export const Input = node(
  {
    digest: digest('sec:digestMultibase', 'of the record’s canonical JSON (RFC 8785)'),
    name: text('schema:name', 'the record’s id'),
    record: Type.Optional(
      carriedRecord(
        'docket:record',
        'the record itself, where no published factor set has it (usage, how the model is served, what the catalogue declares, hourly grid signals): flat, text and whole numbers only',
      ),
    ),
    type: named(undefined, own(Object.values(INPUT_TYPES)), 'what kind of record it is'),
  },
  { 'x-shape': 'docket:InputShape' },
);

/** The quantities of a measurement. */
export const results = () =>
  Type.Array(Quantity, {
    minItems: Object.keys(QUANTITY_UNITS).length,
    maxItems: Object.keys(QUANTITY_UNITS).length,
    'x-term': 'prov:generated',
    description: 'one `qudt:QuantityValue` of each kind, in this order',
  });

export const dataQuality = () =>
  named(
    'docket:dataQuality',
    own(DATA_QUALITIES),
    '`T1` metered, `TS` energy stated by the upstream of itself, `T2` open weights on known hardware, `T3` open weights, `T4` guessed architecture, `T5` class default',
  );

export const InclusionPromise = node(
  {
    log: text('docket:log', 'origin of the organisation’s ledger'),
    maximumMergeDelay: duration(
      'docket:maximumMergeDelay',
      'by when a signed checkpoint includes the receipt',
    ),
  },
  {
    'x-term': 'docket:inclusionPromise',
    'x-shape': 'docket:InclusionPromiseShape',
    description: 'above the tier `audit`: that the ledger will include it',
  },
);

export const Revised = node(
  {
    digest: digest('sec:digestMultibase', 'of its exact bytes'),
    id: iri(undefined, 'its address'),
    leafIndex: wholeNumber('docket:leafIndex', 'its index in the ledger'),
  },
  {
    'x-term': 'prov:wasRevisionOf',
    'x-shape': 'docket:RevisedReceiptShape',
    description: 'the receipt that this one revises, which itself never changes',
  },
);

/** A Data Integrity proof. `verifyReceipt` says which of its values is wrong, so any text may stand in them here. */
export const Proof = node(
  {
    '@context': contexts('the same as the receipt’s'),
    cryptosuite: text(undefined, '`eddsa-jcs-2022`: Ed25519 over canonical JSON (RFC 8785)'),
    proofPurpose: text(undefined, '`assertionMethod`'),
    proofValue: text(undefined, 'the signature in base58btc multibase'),
    type: text(undefined, '`DataIntegrityProof`'),
    verificationMethod: iri(undefined, 'the key, one of the issuer’s `did.json`'),
  },
  { description: 'on every receipt that was issued' },
);

/** The classes of a receipt. */
export const receiptType = () =>
  Type.Unsafe<
    | ['VerifiableCredential', 'InferenceReceipt']
    | ['VerifiableCredential', 'InferenceReceipt', 'RecalculatedReceipt']
  >({
    type: 'array',
    enum: [
      ['VerifiableCredential', 'InferenceReceipt'],
      ['VerifiableCredential', 'InferenceReceipt', 'RecalculatedReceipt'],
    ],
    'x-type': '@vocab',
    'x-values': {
      VerifiableCredential: 'cred:VerifiableCredential',
      InferenceReceipt: 'docket:InferenceReceipt',
      RecalculatedReceipt: 'docket:RecalculatedReceipt',
    },
    description: 'on a revision also `RecalculatedReceipt`',
  });
