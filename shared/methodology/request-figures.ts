import {
  type Route,
  ROUTES,
  type TokenInterval,
  type Usage,
  USAGE_SOURCES,
} from '#shared/kernel/inference.ts';
import { type CarriedRecord, type MeasurementInput, MethodologyFailure } from './measurement.ts';
import { digestOfText } from '#shared/kernel/canonical-json.ts';
import { toExactDecimalString } from '#shared/kernel/decimal.ts';
import type { Recorder } from './derivation.ts';
import type { EstimateInput } from './methodology.ts';

/**
 * The bounds of physics that energy which an upstream states has to keep: what its tokens take at least on any hardware, the
 * idle power of its accelerators, and their full power.
 */
export const STATED_BOUNDS = ['token_energy', 'idle_power', 'full_power'] as const;
export type StatedBeyond = (typeof STATED_BOUNDS)[number];

/** The numbers of one request, checked. */
export interface RequestFigures {
  readonly route: Route;
  readonly usageSource: Usage['source'];
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly attempts: number;
  readonly upstreamS: number | undefined;
  readonly latencyS: number | undefined;
  readonly tokenInterval: TokenInterval | undefined;
  /** Joules of one attempt: as a meter counted them, or as the upstream states them of itself; never both. */
  readonly meteredJoules: number | undefined;
  readonly statedJoules: number | undefined;
}

/** A gateway gives up long before a thousand attempts. */
export const ATTEMPTS_MAX = 1_000;
/** A month on the hardware, and the energy of a small power station for an hour: beyond is a wrong unit. */
export const LATENCY_S_MAX = 2_678_400;
export const JOULES_MAX = 1e15;

/**
 * Checks the figures of a request. Embeddings give no output tokens: an upstream that counts some is wrong.
 * Throws MethodologyFailure at stage `input`: `usage_invalid`, `attempts_invalid`, `latency_invalid`,
 * `joules_invalid`.
 */
export function readRequest(input: EstimateInput): RequestFigures {
  const { usage, route, attempts, upstreamS, latencyS, meteredJoules } = input;
  const { inputTokens, cachedInputTokens, outputTokens, tokenInterval } = usage;
  const statedJoules = meteredJoules === undefined ? usage.statedJoules : undefined;
  if (!ROUTES.includes(route)) throw invalid('usage_invalid', 'the route is not known');
  if (!USAGE_SOURCES.includes(usage.source)) {
    throw invalid('usage_invalid', 'the source of the token counts is not known');
  }
  tokens('input', inputTokens);
  tokens('cached input', cachedInputTokens);
  tokens('output', outputTokens);
  if (cachedInputTokens > inputTokens) {
    throw invalid('usage_invalid', 'more input tokens were cached than there were');
  }
  if (!Number.isInteger(attempts) || attempts < 0 || attempts > ATTEMPTS_MAX) {
    throw invalid('attempts_invalid', `attempts must be a whole number from 0 to ${ATTEMPTS_MAX}`);
  }
  if (attempts === 0 && inputTokens + outputTokens > 0) {
    throw invalid('attempts_invalid', 'there are tokens, so there was an attempt');
  }
  if (tokenInterval !== undefined) checkInterval(tokenInterval, inputTokens, outputTokens);
  for (const time of [upstreamS, latencyS]) {
    if (time !== undefined && !(time >= 0 && time <= LATENCY_S_MAX)) {
      throw invalid('latency_invalid', `the time must be from 0 to ${LATENCY_S_MAX} s`);
    }
  }
  if (meteredJoules !== undefined && !(meteredJoules >= 0 && meteredJoules <= JOULES_MAX)) {
    throw invalid('joules_invalid', `metered energy must be from 0 to ${JOULES_MAX} J`);
  }
  // More than any bound is a statement like others: it is not used, and the receipt says so.
  if (statedJoules !== undefined && !(statedJoules >= 0 && statedJoules < Infinity)) {
    throw invalid('joules_invalid', 'stated energy must be a number of joules, at least 0');
  }
  const generates = route !== 'embeddings';
  return {
    route,
    usageSource: usage.source,
    inputTokens,
    cachedInputTokens,
    outputTokens: generates ? outputTokens : 0,
    attempts,
    upstreamS,
    latencyS,
    tokenInterval:
      generates || tokenInterval === undefined
        ? tokenInterval
        : { ...tokenInterval, outputLower: 0, outputUpper: 0 },
    meteredJoules,
    statedJoules,
  };
}

