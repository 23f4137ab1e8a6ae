import { expect, it } from 'vitest';
import { chatBody, payloadsIn, post } from '#test/support/calls.ts';
import type { System } from '#test/support/system.ts';
import { until } from '#test/support/until.ts';

interface Counted {
  usage: { prompt_tokens: number; completion_tokens: number };
}

/** What operators see of requests, of lanes, and of what their workers have room for. */
export function metrics(system: () => System): void {
  /** The sum of the series whose names match; undefined where there are none. */
  async function figure(role: 'api' | 'inference', series: RegExp): Promise<number | undefined> {
    const [process] = system().processes(role);
    const text = await (await fetch(`http://127.0.0.1:${process!.metricsPort}/metrics`)).text();
    const found = text.split('\n').filter((line) => series.test(line));
    if (found.length === 0) return undefined;
    return found.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
  }

  it('metrics count requests, their tokens as answers say them, and first frames of streams; lanes and slots are empty again behind them [metrics.requests]', async () => {
    const read = async () => ({
      runs: await figure('inference', /^docket_inference_runs_total\{.*llama-3\.1-8b.*complete/),
      input: await figure('inference', /^docket_tokens_total\{.*llama-3\.1-8b.*input/),
      output: await figure('inference', /^docket_tokens_total\{.*llama-3\.1-8b.*output/),
      upstream: await figure('inference', /^docket_upstream_duration_seconds_count/),
      firsts: await figure('api', /^docket_first_frame_seconds_count\{.*chat\.completions/),
    });
    const before = await read();
    const whole = (await (await post(system(), '/chat/completions', chatBody())).json()) as Counted;
    const stream = chatBody({ stream: true, stream_options: { include_usage: true } });
    const payloads = payloadsIn(
      await (await post(system(), '/chat/completions', stream)).text(),
    ).map((payload) => (payload === '[DONE]' ? {} : (JSON.parse(payload) as Partial<Counted>)));
    const streamed = payloads.findLast(({ usage }) => usage)!.usage!;
    const grown = async () => {
      const after = await read();
      const names = Object.keys(after) as (keyof typeof after)[];
      return Object.fromEntries(
        names.map((name) => [name, (after[name] ?? 0) - (before[name] ?? 0)]),
      );
    };
    await until(async () => (await grown())['runs'] === 2);
    expect(await grown()).toEqual({
      runs: 2,
      input: whole.usage.prompt_tokens + streamed.prompt_tokens,
      output: whole.usage.completion_tokens + streamed.completion_tokens,
      upstream: 2,
      firsts: 1,
    });
    await until(async () => (await figure('inference', /^docket_slots_taken/)) === 0);
    expect(await figure('inference', /^docket_slots\{/)).toBeGreaterThan(0);
    for (const lane of ['inference:eu-west', 'receipts']) {
      const entries = new RegExp(`^docket_lane_entries\\{.*lane="${lane}"`);
      await until(async () => (await figure('api', entries)) === 0);
      expect(await figure('api', new RegExp(`^docket_lane_wait_seconds\\{.*lane="${lane}"`))).toBe(
        0,
      );
    }
  });
}
