/** What every file of tests begins with: how much is drawn, and by which seed. */
import fc from 'fast-check';
import { runs, SEED } from './depth.ts';

/** As many values as fast-check takes by itself. */
const RUNS = 100;
fc.configureGlobal({ seed: SEED, numRuns: runs(RUNS) });
