import type { AddressInfo } from 'node:net';
import OpenAI from 'openai';
import { createSandbox, type SandboxOptions } from '#embedded/sandbox/server.ts';

export interface RunningSandbox extends AsyncDisposable {
  url: string;
  client: OpenAI;
  stats: (query?: string) => Promise<{
    reached?: boolean;
    started: number;
    finished: number;
    aborted: number;
    faulted: number;
    in_flight: number;
    models: Record<string, { started: number }>;
    calls: { id: string | null; state: string; frames: number; status: number | null }[];
  }>;
}

/** A sandbox on a free port, with a client that never retries on its own. */
export async function runSandbox(options: Partial<SandboxOptions> = {}): Promise<RunningSandbox> {
  const server = createSandbox({ tokensPerSecond: 0, ...options });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    client: new OpenAI({ baseURL: `${url}/v1`, apiKey: options.apiKey ?? 'none', maxRetries: 0 }),
    stats: async (query = '') => (await fetch(`${url}/sandbox/stats${query}`)).json() as never,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export const QUESTION = [{ role: 'user' as const, content: 'Tell me about the lighthouse.' }];
