import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An HTTP server on a free port of this machine. */
export abstract class LocalServer {
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => this.serve(request, response));
  }

  protected abstract serve(request: IncomingMessage, response: ServerResponse): void;

  /** Returns the origin. */
  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
