import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Meter } from '#shared/catalogue/catalogue.ts';
import { attribute, type Run, tokenWeight } from '#shared/metering/attribution.ts';
import { energyBetween, isNewer } from '#shared/metering/energy.ts';
import { readExposition } from '#shared/metering/exposition.ts';
import { type Reading, readMeter } from '#shared/metering/reading.ts';
import { anyCharacter } from '#test/support/any-character.ts';
import { runs } from '#test/support/depth.ts';
import { forAll } from '#test/support/for-all.ts';

const RUNS = runs(500);
const METER: Meter = {
  url: 'http://127.0.0.1:9400/metrics',
  labels: {},
  energyMetric: 'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION',
  energyUnit: 'mJ',
  powerMetric: 'DCGM_FI_DEV_POWER_USAGE',
  powerUnit: 'W',
};
const line = (metric: string, gpu: number, value: number, more = ''): string =>
  `DCGM_FI_DEV_${metric}{gpu="${gpu}",UUID="GPU-${gpu}",Hostname="replay"${more}} ${value}`;
const energyMj = (gpu: number, mj: number, more = ''): string =>
  line('TOTAL_ENERGY_CONSUMPTION', gpu, mj, more);
const watts = (gpu: number, w: number): string => line('POWER_USAGE', gpu, w);
const read = (at: number, ...lines: string[]): Reading => {
  const reading = readMeter(METER, lines.join('\n'), at);
  if (typeof reading === 'string') throw new Error(reading);
  return reading;
};

describe('what an exporter serves', () => {
  it('the text of an exporter is read as Prometheus writes it: comments, escapes, times; what is no number is passed over', () => {
    const text = [
      '# HELP m something',
      'm{a="x\\"y\\\\z\\n",b="}"} 1.5e3 1700000000000',
      'm 2',
      'm{a="b"} NaN',
      'm{a="b} 3',
      'other 4',
    ].join('\n');
    expect(readExposition(text, new Set(['m']))).toEqual([
      { name: 'm', labels: { a: 'x"y\\z\n', b: '}' }, value: 1_500, at: 1_700_000_000_000 },
      { name: 'm', labels: {}, value: 2 },
    ]);
  });

  it('no text of an exporter makes the reader fail', () => {
    forAll([fc.string({ unit: anyCharacter }), fc.nat()], (text, at) => {
      readMeter(METER, `DCGM_FI_DEV_POWER_USAGE{${text}} 12\n${text}`, at);
    });
  });

  it('a reading is of the accelerators that the labels of the catalogue select, each counted once', () => {
    const text = [
      energyMj(0, 1_000, ',pod="a"'),
      energyMj(0, 1_000, ',pod="b"'),
      energyMj(1, 5_000, ',pod="a"'),
    ];
    expect(Object.keys(read(1, ...text).accelerators)).toEqual(['GPU-0', 'GPU-1']);
    const one = readMeter({ ...METER, labels: { gpu: '1' } }, text.join('\n'), 1) as Reading;
    expect(one.accelerators['GPU-1']).toMatchObject({ energyUj: '5000000' });
    expect(readMeter({ ...METER, labels: { gpu: '7' } }, text.join('\n'), 1)).toBe(
      'no_accelerator',
    );
  });
});

describe('the energy between two readings', () => {
  const between = (before: Reading, after: Reading) => {
    const energy = energyBetween(before, after);
    return typeof energy === 'string' ? energy : Number(energy.energyUj) / 1e6;
  };

  it('the energy between two readings is what the counters of all accelerators rose by, at any power that they state', () => {
    const before = read(0, energyMj(0, 7_000), watts(0, 900), energyMj(1, 0), watts(1, 900));
    const after = read(
      10_000,
      energyMj(0, 4_007_000),
      watts(0, 90),
      energyMj(1, 700_000),
      watts(1, 90),
    );
    expect(between(before, after)).toBe(4_700);
  });

  it('the energy is the mean power over the time where no counter is read, or where it began anew', () => {
    expect(between(read(0, watts(0, 100)), read(10_000, watts(0, 300)))).toBe(2_000);
    const reset = [
      read(0, energyMj(0, 9e9), watts(0, 100)),
      read(10_000, energyMj(0, 5), watts(0, 300)),
    ];
    expect(between(reset[0]!, reset[1]!)).toBe(2_000);
  });

  it.each([
    ['gap', read(0, energyMj(0, 0)), read(300_001, energyMj(0, 1e6))],
    ['gap', read(0, watts(0, 100)), read(30_001, watts(0, 100))],
    ['counter_reset', read(0, energyMj(0, 9e9)), read(10_000, energyMj(0, 5))],
    ['accelerators_changed', read(0, watts(0, 100), watts(1, 100)), read(9_000, watts(0, 100))],
    ['accelerators_changed', read(0, watts(0, 100)), read(9_000, watts(0, 100), watts(1, 100))],
    // Joules taken for millijoules, and the other way round.
    ['implausible', read(0, energyMj(0, 0)), read(10_000, energyMj(0, 3_000))],
    ['implausible', read(0, energyMj(0, 0)), read(10_000, energyMj(0, 3e9))],
  ])('the energy between two readings is not known: %s', (why, before, after) => {
    expect(between(before, after)).toBe(why);
  });

  it('a reading that repeats the counter of a device is an old sample and tells nothing new', () => {
    const first = read(0, energyMj(0, 1_000), energyMj(1, 1_000));
    expect(isNewer(first, read(10_000, energyMj(0, 2_000), energyMj(1, 1_000)))).toBe(false);
    expect(isNewer(first, read(10_000, energyMj(0, 2_000), energyMj(1, 2_000)))).toBe(true);
    expect(isNewer(first, read(0, energyMj(0, 2_000), energyMj(1, 2_000)))).toBe(false);
  });

  it('a power that no accelerator draws makes a reading implausible', () => {
    expect(readMeter(METER, watts(0, 400_000), 1)).toBe('implausible');
    expect(readMeter(METER, watts(0, 0.4), 1)).toBe('implausible');
  });
});