function checkInterval(interval: TokenInterval, input: number, output: number): void {
  const { inputLower, inputUpper, outputLower, outputUpper } = interval;
  for (const bound of [inputLower, inputUpper, outputLower, outputUpper])
    tokens('bounds of', bound);
  const holds =
    inputLower <= input && input <= inputUpper && outputLower <= output && output <= outputUpper;
  if (!holds) throw invalid('usage_invalid', 'a token count lies outside its own interval');
}

/** The request as an input of its own measurement. */
export function usageInput(
  request: RequestFigures,
  beyond: StatedBeyond | undefined,
  recorder: Recorder | undefined,
): MeasurementInput {
  const { upstreamS, latencyS, meteredJoules, statedJoules, tokenInterval: interval } = request;
  // Written out in canonical order: this runs for every receipt, and a general serialiser costs twice as much.
  const record: CarriedRecord = {
    attempts: request.attempts,
    cached_input_tokens: request.cachedInputTokens,
    input_tokens: request.inputTokens,
    ...(interval && {
      input_tokens_lower: interval.inputLower,
      input_tokens_upper: interval.inputUpper,
    }),
    ...(latencyS === undefined ? {} : { latency_s: toExactDecimalString(latencyS) }),
    ...(meteredJoules === undefined
      ? {}
      : { measured_joules: toExactDecimalString(meteredJoules) }),
    output_tokens: request.outputTokens,
    ...(interval && {
      output_tokens_lower: interval.outputLower,
      output_tokens_upper: interval.outputUpper,
    }),
    route: request.route,
    ...(beyond === undefined ? {} : { stated_beyond: beyond }),
    ...(statedJoules === undefined ? {} : { stated_joules: toExactDecimalString(statedJoules) }),
    ...(upstreamS === undefined ? {} : { upstream_s: toExactDecimalString(upstreamS) }),
    usage_source: request.usageSource,
  };
  const input: MeasurementInput = {
    kind: 'usage',
    id: 'usage',
    digest: digestOfText(JSON.stringify(record)),
    record,
  };
  if (recorder !== undefined) note(request, { ...input, record }, recorder);
  return input;
}

function note(
  request: RequestFigures,
  input: MeasurementInput & { readonly record: CarriedRecord },
  recorder: Recorder,
): void {
  const figure = (symbol: string, name: string, value: number, unit: string) => ({
    symbol,
    name,
    value,
    unit,
    year: 'of this request',
    sources: [],
  });
  const { upstreamS, latencyS, meteredJoules, statedJoules, tokenInterval: interval } = request;
  recorder.used({
    ...input,
    values: [
      figure('k', 'attempts', request.attempts, '1'),
      figure('I', 'input tokens', request.inputTokens, '1'),
      figure('I_c', 'input tokens from the prefix cache', request.cachedInputTokens, '1'),
      figure('N', 'output tokens', request.outputTokens, '1'),
      ...(interval === undefined
        ? []
        : [
            figure('I_lower', 'input tokens, lower end', interval.inputLower, '1'),
            figure('I_upper', 'input tokens, upper end', interval.inputUpper, '1'),
            figure('N_lower', 'output tokens, lower end', interval.outputLower, '1'),
            figure('N_upper', 'output tokens, upper end', interval.outputUpper, '1'),
          ]),
      ...(upstreamS === undefined
        ? []
        : [figure('T_up', 'time of the upstream call that was answered', upstreamS, 's')]),
      ...(latencyS === undefined
        ? []
        : [figure('T_req', 'time from the arrival of the request to its end', latencyS, 's')]),
      ...(meteredJoules === undefined
        ? []
        : [figure('J', 'energy of one attempt that a meter counted', meteredJoules, 'J')]),
      ...(statedJoules === undefined
        ? []
        : [figure('J', 'energy of one attempt that the upstream states', statedJoules, 'J')]),
    ],
    carried: true,
    warnings: [],
  });
}

function tokens(which: string, count: number): void {
  if (!Number.isSafeInteger(count) || count < 0) {
    throw invalid('usage_invalid', `${which} tokens must be a whole number, at least 0`);
  }
}

function invalid(code: string, message: string): MethodologyFailure {
  return new MethodologyFailure('input', code, message);
}
