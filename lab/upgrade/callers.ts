/**
 * A process that calls the gateway as clients with the usual libraries do, whole and streamed, with keys and without, until
 * it is told to end. What each call came to is then in a file.
 */
import { writeFile } from 'node:fs/promises';
import { setInterval } from 'node:timers';
import { type Attempt, Load, sendOne } from '#lab/storms/load.ts';
import { Random } from '#lab/support/random.ts';

/** That call at the same time: enough that each process has requests in hand when it is replaced. */
const CLIENTS = 12;
/** Calls whose keys are used again when it is asked for: some of all answers so far. */
const REPEATED = 100;
const TELL_MS = 100;

const [baseUrl, apiKey, file, seed] = process.argv.slice(2) as [string, string, string, string];
const target = { baseUrl, apiKey };
const load = new Load(target, {
  name: 'upgrade',
  random: new Random(Number(seed)),
  clients: CLIENTS,
});
const repeated: Attempt[] = [];

/** Sends calls again with their keys, all over what was called so far: each gets the answer and the receipt that it had. */
async function repeat(): Promise<void> {
  const keyed = load.attempts.filter((one) => one.idempotencyKey !== null);
  const every = Math.max(1, Math.floor(keyed.length / REPEATED));
  for (const one of keyed.filter((_, at) => at % every === 0)) {
    const { attempt } = await sendOne(target, one);
    const isSame = attempt.receiptId === one.receiptId;
    repeated.push(isSame ? attempt : { ...attempt, ending: 'error', reason: 'another receipt' });
  }
}

async function end(): Promise<void> {
  await load.stop();
  clearInterval(telling);
  await writeFile(file, JSON.stringify([...load.attempts, ...repeated]));
  process.disconnect!();
}

const telling = setInterval(() => process.send?.(load.attempts.length), TELL_MS);
process.on('message', (word) => {
  if (word === 'end') void end();
  else void repeat().then(() => process.send?.('repeated'));
});
