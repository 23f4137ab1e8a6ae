import { sha256Text } from '#primitives';
import type { CarriedRecord } from '#shared/methodology/measurement.ts';
import type { WholeMeasurement } from '#shared/receipts/derivation.ts';
import type { InputDocument } from '#shared/receipts/document.ts';

/** A methodology counts what a context above this costs by formulas of its own (`context_min`). */
export const LONG_CONTEXT_TOKENS = 2_048;

/**
 * Names how a measurement came about, apart from the figures of its request: receipts with one key took the same
 * records through the same formulas, and differ in tokens, attempts, time and hour alone. Made from what the receipt
 * signs, so that a holder of the receipt and what it names can make it. 43 characters, base64url SHA-256 of JSON text.
 */
export function derivationKey({
  hadPlan,
  used,
}: Pick<WholeMeasurement, 'hadPlan' | 'used'>): string {
  const parts = [[hadPlan.name, hadPlan.version, hadPlan.digest], ...used.map(part)];
  return sha256Text(JSON.stringify(parts), 'base64url');
}

/** What of an input is not the request's own. */
function part({ type, name, digest, record }: InputDocument): readonly (string | number)[] {
  if (type === 'UsageRecord') return [type, ...course(record ?? {})];
  // An hourly signal: the receipt carries hour and value, and which import they are of; the rest says what they are.
  if (type === 'GridFactor' && record !== undefined) {
    const { provider = '', signal = '', zone = '' } = record;
    return [type, provider, signal, zone];
  }
  return [type, name, digest];
}

/** Which formulas a request leads through. */
function course(usage: CarriedRecord): string[] {
  const output = count(usage['output_tokens']);
  const context = count(usage['input_tokens']) + output;
  const turns = {
    measured: usage['measured_joules'] !== undefined,
    stated: usage['stated_joules'] !== undefined,
    beyond: usage['stated_beyond'] !== undefined,
    timed: usage['latency_s'] !== undefined,
    called: usage['upstream_s'] !== undefined,
    ranged: usage['output_tokens_upper'] !== undefined,
    decoded: output > 0 || count(usage['output_tokens_upper']) > 0,
    long: context > LONG_CONTEXT_TOKENS,
  };
  return Object.entries(turns).flatMap(([turn, taken]) => (taken ? [turn] : []));
}

function count(value: string | number | undefined): number {
  return typeof value === 'number' ? value : 0;
}
