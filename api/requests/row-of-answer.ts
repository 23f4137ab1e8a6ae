import { networkName } from '#api/plugins/caller-network.ts';
import type { Answered } from '#api/plugins/answered.ts';
import { printable } from '#shared/kernel/plain-text.ts';
import { REQUESTED_MODEL_LENGTH_MAX, type RequestRow } from '#shared/requests/row.ts';

/** As much as a column of PostgreSQL holds; an upstream may count anything. */
const INTEGER_MAX = 2_147_483_647;
const SMALL_MAX = 32_767;

/** The longest that columns hold. Codes are made of names of parameters that callers send. */
const NAME_LENGTH_MAX = 128;

/** The row of an answer; undefined for one to a caller without a valid key. */
export function rowOfAnswer(answered: Answered): RequestRow | undefined {
  const { requestId, orgId, keyId, method, route, model, requestedModel, replayOf } = answered;
  if (orgId === undefined || keyId === undefined) return undefined;
  const ofOther = requestedModel === model ? undefined : requestedModel;
  return {
    id: requestId,
    orgId,
    keyId,
    route: route === null ? null : `${method} ${route}`.slice(0, NAME_LENGTH_MAX),
    status: answered.status,
    code: answered.code?.slice(0, NAME_LENGTH_MAX) ?? null,
    model: model ?? null,
    requestedModel:
      ofOther === undefined ? null : printable(ofOther.slice(0, REQUESTED_MODEL_LENGTH_MAX)),
    region: answered.region ?? null,
    streamed: answered.stream ?? null,
    network: networkOf(answered.address),
    tags: answered.tags ?? null,
    hasReceipt: answered.hasReceipt,
    replayOf: replayOf ?? null,
    inputTokens: bounded(answered.inputTokens),
    outputTokens: bounded(answered.outputTokens),
    queuedMs: bounded(answered.queuedMs),
    firstMs: bounded(answered.firstMs),
    totalMs: Math.min(answered.ms, INTEGER_MAX),
    upstreamCalls: bounded(answered.calls, SMALL_MAX),
    requests: 1,
    lastMs: null,
  };
}

/** What a proxy names may be anything, and what a column does not hold would take all rows of its batch along. */
const NETWORK = /^[\da-f.:/]{2,43}$/;

function networkOf(address: string | undefined): string | null {
  const name = address === undefined ? '' : networkName(address);
  return NETWORK.test(name) ? name : null;
}

function bounded(value: number | undefined, most: number = INTEGER_MAX): number | null {
  return value === undefined ? null : Math.min(value, most);
}
