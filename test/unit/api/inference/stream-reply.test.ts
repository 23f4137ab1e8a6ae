import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StreamReply } from '#api/inference/stream-reply.ts';
import { Fault } from '#shared/kernel/errors.ts';

/** The parts of a response that a stream uses, with what was written. */
class Socket extends EventEmitter {
  written: string[] = [];
  head: [number, Record<string, string>] | undefined;
  ended = false;
  destroyed = false;
  writableLength = 0;
  writeHead(status: number, headers: Record<string, string>): void {
    this.head = [status, headers];
  }
  write(text: string): void {
    this.written.push(text);
  }
  end(text: string): void {
    this.written.push(text);
    this.ended = true;
    this.emit('close');
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function open() {
  const socket = new Socket();
  const refused: string[] = [];
  let gone = 0;
  const stream = new StreamReply({
    response: socket as unknown as ServerResponse,
    headers: () => ({ 'x-region': 'eu' }),
    degraded: () => '{"tier":"degraded"}',
    refuse: (fault) => refused.push(fault.code),
    onDone: () => {},
    onGone: () => (gone += 1),
    onSettled: () => {},
  });
  return { socket, stream, refused, gone: () => gone };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('failure case 30: a chunk', () => {
  it('is on the socket before anything else can happen: no timer, no next turn', () => {
    const { socket, stream } = open();
    stream.frames('data: {"a":1}\n\n');
    expect(socket.written).toEqual(['data: {"a":1}\n\n']);
    stream.frames('data: {"a":2}\n\n');
    expect(socket.written).toHaveLength(2);
  });
});

describe('failure case 7: silence', () => {
  it(
    'of 15 s commits the status and is filled with comments, until the end',
    { tags: ['clients.silence'] },
    () => {
      const { socket, stream } = open();
      vi.advanceTimersByTime(14_999);
      expect(socket.head).toBeUndefined();
      vi.advanceTimersByTime(1);
      expect(socket.head?.[0]).toBe(200);
      expect(socket.written).toEqual([': keepalive\n\n']);
      vi.advanceTimersByTime(60_000);
      expect(socket.written).toHaveLength(5);
      stream.done('{"id":"x"}', '{"signed":true}');
      expect(socket.written.at(-1)).toBe(
        'data: {"id":"x","receipt":{"signed":true}}\n\ndata: [DONE]\n\n',
      );
      vi.advanceTimersByTime(60_000);
      expect(socket.written).toHaveLength(6);
    },
  );

  it('is counted from the last frame', () => {
    const { socket, stream } = open();
    for (let i = 0; i < 6; i += 1) {
      stream.frames('data: {}\n\n');
      vi.advanceTimersByTime(10_000);
    }
    expect(socket.written.filter((text) => text.startsWith(':'))).toEqual([]);
  });
});

describe('a failure', () => {
  const FAULT = new Fault('upstream_error', 'broke');

  it('before the first byte is an ordinary error answer', () => {
    const { socket, stream, refused } = open();
    stream.failed(FAULT);
    expect(refused).toEqual(['upstream_error']);
    expect(socket.written).toEqual([]);
  });

  it('after it is an error frame without [DONE]', () => {
    const { socket, stream } = open();
    stream.frames('data: {}\n\n');
    stream.failed(FAULT);
    expect(socket.ended).toBe(true);
    expect(socket.written.at(-1)).toMatch(
      /^data: \{"error":\{.*"code":"upstream_error".*\}\}\n\n$/,
    );
  });
});

describe('a reader', () => {
  it('that is too far behind is cut off, and counts as gone', () => {
    const { socket, stream, gone } = open();
    socket.writableLength = 9 * 1024 * 1024;
    stream.frames('data: {}\n\n');
    expect(socket.destroyed).toBe(true);
    expect(gone()).toBe(1);
    stream.frames('data: {}\n\n');
    expect(socket.written).toHaveLength(1);
  });
});
