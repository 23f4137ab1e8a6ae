import { setTimeout as wait } from 'node:timers/promises';
import type { AnchorResult } from '#shared/ledger/postgres/anchor-append.ts';
import type { IntegrationResult, LedgerBacklog } from '#shared/ledger/postgres/integration.ts';
import type { PublicationResult } from '#shared/ledger/postgres/checkpoints.ts';
import { Alarm } from './alarm.ts';
import type { LedgerEvents, LedgerStep } from './events.ts';
import {
  ANCHOR_ASLEEP_MS,
  ANCHOR_AWAKE_MS,
  ANCHOR_MS,
  ASLEEP_MS,
  ATTEST_MS,
  AUDIT_MS,
  AWAKE_MS,
  BACKLOG_MS,
  CHECKPOINT_MS,
  IDLE_MS,
  PUBLISH_MS,
  RETRY_MS,
  SUM_UP_MS,
  SUMMED_UP_MS,
} from './intervals.ts';

/** The steps that the loops repeat, as the composition root binds them to stores. */
export interface LedgerSteps {
  integrate: () => Promise<IntegrationResult>;
  /** Sums up a portion of a log whose sums are made anew. Resolves to whether there was any. */
  sumUp: () => Promise<boolean>;
  publish: () => Promise<PublicationResult>;
  /** Signs the heads of audit logs that have grown. */
  publishAudit: () => Promise<PublicationResult>;
  backlog: () => Promise<LedgerBacklog>;
  anchor: () => Promise<AnchorResult>;
  publishAnchor: () => Promise<PublicationResult>;
  /** Undefined where no authority and no witness is asked. */
  attest: (() => Promise<void>) | undefined;
}

export interface LedgerLoopOptions {
  steps: LedgerSteps;
  events: LedgerEvents;
  /** Promises per batch: a full one means that more are waiting. */
  batchMax: number;
  /** Calls back whenever a worker says that receipts wait. */
  onOwed: (ring: () => void) => void;
  /** Monotonic milliseconds. */
  now: () => number;
}

/**
 * Integrates, signs, anchors and has the anchor attested until `signal` aborts; what is in hand is
 * finished. They go side by side: a slow time-stamping authority holds up no anchoring, and that no
 * integration.
 */
export async function runLedger(options: LedgerLoopOptions, signal: AbortSignal): Promise<void> {
  const { steps } = options;
  const toAnchor = new Alarm({ now: options.now, awakeMs: ANCHOR_AWAKE_MS, signal });
  const attest = steps.attest && every(ATTEST_MS, options, 'attest', steps.attest);
  await Promise.all([
    integrateAndPublish(options, signal, toAnchor),
    anchorHeads(options, signal, toAnchor),
    attest && repeat(attest, ATTEST_MS, signal),
  ]);
}

async function repeat(
  step: () => Promise<void>,
  pauseMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await step();
    await wait(pauseMs, undefined, { signal }).catch(() => {});
  }
}

/** Signs the heads of audit logs, and anchors them with those of ledgers. */
async function anchorHeads(
  options: LedgerLoopOptions,
  signal: AbortSignal,
  toAnchor: Alarm,
): Promise<void> {
  const { steps, events } = options;
  const anchor = every(ANCHOR_MS, options, 'anchor', async () => {
    events.anchored(await steps.anchor());
    events.published(await steps.publishAnchor());
  });
  const publishAudit = every(AUDIT_MS, options, 'publish_audit', async () => {
    const result = await steps.publishAudit();
    if (result.signed.length > 0) toAnchor.ring();
    events.auditPublished(result);
  });
  while (!signal.aborted) {
    await publishAudit();
    await anchor();
    await toAnchor.pause(toAnchor.isAwake ? ANCHOR_MS : ANCHOR_ASLEEP_MS);
  }
}

/** Integration and signing fail apart: receipts go on being integrated while nothing can be signed. */
async function integrateAndPublish(
  options: LedgerLoopOptions,
  signal: AbortSignal,
  toAnchor: Alarm,
): Promise<void> {
  const { now } = options;
  const owed = new Alarm({ now, awakeMs: AWAKE_MS, signal });
  options.onOwed(() => owed.ring());
  // What this process has integrated is signed within this time; logs that only others let grow can wait for a look.
  let growingUntil = -Infinity;
  const publishPeriod = (): number => (now() < growingUntil ? PUBLISH_MS : CHECKPOINT_MS);
  const publish = every(publishPeriod, options, 'publish', async () => {
    const result = await options.steps.publish();
    if (result.signed.length > 0) toAnchor.ring();
    options.events.published(result);
  });
  const backlog = every(BACKLOG_MS, options, 'backlog', async () => {
    options.events.backlogRead(await options.steps.backlog());
  });
  let isBehind = true;
  const sumUpPeriod = (): number => (isBehind ? SUM_UP_MS : SUMMED_UP_MS);
  const sumUp = every(sumUpPeriod, options, 'sum_up', async () => {
    isBehind = await options.steps.sumUp();
  });
  while (!signal.aborted) {
    const claimed = await integrateOnce(options);
    if (claimed > 0) {
      growingUntil = now() + 2 * CHECKPOINT_MS;
      owed.ring();
    }
    await publish();
    await backlog();
    await sumUp();
    if (claimed === FAILED) await wait(RETRY_MS, undefined, { signal }).catch(() => {});
    else if (claimed < options.batchMax) {
      await owed.pause(owed.isAwake || isBehind ? IDLE_MS : ASLEEP_MS);
    }
  }
}

const FAILED = -1;

/** One batch. Returns how many promises were claimed, or `FAILED`. */
async function integrateOnce({ steps, events }: LedgerLoopOptions): Promise<number> {
  try {
    const result = await steps.integrate();
    events.integrated(result);
    return result.claimed;
  } catch (error) {
    events.failed('integrate', error);
    return FAILED;
  }
}

/** A step that is due at most every `period` milliseconds; its failure is told and it is tried again when it is next due. */
function every(
  period: number | (() => number),
  { events, now }: LedgerLoopOptions,
  name: LedgerStep,
  step: () => Promise<void>,
): () => Promise<void> {
  const periodMs = typeof period === 'number' ? () => period : period;
  let [startedAt, retryAt] = [-Infinity, -Infinity];
  return async () => {
    if (now() < Math.max(startedAt + periodMs(), retryAt)) return;
    startedAt = now();
    try {
      await step();
    } catch (error) {
      retryAt = startedAt + RETRY_MS;
      events.failed(name, error);
    }
  };
}
