import { createConnection, type Socket } from 'node:net';
import { type MessagePort, workerData } from 'node:worker_threads';
import { wholeAnswer } from '../agent-messages.ts';

/** What the thread is told when it begins. */
export interface AgentThreadData {
  /** Of the agent's Unix socket. */
  path: string;
  port: MessagePort;
  /** One number, which rises with each answer: the process waits for that. */
  answers: Int32Array<SharedArrayBuffer>;
}

/** A message for the agent. */
export interface AgentQuestion {
  id: number;
  request: Uint8Array;
}
/** Its answer without its length, or why there is none. */
export type AgentAnswer = { id: number } & ({ answer: Uint8Array } | { error: string });

const { path, port, answers } = workerData as AgentThreadData;
let socket: Socket | undefined;
/** The question that the agent has. A process that waits asks one at a time. */
let asked: number | undefined;
let received: Buffer = Buffer.alloc(0);

port.on('message', ({ id, request }: AgentQuestion) => {
  // The answer to a question that was given up would be taken for that to this one.
  if (asked !== undefined) drop();
  asked = id;
  socket ??= connect();
  socket.write(request);
});

function connect(): Socket {
  const connection = createConnection(path);
  received = Buffer.alloc(0);
  connection.on('data', (data: Buffer) => {
    if (socket !== connection) return;
    received = Buffer.concat([received, data]);
    try {
      const answer = wholeAnswer(received);
      if (answer === undefined) return;
      received = Buffer.alloc(0);
      reply({ answer: Uint8Array.from(answer) });
    } catch (error) {
      fail(error as Error);
    }
  });
  const fail = (error: Error): void => {
    if (socket !== connection) return;
    drop();
    reply({ error: error.message });
  };
  connection.on('error', fail);
  connection.on('close', () => fail(new Error('the agent has closed the connection')));
  return connection;
}

function drop(): void {
  const dropped = socket;
  socket = undefined;
  dropped?.destroy();
}

function reply(what: { answer: Uint8Array } | { error: string }): void {
  if (asked === undefined) return;
  const id = asked;
  asked = undefined;
  port.postMessage({ id, ...what } satisfies AgentAnswer);
  Atomics.add(answers, 0, 1);
  Atomics.notify(answers, 0);
}
