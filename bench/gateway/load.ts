/**
 * One run of load, as a process of its own so that its cost is told apart: every connection has one request under way,
 * and sends the next when it has the answer. Arguments: url key connections seconds.
 */
import { connect } from 'node:net';
import { createHistogram } from 'node:perf_hooks';
import { MessageReader } from './http-messages.ts';

export interface LoadResult {
  total: number;
  perSecond: number;
  /** Milliseconds, as are the others. */
  p50: number;
  p99: number;
  mean: number;
  /** Answers that are not 2xx, and connections that broke. */
  failed: number;
}

const [url = '', key = '', connections = '64', seconds = '5'] = process.argv.slice(2);
const target = new URL(`${url}/chat/completions`);
const prompt = 'Explain what a signed receipt proves and what it does not. '.repeat(17);
const body = JSON.stringify({ model: 'bench', messages: [{ role: 'user', content: prompt }] });
const request = Buffer.from(
  `POST ${target.pathname} HTTP/1.1\r\nhost: ${target.host}\r\nauthorization: Bearer ${key}\r\n` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);

const latencies = createHistogram();
let failed = 0;
let stopping = false;
const startedAt = performance.now();
await Promise.all(Array.from({ length: Number(connections) }, () => keepBusy()));
const tookS = (performance.now() - startedAt) / 1_000;
const result: LoadResult = {
  total: latencies.count,
  perSecond: latencies.count / tookS,
  p50: latencies.percentile(50) / 1_000,
  p99: latencies.percentile(99) / 1_000,
  mean: latencies.mean / 1_000,
  failed,
};
process.send?.(result);
process.disconnect?.();

function keepBusy(): Promise<void> {
  return new Promise((resolve) => {
    let sentAt = 0;
    const socket = connect({
      host: target.hostname,
      port: Number(target.port),
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(65_536),
        callback: (count, bytes) => {
          reader.read(Buffer.from(bytes.buffer, bytes.byteOffset, count));
          return true;
        },
      },
    });
    const send = (): void => {
      sentAt = performance.now();
      socket.write(request);
    };
    const reader = new MessageReader((statusLine) => {
      latencies.record(Math.max(1, Math.round((performance.now() - sentAt) * 1_000)));
      if (!statusLine.startsWith('HTTP/1.1 2')) failed += 1;
      stopping ||= performance.now() - startedAt >= Number(seconds) * 1_000;
      if (stopping) socket.end();
      else send();
    });
    socket.on('connect', send);
    socket.on('error', () => {
      failed += 1;
    });
    socket.on('close', () => resolve());
  });
}
