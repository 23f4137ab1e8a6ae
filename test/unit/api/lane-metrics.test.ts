import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { showLanes } from '#api/lane-metrics.ts';
import { inferenceLane, receiptsLane } from '#shared/lanes/keys.ts';
import type { LaneDepth } from '#shared/lanes/redis/depths.ts';

const depth = (lane: string, rest: Partial<LaneDepth> = {}): LaneDepth => ({
  lane,
  waiting: 0,
  running: 0,
  oldestAt: null,
  waitingSince: null,
  setAside: 0,
  ...rest,
});

async function shown(laneDepths: () => Promise<LaneDepth[]>) {
  const registry = new Registry();
  const errors: unknown[] = [];
  showLanes(registry, { laneDepths, onError: (error) => errors.push(error), now: () => 10_000 });
  const scrape = async () =>
    (await registry.metrics()).split('\n').filter((line) => line.startsWith('docket'));
  return { errors, scrape };
}

describe('metrics of lanes', () => {
  it('are over all shards: what waits, since when, what runs and what was set aside', async () => {
    let readings = 0;
    const { scrape } = await shown(async () => {
      readings += 1;
      return [
        depth(inferenceLane(0, 'eu-west'), { waiting: 2, running: 1, waitingSince: 8_500 }),
        depth(inferenceLane(1, 'eu-west'), { waiting: 3, waitingSince: 9_000 }),
        depth(receiptsLane(0), { running: 4, setAside: 1 }),
      ];
    });
    expect(await scrape()).toEqual([
      'docket_lane_entries{lane="inference:eu-west",state="waiting"} 5',
      'docket_lane_entries{lane="inference:eu-west",state="running"} 1',
      'docket_lane_entries{lane="inference:eu-west",state="set_aside"} 0',
      'docket_lane_entries{lane="receipts",state="waiting"} 0',
      'docket_lane_entries{lane="receipts",state="running"} 4',
      'docket_lane_entries{lane="receipts",state="set_aside"} 1',
      'docket_lane_wait_seconds{lane="inference:eu-west"} 1.5',
      'docket_lane_wait_seconds{lane="receipts"} 0',
    ]);
    expect(readings).toBe(1);
  });

  it('are not there while Redis is away, and others are', async () => {
    let isAway = false;
    const away = new Error('Connection is closed.');
    const { scrape, errors } = await shown(async () => {
      if (isAway) throw away;
      return [depth(receiptsLane(0))];
    });
    expect(await scrape()).toHaveLength(4);
    isAway = true;
    expect(await scrape()).toEqual([]);
    expect(errors).toEqual([away]);
  });
});
