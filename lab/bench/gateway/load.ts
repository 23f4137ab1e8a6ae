/**
 * One run of load, as a process of its own so that its cost is told apart: every connection has one request under way,
 * and sends the next when it has the answer. Its argument is a LoadOrder in JSON; what it found goes to its parent.
 */
import { connect } from 'node:net';
import { createHistogram, performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { MessageReader } from './http-messages.ts';
import { nowUs, PACE_MS, StampReader, TOKENS } from './paced-tokens.ts';

export interface LoadOrder {
  url: string;
  headers: Readonly<Record<string, string>>;
  connections: number;
  /** Streams in place of whole answers. */
  streamed: boolean;
  seconds: number;
}

export interface LoadResult {
  /** Answers, or tokens of streams. */
  total: number;
  perSecond: number;
  /** Milliseconds until the whole answer; of streams those of a token, from the upstream's writing it to its arrival. */
  p50: number;
  p99: number;
  /** Milliseconds from a stream's request to its first token. */
  firstP50: number;
  firstP99: number;
  /** Answers that are not 2xx, streams without their end, connections that broke. */
  failed: number;
  /** Tokens of streams that did not come, or not in their order. */
  lost: number;
  /** The part of the time in which this program was busy: near 1 it measures itself. */
  busy: number;
}

/** After its time, an answer under way is waited for this long. */
const GRACE_MS = 10_000;
/** Streams begin one after the other over the time that one takes, so that their tokens do not come in step. */
const STREAM_MS = TOKENS * PACE_MS;

const order = JSON.parse(process.argv[2]!) as LoadOrder;
const target = new URL(`${order.url}/chat/completions`);
const prompt = 'Explain what a signed receipt proves and what it does not. '.repeat(17);
const body = JSON.stringify({
  model: 'bench',
  messages: [{ role: 'user', content: prompt }],
  ...(order.streamed ? { stream: true } : {}),
});
const headers = Object.entries(order.headers).map(([name, value]) => `${name}: ${value}\r\n`);
const request = Buffer.from(
  `POST ${target.pathname} HTTP/1.1\r\nhost: ${target.host}\r\n${headers.join('')}` +
    `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
);

const latencies = createHistogram();
const firsts = createHistogram();
const counts = { answers: 0, tokens: 0, failed: 0, lost: 0 };
const begunUs = nowUs();
const endUs = begunUs + order.seconds * 1e6;
/** While streams are still being begun, there are fewer than asked for. */
const steadyUs = order.streamed ? begunUs + STREAM_MS * 1_000 : begunUs;
const idle = performance.eventLoopUtilization();
await Promise.all(
  Array.from({ length: order.connections }, async (_, i) => {
    if (order.streamed) await sleep((STREAM_MS * i) / order.connections);
    await keepBusy();
  }),
);
const tookS = (nowUs() - begunUs) / 1e6;
const total = order.streamed ? counts.tokens : counts.answers;
const result: LoadResult = {
  total,
  perSecond: total / tookS,
  p50: latencies.percentile(50) / 1_000,
  p99: latencies.percentile(99) / 1_000,
  firstP50: firsts.percentile(50) / 1_000,
  firstP99: firsts.percentile(99) / 1_000,
  failed: counts.failed,
  lost: counts.lost,
  busy: performance.eventLoopUtilization(idle).utilization,
};
process.send?.(result, () => process.exit());

function note(histogram: typeof latencies, sinceUs: number, atUs: number): void {
  if (atUs >= steadyUs && atUs <= endUs) histogram.record(Math.max(1, atUs - sinceUs));
}

function keepBusy(): Promise<void> {
  return new Promise((resolve) => {
    let sentUs = 0;
    let awaited = 0;
    let underWay = false;
    const stamps = new StampReader((number, writtenUs) => {
      const atUs = nowUs();
      counts.tokens += 1;
      if (number === 0) note(firsts, sentUs, atUs);
      counts.lost += Math.abs(number - awaited);
      awaited = number + 1;
      note(latencies, writtenUs, atUs);
    });
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
      sentUs = nowUs();
      awaited = 0;
      underWay = true;
      socket.write(request);
    };
    const end = (statusLine: string): void => {
      const atUs = nowUs();
      underWay = false;
      counts.answers += 1;
      if (order.streamed) counts.lost += TOKENS - awaited;
      const whole = !order.streamed || stamps.end();
      if (!statusLine.startsWith('HTTP/1.1 2') || !whole) counts.failed += 1;
      if (!order.streamed) note(latencies, sentUs, atUs);
      if (atUs >= endUs) socket.end();
      else send();
    };
    const reader = new MessageReader({
      ...(order.streamed ? { onBody: (piece: Buffer) => stamps.read(piece) } : {}),
      onEnd: end,
    });
    const late = setTimeout(() => socket.destroy(), (endUs - nowUs()) / 1_000 + GRACE_MS);
    socket.on('connect', send);
    socket.on('error', () => {
      counts.failed += 1;
      underWay = false;
    });
    socket.on('close', () => {
      clearTimeout(late);
      if (underWay) counts.failed += 1;
      resolve();
    });
  });
}
