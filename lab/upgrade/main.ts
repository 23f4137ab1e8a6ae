import { readArguments, refuseArguments } from '#lab/support/arguments.ts';
import { untilStopped } from '#lab/support/until-stopped.ts';
import { commitOf, oldestCommit } from './build.ts';
import { runUpgrade } from './run-upgrade.ts';

const REQUESTS = 5_000;
const SEED = 1;

const USAGE = `npm run upgrade -- [--from COMMIT] [--requests N]

Upgrades a deployment from COMMIT to this tree and back, one process after another in the order of docs/operations.md, while
clients call it: whole and streamed, with keys and without, and again with keys they had. Every answer is compared with every receipt. Exit code 0: no
call failed, and no receipt is lost, doubled or of another answer; 1: something is; 2: wrong arguments; 130: stopped.

  --from COMMIT   what is upgraded; the oldest that docs/compatibility.md names when absent
  --requests N    at least so many calls, spread over the steps; ${REQUESTS} when absent
  --help          this text
`;

const { values } = readArguments(USAGE, {
  options: { from: { type: 'string' }, requests: { type: 'string', default: String(REQUESTS) } },
});
const requests = Number(values.requests);
if (!Number.isSafeInteger(requests) || requests < 1)
  refuseArguments('--requests is a whole number above zero.', USAGE);
const named = values.from ?? oldestCommit();
if (named === undefined)
  refuseArguments('docs/compatibility.md names no commit: say --from.', USAGE);
const from = commitOf(named);
if (from === undefined) refuseArguments(`This repository has no commit ${named}.`, USAGE);

const beginAt = performance.now();
const say = (line: string): void => {
  const at = ((performance.now() - beginAt) / 1_000).toFixed(1).padStart(6);
  process.stdout.write(`${at}  ${line}\n`);
};
const { signal, stopped } = untilStopped();
try {
  const { examples, ...figures } = await runUpgrade({ from, requests, seed: SEED, say, stopped });
  for (const example of examples) say(example);
  for (const [name, value] of Object.entries(figures)) say(`${name.padEnd(12)}${value}`);
  process.exitCode = figures.good ? 0 : 1;
} catch (error) {
  if (!signal.aborted) say(`BROKEN: ${(error as Error).message}`);
  process.exitCode = signal.aborted ? 130 : 1;
}
// What was given up goes on.
process.exit();
