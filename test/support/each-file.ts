/** Run by Vitest before each file of the projects whose files share processes. */
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { afterAll } from 'vitest';
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