const anyRuns = fc.uniqueArray(
  fc.record({
    receiptId: fc.stringMatching(/^rcpt_[0-9A-HJKMNP-TV-Z]{6}$/),
    from: fc.integer({ min: -5_000, max: 70_000 }),
    ms: fc.integer({ min: 0, max: 40_000 }),
    weight: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 1_000_000 })),
  }),
  { selector: ({ receiptId }) => receiptId, maxLength: 20 },
);
/** What befalls a counter at a reading. */
const readings = fc.array(
  fc.record({
    ms: fc.integer({ min: 1_000, max: 20_000 }),
    watts: fc.integer({ min: 20, max: 8_000 }),
    event: fc.constantFrom('none', 'none', 'none', 'restart', 'gap', 'away'),
  }),
  { minLength: 1, maxLength: 12 },
);

describe('attribution', () => {
  it('what is attributed and what is idle is what was metered, over random arrivals, overlaps, restarts, resets and gaps [receipts.metered]', () => {
    let metered = 0;
    let attributed = 0;
    forAll(
      [anyRuns, readings, fc.option(fc.bigInt({ min: 0n, max: 500_000_000n }))],
      { numRuns: RUNS },
      (drawn, steps, idle) => {
        const all = drawn.map(({ ms, ...run }): Run => ({ ...run, to: run.from + ms }));
        let at = 0;
        let counter = 5_000_000;
        let expected = 0n;
        let found = 0n;
        const given = new Map<string, bigint>();
        let before = read(at, energyMj(0, counter));
        for (const { ms, watts: power, event } of steps) {
          at += event === 'gap' ? 400_000 : ms;
          counter += power * ms;
          if (event === 'restart') counter = 1;
          if (event === 'away') continue;
          const after = read(at, energyMj(0, counter));
          const energy = energyBetween(before, after);
          // What is not known has its reason, and everything else is metered.
          const reasons: Readonly<Record<string, readonly unknown[]>> = {
            gap: ['gap'],
            // A counter that stands at its beginning twice has not moved.
            restart: ['counter_reset', 'implausible'],
          };
          const unknown = typeof energy === 'string' ? energy : undefined;
          expect(reasons[event] ?? [undefined]).toContain(unknown);
          if (typeof energy !== 'string') {
            expected +=
              BigInt(Number(after.accelerators['GPU-0']!.energyUj)) -
              BigInt(before.accelerators['GPU-0']!.energyUj!);
            const { idleUj, shares } = attribute(energy, all, idle ?? undefined);
            found += idleUj;
            expect(idleUj).toBeGreaterThanOrEqual(0n);
            const ran = all.filter(
              (run) =>
                run.weight > 0 &&
                run.from < energy.to &&
                Math.max(run.to, run.from + 1) > energy.from,
            );
            // A request that ran has a share, and it is of something unless idling took all.
            expect(shares.map(({ receiptId }) => receiptId)).toEqual(
              ran.map(({ receiptId }) => receiptId).toSorted(),
            );
            const shared = shares.reduce((sum, { energyUj }) => sum + energyUj, 0n);
            expect(shared > 0n).toBe(shares.length > 0 && idleUj < energy.energyUj);
            metered += 1;
            attributed += shared > 0n ? 1 : 0;
            for (const { receiptId, energyUj } of shares) {
              expect(energyUj).toBeGreaterThanOrEqual(0n);
              given.set(receiptId, (given.get(receiptId) ?? 0n) + energyUj);
            }
          }
          before = after;
        }
        for (const share of given.values()) found += share;
        expect(found).toBe(expected);
        for (const { receiptId, weight } of all)
          if (weight === 0) expect(given.has(receiptId)).toBe(false);
      },
    );
    // A property that holds of nothing would hold.
    expect(metered).toBeGreaterThan(RUNS);
    expect(attributed).toBeGreaterThan(RUNS / 5);
  });

  const interval = { from: 0, to: 10_000, energyUj: 1_000_000_000n };
  const run = (id: string, from: number, to: number, weight = 100): Run => ({
    receiptId: id,
    from,
    to,
    weight,
  });
  const shareOf = (result: ReturnType<typeof attribute>, id: string) =>
    Number(result.shares.find(({ receiptId }) => receiptId === id)?.energyUj ?? 0n) / 1e6;

  it('energy is shared by tokens, those of each request spread over its time', () => {
    const result = attribute(
      interval,
      [run('a', 0, 10_000, 300), run('b', 5_000, 15_000, 200)],
      undefined,
    );
    expect([shareOf(result, 'a'), shareOf(result, 'b'), result.idleUj]).toEqual([750, 250, 0n]);
  });

  it('time in which nothing ran is idle, at the power of idling where that is known', () => {
    const alone = [run('a', 0, 2_500)];
    expect(attribute(interval, alone, undefined).idleUj).toBe(750_000_000n);
    // 40 W over 7.5 s.
    expect(attribute(interval, alone, 40_000_000n).idleUj).toBe(300_000_000n);
    expect(attribute(interval, alone, 500_000_000n).idleUj).toBe(interval.energyUj);
    expect(attribute(interval, [], 40_000_000n)).toEqual({ idleUj: interval.energyUj, shares: [] });
  });

  it('an output token weighs four input tokens; what was cached weighs nothing', () => {
    expect(tokenWeight({ input: 100, cached: 40, output: 10 })).toBe(100);
    expect(tokenWeight({ input: 1, cached: 5, output: 0 })).toBe(0);
  });
});
