import { parentPort } from 'node:worker_threads';
import { collector, giveWay } from '#shared/process/thread.ts';
import { createTokenCounter } from '#shared/screening/files/token-counter.ts';
import { BODY_WORK } from './body-work.ts';
import type { Answer, Question, ThreadWork } from './large-bodies.ts';
import { countUsed } from './usage.ts';

const tokens = createTokenCounter();
const work: ThreadWork = {
  ...BODY_WORK,
  countUsed: (asked, ...rest) => countUsed(tokens, asked, ...rest),
};

giveWay();
const collectGarbage = collector();
/** Counting takes turns, so that more than one body may be in hand. */
let inHand = 0;
let bytesRead = 0;

parentPort?.on('message', (question: Question) => {
  inHand += 1;
  bytesRead += question.given[0].body.length;
  void reply(question).finally(() => {
    inHand -= 1;
    if (inHand > 0) return;
    collectGarbage(bytesRead);
    bytesRead = 0;
  });
});

async function reply({ id, name, given }: Question): Promise<void> {
  let answer: Answer;
  try {
    const perform = work[name] as (...args: unknown[]) => unknown;
    answer = { id, value: await perform(...given) };
  } catch (error) {
    answer = { id, error: String(error) };
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
  parentPort?.postMessage(answer);
}
