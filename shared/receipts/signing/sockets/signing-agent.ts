import { PATIENCE } from '#patience';
import { verify } from 'node:crypto';
import {
  MessageChannel,
  type MessagePort,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads';
import { publicKeyFromRaw } from '#shared/kernel/primitives/node.ts';
import { holdsKey, identitiesRequest, signatureIn, signRequest } from '../agent-messages.ts';
import { SigningKeyProblem } from '../problem.ts';
import type { AgentAnswer, AgentQuestion, AgentThreadData } from './agent-thread.ts';

/** An agent on the same machine signs in a fraction of a millisecond; one with a device behind it in tens. */
const ANSWER_MS = 1_000 * PATIENCE;
/** So many times longer than the process waited it does not ask an agent that hangs: it has more to do, and says that it lives. */
const REST_OF_ANSWERS = 4;

/** The agent of a process, where its configuration names one. */
export function signingAgentOf({
  signingAgent,
}: {
  signingAgent?: string | undefined;
}): SigningAgent | undefined {
  return signingAgent === undefined ? undefined : new SigningAgent(signingAgent);
}

/**
 * Has an SSH agent sign: the keys are its own, or of a device behind it, and no process of the product can read them.
 * Synchronous, as signatures by keys of one's own are: a thread talks to the agent, and the process waits for it.
 */
export class SigningAgent {
  readonly #path: string;
  readonly #answerMs: number;
  readonly #answers = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #port: MessagePort | undefined;
  #thread: Worker | undefined;
  #asked = 0;
  /** Until when nothing is asked. */
  #restsUntil = 0;

  /** @param path of its Unix socket */
  constructor(path: string, answerMs: number = ANSWER_MS) {
    this.#path = path;
    this.#answerMs = answerMs;
  }

  /**
   * Signs with the key whose public half this is (32 bytes).
   * @throws SigningKeyProblem `agent_away`, `agent_refused`
   */
  sign(publicKey: Uint8Array, data: Uint8Array): Uint8Array {
    const signature = signatureIn(this.#ask(signRequest(publicKey, data)));
    // What is wrong once in the ledger stays there.
    if (signature && verify(null, data, publicKeyFromRaw(publicKey), signature)) return signature;
    throw this.#refused(publicKey);
  }

  /** @throws SigningKeyProblem as `sign` does, without a signature */
  demand(publicKey: Uint8Array): void {
    if (!this.holds(publicKey)) throw this.#refused(publicKey);
  }

  /** Whether it has the key. @throws SigningKeyProblem `agent_away` */
  holds(publicKey: Uint8Array): boolean {
    return holdsKey(this.#ask(identitiesRequest()), publicKey);
  }

  /** Ends the thread. The next signature begins another. */
  async close(): Promise<void> {
    const thread = this.#thread;
    this.#port?.close();
    this.#thread = undefined;
    this.#port = undefined;
    await thread?.terminate();
  }

  #ask(request: Uint8Array): Uint8Array {
    if (performance.now() < this.#restsUntil) throw this.#away('it does not answer in time');
    this.#port ??= this.#begin();
    this.#asked += 1;
    const id = this.#asked;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- threads have no origin
    this.#port.postMessage({ id, request } satisfies AgentQuestion);
    const until = performance.now() + this.#answerMs;
    for (;;) {
      const known = Atomics.load(this.#answers, 0);
      const got: { message: AgentAnswer } | undefined = receiveMessageOnPort(this.#port);
      if (got === undefined) {
        const leftMs = until - performance.now();
        if (leftMs <= 0 || Atomics.wait(this.#answers, 0, known, leftMs) === 'timed-out') {
          this.#restsUntil = performance.now() + REST_OF_ANSWERS * this.#answerMs;
          throw this.#away('it does not answer in time');
        }
      } else if (got.message.id === id) {
        if ('answer' in got.message) return got.message.answer;
        throw this.#away(got.message.error);
      }
    }
  }

  #begin(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    const thread = new Worker(new URL('agent-thread.ts', import.meta.url), {
      workerData: {
        path: this.#path,
        port: port2,
        answers: this.#answers,
      } satisfies AgentThreadData,
      transferList: [port2],
    });
    // A process that has nothing else to do may end.
    thread.unref();
    port1.unref();
    const lose = (): void => {
      if (this.#thread !== thread) return;
      this.#thread = undefined;
      this.#port = undefined;
    };
    thread.on('error', lose);
    thread.on('exit', lose);
    this.#thread = thread;
    return port1;
  }

  #refused(publicKey: Uint8Array): SigningKeyProblem {
    return new SigningKeyProblem(
      'agent_refused',
      `The signing agent at ${this.#path} does not sign with ${Buffer.from(publicKey).toString('base64')}. Does \`ssh-add -L\` show this key there?`,
    );
  }

  #away(why: string): SigningKeyProblem {
    return new SigningKeyProblem(
      'agent_away',
      `The signing agent at ${this.#path} is away: ${why}. It is an SSH agent that holds the signing keys (SIGNING_AGENT).`,
    );
  }
}
