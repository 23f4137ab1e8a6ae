import type { IncomingHttpHeaders } from 'node:http';
import { codeRow } from '#shared/kernel/error-codes.ts';
import type { Fault } from '#shared/kernel/errors.ts';

/**
 * Programs that sleep for as long as a 429 says, until midnight, without a word; by a header that they alone send, with the
 * status at which they end when the type beside it is that of OpenAI's plans. Codex reads the type beside 429 alone. opencode
 * waits after any 429, and after any answer that has `rate_limit` in it.
 */
const AGENTS = [
  { header: 'originator', name: /^codex[ _-]/i, status: 429, readsReset: true },
  { header: 'user-agent', name: /^opencode\//, status: 402, readsReset: false },
] as const;
const USED_UP = 'usage_limit_reached';

/** Members of a refusal that are others for such a program. */
interface ToldAtOnce {
  status: number;
  type: typeof USED_UP;
  /** Seconds since 1970. */
  resets_at?: number;
}

/** How an agent is told of a limit that no wait of a few seconds helps, so that it shows it; undefined for others. */
export function toldAtOnce(
  { code, type, retryAfterMs }: Fault,
  headers: IncomingHttpHeaders,
  now: number,
): ToldAtOnce | undefined {
  if (type !== 'rate_limit_error' || codeRow(code).retry) return undefined;
  const agent = AGENTS.find(({ header, name }) => name.test(String(headers[header] ?? '')));
  if (agent === undefined) return undefined;
  const { status, readsReset } = agent;
  const told = { status, type: USED_UP } as const;
  // A budget's period ends when its message says so, and the wait is shorter.
  if (!readsReset || code !== 'daily_budget_exceeded' || retryAfterMs === undefined) return told;
  return { ...told, resets_at: Math.round((now + retryAfterMs) / 1_000) };
}
