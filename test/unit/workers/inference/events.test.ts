import { pino } from 'pino';
import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { inferenceEvents } from '#workers/inference/events.ts';
import { inferenceRecord } from '#test/support/issuing.ts';
import { admissionRequest } from '#test/support/lanes.ts';

it('metrics of requests count tokens as their receipts do, how long they waited and how long their upstreams took, by models of the catalogue alone', async () => {
  const registry = new Registry();
  const events = inferenceEvents(pino({ level: 'silent' }), registry);
  const { entry } = admissionRequest({});
  const finished = (more: Partial<InferenceRecord>): void =>
    events.runFinished(entry, {
      ...inferenceRecord({ model: 'llama-3.1-8b', region: 'eu-west' }),
      upstreamModel: 'meta/llama-3.1-8b@upstream',
      ...more,
    });
  const counted = { source: 'counted', cachedInputTokens: 3 } as const;
  finished({
    queuedMs: 40,
    upstreamMs: 900,
    usage: { ...counted, inputTokens: 12, outputTokens: 30 },
  });
  finished({
    queuedMs: 600,
    upstreamMs: 90_000,
    outcome: 'truncated',
    usage: { source: 'unknown', reason: 'not_counted', inputTokens: 5 },
  });
  const lines = (await registry.metrics()).split('\n');
  const of = (pattern: RegExp): string[] => lines.filter((line) => pattern.test(line));
  expect(of(/^docket_tokens_total/)).toEqual([
    'docket_tokens_total{model="llama-3.1-8b",region="eu-west",kind="input"} 17',
    'docket_tokens_total{model="llama-3.1-8b",region="eu-west",kind="output"} 30',
  ]);
  expect(of(/^docket_inference_runs_total/)).toEqual([
    'docket_inference_runs_total{route="chat.completions",region="eu-west",model="llama-3.1-8b",outcome="complete"} 1',
    'docket_inference_runs_total{route="chat.completions",region="eu-west",model="llama-3.1-8b",outcome="truncated"} 1',
  ]);
  expect(of(/_seconds_sum\{region/)).toEqual([
    'docket_inference_queued_seconds_sum{region="eu-west"} 0.64',
    'docket_upstream_duration_seconds_sum{region="eu-west"} 90.9',
  ]);
});
