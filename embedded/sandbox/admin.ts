import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CallState } from './calls.ts';
import { parseFault } from './faults.ts';
import { BadRequest } from './input.ts';
import type { Sandbox } from './server.ts';

const STATES: readonly string[] = ['running', 'finished', 'aborted', 'faulted'];
/** A test that waits longer has failed. */
const WAIT_MS_MAX = 60_000;
const WAIT_MS_DEFAULT = 5_000;

interface AdminCall {
  path: string;
  searchParams: URLSearchParams;
  sandbox: Sandbox;
  readBody: (request: IncomingMessage) => Promise<string>;
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

/**
 * `GET /sandbox/stats?id&limit&wait&timeout_ms` what was called; `wait` is a state that a call of `id`
 * must reach first · `DELETE /sandbox/stats` forget it · `PUT /sandbox/fault` (text or JSON) the fault
 * of every call that names none · `DELETE /sandbox/fault` none again.
 */
export async function answerAdmin(
  request: IncomingMessage,
  response: ServerResponse,
  { path, searchParams, sandbox, readBody }: AdminCall,
): Promise<void> {
  switch (`${request.method} ${path}`) {
    case 'GET /sandbox/stats': {
      const id = searchParams.get('id') ?? undefined;
      const limit = Number(searchParams.get('limit') ?? 100);
      const wait = searchParams.get('wait');
      let reached: boolean | undefined;
      if (wait !== null) {
        if (id === undefined || !STATES.includes(wait)) {
          throw new BadRequest(
            'wait names a state (running, finished, aborted, faulted) and needs an id.',
            'wait',
          );
        }
        const timeoutMs = Number(searchParams.get('timeout_ms') ?? WAIT_MS_DEFAULT);
        reached = await sandbox.book.reached(
          id,
          wait as CallState,
          Math.min(timeoutMs, WAIT_MS_MAX),
        );
      }
      const stats = sandbox.book.stats({ limit, ...(id === undefined ? {} : { id }) });
      return sendJson(response, 200, reached === undefined ? stats : { reached, ...stats });
    }
    case 'DELETE /sandbox/stats':
      sandbox.book.reset();
      return sendJson(response, 200, { reset: true });
    case 'PUT /sandbox/fault':
      sandbox.standingFault = parseFault(await readBody(request));
      return sendJson(response, 200, { fault: sandbox.standingFault });
    case 'DELETE /sandbox/fault':
      sandbox.standingFault = {};
      return sendJson(response, 200, { fault: {} });
    default:
      return sendJson(response, 404, {
        error: { message: `There is no ${request.method} ${path}.` },
      });
  }
}
