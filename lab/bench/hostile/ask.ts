import { Agent, request } from 'undici';
import type { Sent } from './attacks.ts';

/** A caller with an address of this machine, and with as many connections as it likes. */
export const callerAt = (address: string): Agent => new Agent({ localAddress: address });

/** The status of an answer that was read whole; 0 when there was none. */
export async function ask(
  origin: string,
  { method, path, headers, body }: Sent,
  dispatcher: Agent,
): Promise<number> {
  try {
    // Forms are taken from pages of the service alone.
    const sent = { method, headers: { origin, ...headers }, body: body ?? null, dispatcher };
    const answer = await request(origin + path, sent);
    await answer.body.dump({ limit: Infinity });
    return answer.statusCode;
  } catch {
    return 0;
  }
}
