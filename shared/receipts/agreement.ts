import { answerIdOf } from '#shared/kernel/answer-ids.ts';
import { isDisguised } from '#shared/kernel/characters.ts';
import { timeOfId } from '#shared/kernel/ids.ts';
import { ran } from '#shared/kernel/inference.ts';
import { isWrittenDecimal, toExactDecimalString } from '#shared/kernel/decimal.ts';
import { isPrintable } from '#shared/kernel/plain-text.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';
import { hourAt } from '#shared/methodology/grid-hour.ts';
import type { CarriedRecord } from '#shared/methodology/measurement.ts';
import { JOULES_MAX, LATENCY_S_MAX, STATED_BOUNDS } from '#shared/methodology/request-figures.ts';
import { misaddressed } from './addresses.ts';
import type { WholeMeasurement } from './derivation.ts';
import type { InputDocument, ReceiptDocument } from './document.ts';
import { NOTE_MAX } from './format-1.ts';
import { idInAddress } from './reread.ts';

/** The clocks of two machines of a service never differ by more. */
export const CLOCKS_DIFFER_MS = HOUR_MS;

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
  const elsewhere = misaddressed(document);
  if (elsewhere !== undefined)
    return `${elsewhere}, which is no address under the public address of its context`;
  const odd = oddWords(document);
  if (odd !== undefined) return `${odd}, which has characters that no service writes`;
  const isRevision = wasRevisionOf !== undefined;
  if (!isRevision && document.revisionNote !== undefined)
    return 'revisionNote, which revisions have alone';
  if (isRevision && measurement === undefined) return 'measurement, which every revision has';
  // A request's own receipt has the request's ULID.
  if (!isRevision && ulidOf(document.id) !== ulidOf(subject.id)) return 'id';
  const { startedAt, endedAt } = subject;
  const differs = againstOutcome(document);
  if (differs !== undefined) return differs;
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
  if (subject.gridZone === undefined) return 'gridZone, which every estimate has';
  if (ulidOf(measurement.stated.id) !== ulidOf(document.id)) return 'measurement.id';
  return againstReason(document, measurement) ?? againstInputs(document, measurement);
}

/** Words of a receipt that are not what they show; undefined where each is. Names have their characters by their forms. */
function oddWords({
  credentialSubject: { modelVersion },
  explanation,
  revisionNote,
}: ReceiptDocument): string | undefined {
  const theirs = Object.entries({ modelVersion, explanation });
  const disguised = theirs.find(([, words]) => words !== undefined && isDisguised(words));
  if (disguised !== undefined) return disguised[0];
  const isNote = revisionNote === undefined || isPrintable(revisionNote, NOTE_MAX);
  return isNote ? undefined : 'revisionNote';
}

/** What a receipt has by the outcome of its request, and by the tier that was asked for. */
function againstOutcome({
  credentialSubject: subject,
  degradation,
  inclusionPromise,
  tier,
}: ReceiptDocument): string | undefined {
  const { answerId, outcome, route, responseDigest, relayedPayloads, relayedTokens } = subject;
  const isRun = ran(outcome);
  if (answerId !== (isRun ? answerIdOf(route, idInAddress(subject.id)) : undefined))
    return 'answerId, which is not made from its request';
  if (isRun && responseDigest === undefined) return 'responseDigest, which every answer has';
  if (outcome === 'complete' && relayedPayloads !== undefined)
    return 'relayedPayloads, and it came to its end';
  if ((relayedPayloads === undefined) !== (relayedTokens === undefined)) return 'relayedTokens';
  const isPromised = (degradation?.requestedTier ?? tier) !== 'audit';
  return isPromised === (inclusionPromise !== undefined)
    ? undefined
    : 'inclusionPromise, which goes with the tiers above audit';
}

