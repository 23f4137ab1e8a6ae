import type { IncomingMessage, ServerResponse } from 'node:http';
import { LocalServer } from './local-server.ts';

/** What an upstream was asked. */
export interface NotedRequest {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: Record<string, unknown>;
}

/** A model server that notes what it is asked, and who leaves before the answer is whole. */
export abstract class NotingUpstream extends LocalServer {
  readonly requests: NotedRequest[] = [];
  /** Calls whose caller closed the connection before the answer was whole. */
  aborted = 0;
  /** What it answers to who asks for its models. */
  list = { status: 200, text: '{"data":[]}' };

  protected override serve(request: IncomingMessage, response: ServerResponse): void {
    void read(request).then((body) => {
      this.requests.push({ path: request.url ?? '', headers: request.headers, body });
      if (request.method === 'GET') return this.#listTo(response);
      response.on('close', () => (this.aborted += response.writableFinished ? 0 : 1));
      return this.answerTo(body, response);
    });
  }

  #listTo(response: ServerResponse): void {
    response
      .writeHead(this.list.status, { 'content-type': 'application/json' })
      .end(this.list.text);
  }

  /** Writes the answer to a POST. */
  protected abstract answerTo(body: NotedRequest['body'], response: ServerResponse): void;

  get last(): NotedRequest {
    return this.requests.at(-1)!;
  }
}

async function read(request: IncomingMessage): Promise<NotedRequest['body']> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text === '' ? {} : (JSON.parse(text) as NotedRequest['body']);
}
