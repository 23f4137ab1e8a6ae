import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

/** The answer to the next call. */
export interface NativeAnswer {
  /** `anthropic/text.sse`: an exchange as the provider's documentation shows it. */
  fixture: string;
  status?: number;
  headers?: Record<string, string>;
  /** Bytes written at a time; all at once when absent. */
  drip?: number;
  /** Frames after which nothing more comes, and the connection stays open. */
  stallAfter?: number;
}

export interface NativeRequest {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: Record<string, unknown>;
}

/** A server that answers as Anthropic's Messages and Google's Gemini interfaces do. */
export class NativeUpstream {
  readonly requests: NativeRequest[] = [];
  /** Calls whose caller closed the connection before the answer was whole. */
  aborted = 0;
  answer: NativeAnswer = { fixture: 'anthropic/text.json' };
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      void read(request).then((body) => {
        this.requests.push({ path: request.url ?? '', headers: request.headers, body });
        if (request.method === 'GET') return void response.writeHead(200).end('{}');
        const { fixture, status = 200, headers = {}, drip, stallAfter } = this.answer;
        const bytes = readFileSync(join(import.meta.dirname, '../fixtures', fixture));
        const type = fixture.endsWith('.sse') ? 'text/event-stream' : 'application/json';
        response.writeHead(status, { 'content-type': type, ...headers });
        response.on('close', () => (this.aborted += response.writableFinished ? 0 : 1));
        if (stallAfter !== undefined) {
          const frames = bytes.toString().split('\n\n').slice(0, stallAfter);
          return void response.write(`${frames.join('\n\n')}\n\n`);
        }
        const size = drip ?? bytes.length;
        for (let i = 0; i < bytes.length; i += size) response.write(bytes.subarray(i, i + size));
        return void response.end();
      });
    });
  }

  /** Returns the origin. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  get last(): NativeRequest {
    return this.requests.at(-1)!;
  }
}

async function read(request: IncomingMessage): Promise<Record<string, unknown>> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
}
