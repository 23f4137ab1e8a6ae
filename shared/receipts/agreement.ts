import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import { isId, timeOfId } from '#shared/kernel/ids.ts';
import { isWrittenDecimal, parseDecimal } from '#shared/kernel/decimal.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';
import { hourAt } from '#shared/methodology/grid-hour.ts';
import type { CarriedRecord } from '#shared/methodology/measurement.ts';
import { JOULES_MAX, LATENCY_S_MAX, STATED_BOUNDS } from '#shared/methodology/request-figures.ts';
import type { WholeMeasurement } from './derivation.ts';
import type { InputDocument, ReceiptDocument } from './document.ts';
import { NOTE_MAX } from './format-1.ts';
import { idInAddress } from './reread.ts';

/** The clocks of two machines of a service never differ by more. */
export const CLOCKS_DIFFER_MS = HOUR_MS;

/** Characters of names that a catalogue can give; a test compares them with its schema. */
export const CATALOGUE_NAMES = {
  model: /^[A-Za-z0-9][A-Za-z0-9._:/@+~-]{0,255}$/,
  region: /^[a-z0-9][a-z0-9._-]{0,63}$/,
};

/** Characters of the other names that are ours. */
const OUR_NAMES = /^[!-~]{1,256}$/;
/** What ends a line, turns its direction, shows nothing, or looks like a space and is none. Words of persons may have joiners and more spaces. */
const DISGUISED = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** A measurement with the inputs that are at hand: those that its receipt carries, or also those that it names. */
interface KnownMeasurement extends Pick<WholeMeasurement, 'stated'> {
  used: readonly Omit<InputDocument, 'digest'>[];
}

/**
 * Where a receipt says two things at once about its inference, as a path; undefined when it does not. A holder of the keys
 * can sign such a receipt, and the service never issued one.
 * @param measurement undefined on a receipt without an estimate
 */
export function disagreement(
  document: ReceiptDocument,
  measurement: KnownMeasurement | undefined,
): string | undefined {
  const { credentialSubject: subject, wasRevisionOf, validFrom } = document;
  for (const name of ['model', 'region'] as const) {
    const fits = CATALOGUE_NAMES[name].test(subject[name]);
    if (!fits) return `${name}, which has characters that no catalogue allows`;
  }
  const { requestedModel = 'none' } = subject;
  if (!CATALOGUE_NAMES.model.test(requestedModel))
    return 'requestedModel, which has characters that no catalogue allows';
  const odd = oddWords(document);
  if (odd !== undefined) return `${odd}, which has characters that no service writes`;
  const isRevision = wasRevisionOf !== undefined;
  if (isRevision && measurement === undefined) return 'measurement, which every revision has';
  // A request's own receipt has the request's ULID.
  if (!isRevision && ulidOf(document.id) !== ulidOf(subject.id)) return 'id';
  const { answerId, route, startedAt, endedAt } = subject;
  if (answerId !== undefined && answerId !== answerIdOf(route, idInAddress(subject.id)))
    return 'answerId, which is not made from its request';
  if (subject.requestedModel === subject.model) return 'requestedModel, which is no other name';
  const arrived = timeOfId(idInAddress(subject.id));
  if (subject.previous !== undefined && !mayBePrevious(subject.previous, document, arrived))
    return 'previous, which is no receipt of a response before it';
  if (!(Math.abs(Date.parse(startedAt) - arrived) <= CLOCKS_DIFFER_MS)) return 'startedAt';
  const elapsed = Date.parse(endedAt) - Date.parse(startedAt);
  if (elapsed < 0 || elapsed > LATENCY_S_MAX * 1_000) return 'endedAt';
  const { queuedMs = 0, upstreamMs = 0 } = subject;
  if (queuedMs > elapsed) return 'queuedMs, which is longer than the request took';
  if (queuedMs + upstreamMs > elapsed) return 'upstreamMs, which is longer than the request took';
  if (Date.parse(endedAt) > Date.parse(validFrom) + CLOCKS_DIFFER_MS) return 'validFrom';
  if (measurement === undefined) return undefined;
  if (ulidOf(measurement.stated.id) !== ulidOf(document.id)) return 'measurement.id';
  return againstReason(document, measurement) ?? againstInputs(document, measurement);
}

/** A name or text of a receipt that is not what it shows; undefined where each is. */
function oddWords({
  credentialSubject: subject,
  degradation,
  explanation,
  measurement,
  revisionNote,
}: ReceiptDocument): string | undefined {
  const ours = {
    gridZone: subject.gridZone,
    tokenizer: subject.tokenizer,
    'policy.version': subject.policy?.version,
    'degradation.code': degradation?.code,
    'measurement.software': measurement?.software,
  };
  const odd = Object.entries(ours).find(([, name]) => name !== undefined && !OUR_NAMES.test(name));
  if (odd !== undefined) return odd[0];
  const { modelVersion, upstreamAnswerId } = subject;
  const theirs = Object.entries({ modelVersion, upstreamAnswerId, explanation });
  const disguised = theirs.find(([, words]) => words !== undefined && isDisguised(words));
  if (disguised !== undefined) return disguised[0];
  const isNote = revisionNote === undefined || isPrintable(revisionNote, NOTE_MAX);
  return isNote ? undefined : 'revisionNote';
}

/** Whether a text of others could be shown as another than it is. */
export function isDisguised(words: string): boolean {
  return DISGUISED.test(words);
}

