import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { NotingUpstream } from './noting-upstream.ts';

/** The answer to the next call. */
export interface NativeAnswer {
  /** `anthropic/text.sse`: an exchange as the provider's documentation shows it; without an ending the one that is asked for. */
  fixture: string;
  /** What is changed in it. */
  edit?: (text: string) => string;
  status?: number;
  headers?: Record<string, string>;
  /** Bytes written at a time; all at once when absent. */
  drip?: number;
  /** Frames after which nothing more comes, and the connection stays open. */
  stallAfter?: number;
}

/** A server that answers as Anthropic's Messages and Google's Gemini interfaces do. */
export class NativeUpstream extends NotingUpstream {
  answer: NativeAnswer = { fixture: 'anthropic/text.json' };

  protected override answerTo(body: { stream?: unknown }, response: ServerResponse): void {
    const {
      fixture: name,
      edit = (text) => text,
      status = 200,
      headers = {},
      drip,
      stallAfter,
    } = this.answer;
    const asked = body.stream === true ? 'sse' : 'json';
    const fixture = name.includes('.') ? name : `${name}.${asked}`;
    const path = join(import.meta.dirname, '../fixtures', fixture);
    const bytes = Buffer.from(edit(readFileSync(path, 'utf8')));
    const type = fixture.endsWith('.sse') ? 'text/event-stream' : 'application/json';
    response.writeHead(status, { 'content-type': type, ...headers });
    if (stallAfter !== undefined) {
      const frames = bytes.toString().split('\n\n').slice(0, stallAfter);
      response.write(`${frames.join('\n\n')}\n\n`);
      return;
    }
    const size = drip ?? bytes.length;
    for (let i = 0; i < bytes.length; i += size) response.write(bytes.subarray(i, i + size));
    response.end();
  }
}
