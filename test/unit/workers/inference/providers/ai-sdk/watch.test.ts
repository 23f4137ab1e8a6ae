import { expect, it, onTestFinished, vi } from 'vitest';
import type { UpstreamSink } from '#workers/inference/providers/provider.ts';
import { CallWatch } from '#workers/inference/providers/ai-sdk/watch.ts';

it('a call that was paused fails when its own time is over, and the failure names all of that time', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const onFailure = vi.fn<UpstreamSink['onFailure']>();
  const heard = (): void => expect.unreachable();
  const sink = { onAnswer: heard, onPayload: heard, onEnd: heard, onFailure };
  const timeouts = { headersMs: 900, firstByteMs: 900, betweenBytesMs: 900, totalMs: 1_000 };
  const watch = new CallWatch(sink, timeouts, () => {});
  vi.advanceTimersByTime(300.5);
  const paused = watch.pausedUntil((resume) => void setTimeout(resume, 60_000));
  await vi.advanceTimersByTimeAsync(60_000);
  await paused;
  vi.advanceTimersByTime(650);
  expect(onFailure).not.toHaveBeenCalled();
  vi.advanceTimersByTime(50);
  expect(onFailure.mock.calls).toEqual([[{ kind: 'timeout', detail: 'not finished in 1000 ms' }]]);
});
