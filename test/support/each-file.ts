/** Run by Vitest before each file of the projects whose files share processes. */
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { afterAll, expect } from 'vitest';
import { endFile } from './file-end.ts';
import { openHandles, settledHandles } from './handles.ts';

const before = openHandles();

// The first hook that is told is the last that runs: those of the file have run before it.
afterAll(async () => {
  await endFile();
  // Connections that `fetch` keeps for another request would be open for some seconds.
  await getGlobalDispatcher().destroy();
  setGlobalDispatcher(new Agent());
  const left = await settledHandles(before);
  if (left.length > 0) throw new Error(`The file left open: ${left.join(', ')}`);
});

// TEMP
import { appendFileSync, readFileSync } from 'node:fs';
function cpu(): number {
  const f = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]!.split(' ');
  return (Number(f[11]) + Number(f[12]) + Number(f[13]) + Number(f[14])) / 100;
}
const c0 = cpu();
const t0 = Date.now();
afterAll(() => {
  if (process.env['DOCKET_COSTS'])
    appendFileSync(
      process.env['DOCKET_COSTS'],
      JSON.stringify([expect.getState().testPath, +(cpu() - c0).toFixed(2), Date.now() - t0]) +
        '\n',
    );
});
