/** What every file of tests begins with: how much is drawn, by which seed, and how much of a failure is told. */
import fc from 'fast-check';
import { afterEach } from 'vitest';
import { runs, SEED } from './depth.ts';

/** As many values as fast-check takes by itself. */
const RUNS = 100;
fc.configureGlobal({ seed: SEED, numRuns: runs(RUNS) });

/** What was expected, what was found and the frames of the stack fit; of a prompt that fills a body only its ends are told. */
const TOLD_MAX = 4_000;

afterEach(({ task }) => task.result?.errors?.forEach(cut));

function cut(error: object): void {
  for (const [name, value] of Object.entries(error)) {
    if (typeof value === 'object' && value !== null) cut(value);
    if (typeof value !== 'string' || value.length <= TOLD_MAX) continue;
    const end = TOLD_MAX / 2;
    const gap = `\n… ${value.length - TOLD_MAX} further characters …\n`;
    Object.assign(error, { [name]: `${value.slice(0, end)}${gap}${value.slice(-end)}` });
  }
}
