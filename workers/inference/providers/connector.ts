import { buildConnector } from 'undici';
import { PATIENCE } from '#patience';

const CONNECT_TIMEOUT_MS = 5_000 * PATIENCE;

/**
 * Connects as undici does, and has it take a reset for the failure that it is: under an answer that ends with its connection
 * undici takes `ECONNRESET` for the end, and half an answer for a whole one. The error keeps its code as its cause.
 */
export function connector(): buildConnector.connector {
  const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS });
  return (options, callback) =>
    connect(options, (...made) => {
      const [, socket] = made;
      // Undici listens from the callback on, and so hears of an error after this.
      socket?.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ECONNRESET') return;
        error.cause = Object.assign(new Error(error.message), { code: error.code });
        error.code = 'UND_ERR_SOCKET';
      });
      callback(...made);
    });
}
