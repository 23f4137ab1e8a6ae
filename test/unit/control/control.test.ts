import { describe, expect, it } from 'vitest';
import { nextTurn } from '#shared/kernel/turns.ts';
import { type Machine, measuredOn } from '#test/support/control.ts';

const SLACK_MS = 1_000;

/** A machine whose timers and echoes are as late as is said, by a clock that goes on with them alone. */
function machine({ timerMs = 0, echoMs = 0 }) {
  const said: string[] = [];
  let now = 0;
  const after = async (ms: number): Promise<void> => {
    await nextTurn();
    now += ms;
  };
  const made: Machine = {
    now: () => now,
    pause: (ms) => after(ms + timerMs),
    echo: () => after(echoMs),
    say: (sentence) => said.push(sentence),
  };
  return { made, said };
}

/** Windows that take so long, one after the other. */
async function measureOn(one: ReturnType<typeof machine>, ...tookMs: number[]) {
  let windows = 0;
  const found = await measuredOn(
    one.made,
    SLACK_MS,
    async () => {
      await nextTurn();
      return tookMs[windows++]!;
    },
    (ms) => ms < SLACK_MS,
  );
  return { found, windows };
}

describe('the control beside what is measured in seconds', () => {
  it('a window that is not kept while the machine is on time is not measured again', async () => {
    const onTime = machine({ timerMs: 50, echoMs: 50 });
    expect(await measureOn(onTime, 2_000, 500)).toEqual({ found: 2_000, windows: 1 });
    expect(onTime.said).toEqual([]);
  });

  it.each([
    ['a timer', { timerMs: 101 }],
    ['an echo', { echoMs: 101 }],
  ])('a window that is not kept while %s is late is measured again, and told', async (_, by) => {
    const late = machine(by);
    expect(await measureOn(late, 2_000, 500)).toEqual({ found: 500, windows: 2 });
    expect(late.said).toEqual([
      'A window was not kept while this machine was 101 ms late, more than 100 ms; it is measured again, 1 of at most 3 times.',
    ]);
  });

  it('a window that is never kept is measured again three times, and what was found last is returned', async () => {
    const late = machine({ echoMs: 500 });
    expect(await measureOn(late, 2_000, 3_000, 4_000, 5_000, 500)).toEqual({
      found: 5_000,
      windows: 4,
    });
    expect(late.said).toHaveLength(3);
  });

  it('a window that is kept is not measured again, however late the machine is', async () => {
    const late = machine({ timerMs: 5_000 });
    expect(await measureOn(late, 999, 500)).toEqual({ found: 999, windows: 1 });
  });

  it('a window that fails otherwise is not measured again', async () => {
    const late = machine({ timerMs: 5_000 });
    let windows = 0;
    const measure = async (): Promise<number> => {
      windows += 1;
      await nextTurn();
      throw new Error('refused');
    };
    await expect(measuredOn(late.made, SLACK_MS, measure, () => true)).rejects.toThrow('refused');
    expect(windows).toBe(1);
  });
});
