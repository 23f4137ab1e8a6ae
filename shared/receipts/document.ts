import type { Outcome, Route } from '#shared/kernel/inference.ts';
import type {
  CarriedRecord,
  DataQuality,
  MethodologyFailure,
  QuantityName,
} from '#shared/methodology/measurement.ts';
import type { Plan } from '#shared/kernel/plan.ts';

/** At most this many canonical bytes: a length that fits 16 bits, as C2SP tlog-tiles asks of an entry. */
export const RECEIPT_BYTES_MAX = 65_535;

/** Seconds from the signing of a receipt until a signed checkpoint includes it. */
export const MAXIMUM_MERGE_DELAY_SECONDS = 10;

/** Where the estimate failed; `issuance` when the receipt itself was late. */
export type DegradationStage = MethodologyFailure['stage'] | 'issuance';

export interface Degradation {
  /** Stable, e.g. `model_size_unknown`. */
  code: string;
  stage: DegradationStage;
}

/** On the receipt also the tier that was asked for: its recalculation delivers that. Unknown when the receipt was late. */
interface DegradationDocument extends Degradation {
  code: string;
  requestedTier?: Plan;
  stage: DegradationStage;
}

/** The names that inputs have in a receipt, by `MeasurementInput.kind`. */
export const INPUT_TYPES = {
  grid: 'GridFactor',
  hardware: 'HardwareRecord',
  model: 'ModelRecord',
  site: 'SiteFactor',
  usage: 'UsageRecord',
} as const;
type InputType = (typeof INPUT_TYPES)[keyof typeof INPUT_TYPES];

/** The unit in which each quantity is stated; there is one. */
export const QUANTITY_UNITS = {
  adpe: 'kgSbe',
  adpf: 'MJ',
  energy: 'kWh',
  gwp: 'kgCO2e',
  water: 'L',
} as const satisfies Record<QuantityName, string>;

/** One `qudt:QuantityValue`: decimals as text, `lower` and `upper` the 5-95 % interval. */
export interface QuantityDocument {
  lower: string;
  quantityKind: QuantityName;
  type: 'QuantityValue';
  unit: string;
  upper: string;
  value: string;
}

export interface MeasurementDocument {
  dataQuality: DataQuality;
  hadPlan: { digest: string; id: string; name: string; type: 'Plan'; version: string };
  id: string;
  result: QuantityDocument[];
  /** What computed it, e.g. `docket/0.1.0`. */
  software: string;
  type: ['Activity', 'Measurement'];
  used: InputDocument[];
}

/** One input. `record` is what no published factor set holds; its canonical JSON hashes to `digest`. */
export interface InputDocument {
  digest: string;
  name: string;
  record?: CarriedRecord;
  type: InputType;
}

/** The inference, a `prov:Activity`. Token counts and their source are absent when it was refused. */
export interface InferenceDocument {
  attempts?: number;
  cachedInputTokens?: number;
  endedAt?: string;
  gridZone?: string;
  id: string;
  inputTokens?: number;
  /** Joules that the upstream measured, a decimal. */
  measuredJoules?: string;
  model: string;
  modelVersion?: string;
  organisation: string;
  outcome?: Outcome;
  outputTokens?: number;
  policy?: { rule: string; version: string };
  region: string;
  requestDigest?: string;
  responseDigest?: string;
  route: Route;
  salt?: string;
  startedAt: string;
  type: ['Activity', 'Inference'];
  usageSource?: 'upstream' | 'counted';
}

/** A Data Integrity proof by `eddsa-jcs-2022`. */
export interface ProofDocument {
  '@context': readonly string[];
  created: string;
  cryptosuite: 'eddsa-jcs-2022';
  expires?: string;
  proofPurpose: 'assertionMethod';
  proofValue: string;
  type: 'DataIntegrityProof';
  verificationMethod: string;
}

/**
 * A receipt as JSON. The order in which fields are declared here is the order of RFC 8785 (UTF-16 code units), and
 * what builds one keeps it: `JSON.stringify` of a built document is its canonical form.
 */
export interface ReceiptDocument {
  '@context': readonly string[];
  credentialSubject: InferenceDocument;
  degradation?: DegradationDocument;
  explanation?: string;
  id: string;
  inclusionPromise?: { log: string; maximumMergeDelay: string };
  issuer: string;
  measurement?: MeasurementDocument;
  proof?: ProofDocument;
  revisionNumber?: number;
  revisionReason?: string;
  tier: Plan | 'degraded';
  type: string[];
  validFrom: string;
  validUntil?: string;
  wasRevisionOf?: { digest: string; id: string; leafIndex: number };
}
