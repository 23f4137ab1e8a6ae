import type { IncomingMessage, ServerResponse } from 'node:http';
import { atFileEnd } from './file-end.ts';
import { LocalServer } from './local-server.ts';

/** A message as its receiver had it. */
interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
}

type Answer = (response: ServerResponse, received: Received) => void;

/** A receiver of webhooks on this machine, which says 204 until it is told otherwise. */
class WebhookReceiver extends LocalServer {
  readonly received: Received[] = [];
  answer: Answer = (response) => response.writeHead(204).end();

  protected serve(request: IncomingMessage, response: ServerResponse): void {
    void (async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const headers = request.headers as Record<string, string>;
      const received = { path: request.url ?? '', headers, body };
      this.received.push(received);
      this.answer(response, received);
    })().catch(() => response.destroy());
  }

  /** Those that were received since, which are forgotten. */
  take(): Received[] {
    return this.received.splice(0);
  }
}

export async function startWebhookReceiver(): Promise<{
  receiver: WebhookReceiver;
  origin: string;
}> {
  const receiver = new WebhookReceiver();
  const origin = await receiver.listen();
  atFileEnd(() => receiver.close());
  return { receiver, origin };
}