/** Whether an address of a receipt is that of another request, which had come before. */
function mayBePrevious(
  address: string,
  { credentialSubject: { id, route } }: ReceiptDocument,
  arrived: number,
): boolean {
  return (
    route === 'responses' &&
    ulidOf(address) !== ulidOf(id) &&
    timeOfId(idInAddress(address)) <= arrived + CLOCKS_DIFFER_MS
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
  { credentialSubject: subject, measurement: stated, tier, validFrom }: ReceiptDocument,
  { used }: KnownMeasurement,
): string | undefined {
  const usage = used.find(({ type }) => type === 'UsageRecord')?.record;
  const metered = stated?.metered;
  const differs = usage && againstUsage(subject, usage, metered !== undefined);
  if (differs !== undefined) return `measurement.used.usage.${differs}`;
  const { gridZone, startedAt } = subject;
  const hour = hourAt(Date.parse(startedAt));
  for (const { type, name, record } of used) {
    const fits =
      type === 'UsageRecord'
        ? name === 'usage'
        : type !== 'GridFactor' ||
          (record === undefined
            ? name === gridZone
            : name === `${gridZone}@${hour}` && isFactorOf(record, gridZone, hour));
    if (!fits) return `measurement.used.${name}`;
  }
  const hours = used.filter(({ type, record }) => type === 'GridFactor' && record !== undefined);
  if (hours.length > 0 && (tier !== 'enterprise' || stated?.used.length !== 2 || hours.length > 1))
    return 'measurement.used, and the factor of an hour goes with the tier enterprise, once';
  if (usage !== undefined && energyClass(usage) !== energyClassOf(stated?.dataQuality))
    return 'measurement.dataQuality';
  // A meter's record or none: what an upstream says of itself is no measurement.
  if ((stated?.dataQuality === 'T1') !== (metered !== undefined)) return 'measurement.metered';
  if (metered === undefined) return undefined;
  const { from, to } = metered;
  // Times are texts of one length. What a meter says of an interval is known when that has ended.
  const isOver = Date.parse(to) <= Date.parse(validFrom) + CLOCKS_DIFFER_MS;
  return from <= subject.endedAt && from < to && to >= startedAt && isOver
    ? undefined
    : 'measurement.metered';
}

/** What the energy of a usage record is the word of, as the classes of data quality have it; undefined for a model's. */
function energyClass(usage: CarriedRecord): 'T1' | 'TS' | undefined {
  if (usage['measured_joules'] !== undefined) return 'T1';
  const isUsed = usage['stated_joules'] !== undefined && usage['stated_beyond'] === undefined;
  return isUsed ? 'TS' : undefined;
}

const energyClassOf = (quality: string | undefined): 'T1' | 'TS' | undefined =>
  quality === 'T1' || quality === 'TS' ? quality : undefined;

const FACTOR_WORDS = ['provider', 'signal', 'version'] as const;

/** The factor of an hour has these members, and no others. */
function isFactorOf(record: CarriedRecord, zone: string | undefined, hour: string): boolean {
  const { gwp_kgco2e_per_kwh: gwp, hour: its, zone: place, ...words } = record;
  return (
    isWrittenDecimal(gwp) &&
    its === hour &&
    place === zone &&
    Object.keys(words).length === FACTOR_WORDS.length &&
    FACTOR_WORDS.every((name) => {
      const word = words[name];
      return typeof word === 'string' && !isDisguised(word);
    })
  );
}

/** The first member of a usage record that says otherwise than its receipt. It has what follows from that, and no other. */
function againstUsage(
  subject: ReceiptDocument['credentialSubject'],
  usage: CarriedRecord,
  isMetered: boolean,
): string | undefined {
  const { startedAt, endedAt, upstreamMs, tokenInterval, route, statedJoules } = subject;
  const generates = route !== 'embeddings';
  const elapsed = Date.parse(endedAt) - Date.parse(startedAt);
  const isStated = statedJoules !== undefined && !isMetered;
  const known: Readonly<Record<string, unknown>> = {
    attempts: subject.attempts,
    cached_input_tokens: subject.cachedInputTokens,
    input_tokens: subject.inputTokens,
    output_tokens: generates ? subject.outputTokens : 0,
    route,
    usage_source: subject.usageSource,
    // The time of the call, and where that is not known the whole.
    ...(upstreamMs === undefined
      ? { latency_s: secondsText(elapsed) }
      : { upstream_s: secondsText(upstreamMs) }),
    // What is stated and was not used would be as good as never stated.
    ...(isStated ? { stated_joules: statedJoules } : {}),
    ...(tokenInterval && {
      input_tokens_lower: tokenInterval.inputLower,
      input_tokens_upper: tokenInterval.inputUpper,
      output_tokens_lower: generates ? tokenInterval.outputLower : 0,
      output_tokens_upper: generates ? tokenInterval.outputUpper : 0,
    }),
  };
  const { measured_joules: measured, stated_beyond: beyond, ...others } = usage;
  const members = [...new Set([...Object.keys(known), ...Object.keys(others)])];
  const odd = members.find((name) => others[name] !== known[name]);
  if (odd !== undefined) return odd;
  const isMeasured = isWrittenDecimal(measured) && Number(measured) <= JOULES_MAX;
  if (isMetered ? !isMeasured : measured !== undefined) return 'measured_joules';
  return beyond === undefined || (isStated && isBound(beyond)) ? undefined : 'stated_beyond';
}

const secondsText = (ms: number): string => toExactDecimalString(ms / 1_000);

const isBound = (value: unknown): boolean => STATED_BOUNDS.some((bound) => bound === value);

const ulidOf = (address: string): string => {
  const id = idInAddress(address);
  return id.slice(id.indexOf('_') + 1);
};
