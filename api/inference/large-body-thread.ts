import { parentPort, workerData } from 'node:worker_threads';
import { Fault } from '#shared/kernel/errors.ts';
import { wireFault } from '#shared/lanes/messages.ts';
import { collector, giveWay } from '#shared/process/thread.ts';
import { ReaderHere } from './body-reader.ts';
import type { ParsedBody } from './read.ts';
import { threadDeps } from './thread-deps.ts';
import { type Answer, ownBytes, type Question, type ThreadTerms } from './thread-messages.ts';

const BYTE_ORDER_MARK_BEGINS = 0xef;

const terms = workerData as ThreadTerms;
const deps = threadDeps(terms);
let reader = new ReaderHere(deps);
let bytesRead = 0;

giveWay();
const collectGarbage = collector();

parentPort?.on('message', (question: Question) => {
  if (question.ask === 'forget') {
    reader = new ReaderHere(deps);
    collectGarbage(bytesRead);
    bytesRead = 0;
  } else void reply(question);
});

async function reply(question: Exclude<Question, { ask: 'forget' }>): Promise<void> {
  let answer: Answer;
  let transfer: ArrayBuffer[] = [];
  try {
    if (question.ask === 'read') answer = { value: read(question.request) };
    else if (question.ask === 'countPrompt')
      answer = { value: await reader.countPrompt(question.model) };
    else if (question.ask === 'inputItems') {
      bytesRead = question.turns.reduce((sum, { length }) => sum + length, 0);
      answer = { value: reader.inputItems(question.turns, question.page) };
    } else if (question.ask === 'goOn') {
      answer = { value: reader.goOn(question.before) };
      bytesRead = reader.body.rawBody.length;
    } else {
      const { verdict, texts, forUpstream, ownInput } = await reader.readPrompt(
        question.model,
        question,
      );
      const bytes = bytesForUpstream(reader.body, forUpstream);
      const judged = terms.isModerated ? texts : [];
      answer = { value: { verdict, texts: judged, forUpstream: bytes, ownInput } };
      transfer = [bytes.buffer];
    }
  } catch (error) {
    answer = error instanceof Fault ? { fault: wireFault(error) } : { error: String(error) };
  }
  parentPort?.postMessage(answer, transfer);
}

function read(request: Extract<Question, { ask: 'read' }>['request']) {
  bytesRead = request.rawBody.length;
  return reader.read({ ...request, rawBody: Buffer.from(request.rawBody.buffer) });
}

/** The bytes as they came, where nothing was taken out. */
function bytesForUpstream(
  { text, rawBody }: ParsedBody,
  forUpstream: string | Uint8Array,
): Uint8Array<ArrayBuffer> {
  if (forUpstream === text && rawBody[0] !== BYTE_ORDER_MARK_BEGINS) return ownBytes(rawBody);
  return ownBytes(Buffer.from(forUpstream as string));
}