/** Whether an address is that of a receipt of the same issuer, of a request that had come before. */
function mayBePrevious(
  address: string,
  { id, credentialSubject: { route } }: ReceiptDocument,
  arrived: number,
): boolean {
  const name = idInAddress(address);
  const isOfIssuer = address === id.slice(0, id.lastIndexOf('/') + 1) + name;
  return (
    route === 'responses' &&
    isOfIssuer &&
    isId('rcpt', name) &&
    timeOfId(name) <= arrived + CLOCKS_DIFFER_MS
  );
}

/** A revision has what its reason says that it came for. */
function againstReason(
  { measurement: stated, revisionReason: reason }: ReceiptDocument,
  { used }: KnownMeasurement,
): string | undefined {
  const isMetered = stated?.metered !== undefined;
  if (reason === 'measured' && !isMetered) return 'revisionReason, and no meter measured it';
  const hasHour = used.some(
    ({ type, record }) => type === 'GridFactor' && record !== undefined && 'hour' in record,
  );
  if (reason === 'hourly_factor' && !hasHour)
    return 'revisionReason, and it has no factor of an hour';
  if (reason === 'hours_incomplete' && hasHour)
    return 'revisionReason, and it has a factor of an hour';
  return undefined;
}

function againstInputs(
  { credentialSubject: subject, measurement: stated }: ReceiptDocument,
  { used }: KnownMeasurement,
): string | undefined {
  const usage = used.find(({ type }) => type === 'UsageRecord')?.record;
  const metered = stated?.metered;
  const differs = usage && againstUsage(subject, usage, metered !== undefined);
  if (differs !== undefined) return `measurement.used.usage.${differs}`;
  for (const { type, name, record } of used) {
    if (type !== 'GridFactor') continue;
    const { gridZone = name, startedAt } = subject;
    const fits =
      record === undefined
        ? name === gridZone
        : record['zone'] === gridZone &&
          record['hour'] === hourAt(Date.parse(startedAt)) &&
          isWrittenDecimal(record['gwp_kgco2e_per_kwh']);
    if (!fits) return `measurement.used.${name}`;
  }
  if (usage !== undefined && energyClass(usage) !== energyClassOf(stated?.dataQuality))
    return 'measurement.dataQuality';
  // A meter's record or none: what an upstream says of itself is no measurement.
  if ((stated?.dataQuality === 'T1') !== (metered !== undefined)) return 'measurement.metered';
  if (metered === undefined) return undefined;
  const { startedAt, endedAt } = subject;
  const ran = Date.parse(metered.from) <= Date.parse(endedAt) && metered.from < metered.to;
  return ran && Date.parse(metered.to) >= Date.parse(startedAt) ? undefined : 'measurement.metered';
}

/** What the energy of a usage record is the word of, as the classes of data quality have it; undefined for a model's. */
function energyClass(usage: CarriedRecord): 'T1' | 'TS' | undefined {
  if (usage['measured_joules'] !== undefined) return 'T1';
  const isUsed = usage['stated_joules'] !== undefined && usage['stated_beyond'] === undefined;
  return isUsed ? 'TS' : undefined;
}

const energyClassOf = (quality: string | undefined): 'T1' | 'TS' | undefined =>
  quality === 'T1' || quality === 'TS' ? quality : undefined;

/** The first member of a usage record that says otherwise than its receipt. */
function againstUsage(
  subject: ReceiptDocument['credentialSubject'],
  usage: CarriedRecord,
  isMetered: boolean,
): string | undefined {
  const { startedAt, endedAt, upstreamMs, tokenInterval, route } = subject;
  const generates = route !== 'embeddings';
  const elapsed = Math.max(0, Date.parse(endedAt) - Date.parse(startedAt));
  const around = tokenInterval && {
    input_tokens_lower: tokenInterval.inputLower,
    input_tokens_upper: tokenInterval.inputUpper,
    output_tokens_lower: generates ? tokenInterval.outputLower : 0,
    output_tokens_upper: generates ? tokenInterval.outputUpper : 0,
  };
  const known: Readonly<Record<string, unknown>> = {
    attempts: subject.attempts,
    cached_input_tokens: subject.cachedInputTokens,
    input_tokens: subject.inputTokens,
    output_tokens: generates ? subject.outputTokens : 0,
    route,
    usage_source: subject.usageSource,
    stated_joules: isMetered ? undefined : subject.statedJoules,
    latency_s: elapsed / 1_000,
    upstream_s: (upstreamMs ?? 0) / 1_000,
    ...around,
  };
  for (const [name, value] of Object.entries(usage)) {
    if (name === 'measured_joules') {
      if (!isMetered || !isWrittenDecimal(value) || Number(value) > JOULES_MAX) return name;
    } else if (name === 'stated_beyond') {
      if (usage['stated_joules'] === undefined || !isBound(value)) return name;
    } else if (name.endsWith('_s')) {
      const seconds = typeof value === 'string' ? parseDecimal(value) : undefined;
      if (known[name] !== seconds) return name;
    } else if (known[name] !== value) return name;
  }
  // What is stated and was not used would be as good as never stated.
  if (subject.statedJoules !== undefined && !isMetered && usage['stated_joules'] === undefined)
    return 'stated_joules';
  if (isMetered && usage['measured_joules'] === undefined) return 'measured_joules';
  return undefined;
}

const isBound = (value: unknown): boolean => STATED_BOUNDS.some((bound) => bound === value);

const ulidOf = (address: string): string => {
  const id = idInAddress(address);
  return id.slice(id.indexOf('_') + 1);
};
