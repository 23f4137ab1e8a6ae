import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { sendFault } from '#api/plugins/reply-with-error.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { HOUR_MS } from '#shared/kernel/time.ts';

const CODEX = { originator: 'codex_exec' };
const OPENCODE = { 'user-agent': 'opencode/1.18.33 ai-sdk/openai-compatible' };
const DAY = new Fault('daily_budget_exceeded', { retryAfterMs: HOUR_MS });
const BUDGET = new Fault('budget_exceeded', { message: 'Used up.' });
const RATE = new Fault('requests_per_second_exceeded');
const OF_PLANS = { type: 'usage_limit_reached' };
const OURS = { type: 'rate_limit_error' };

it.each([
  ['Codex', CODEX, '/v1/responses', DAY, 429, OF_PLANS],
  ['Codex', CODEX, '/v1/responses', BUDGET, 429, OF_PLANS],
  ['opencode', OPENCODE, '/v1/chat/completions', DAY, 402, OF_PLANS],
  ['Codex in a terminal', { originator: 'codex-tui' }, '/v1/responses', BUDGET, 429, OF_PLANS],
  ['Codex with a window', { originator: 'Codex Desktop' }, '/v1/responses', DAY, 429, OF_PLANS],
  ['what is like Codex', { originator: 'codexa' }, '/v1/responses', DAY, 429, OURS],
  ['Codex, of a second', CODEX, '/v1/responses', RATE, 429, OURS],
  ['opencode, of a second', OPENCODE, '/v1/chat/completions', RATE, 429, OURS],
  ['messages', OPENCODE, '/v1/messages', DAY, 429, { docket_type: 'rate_limit_error' }],
  ['another', { 'user-agent': 'my-opencode/1' }, '/v1/responses', DAY, 429, OURS],
] as const)(
  'a limit that is used up is told in words that end its waiting to an agent that names itself, and to none else: %s',
  async (_, headers, url, fault, status, error) => {
    const app = Fastify();
    app.post(url, (_request, reply) => sendFault(reply, fault));
    const answer = await app.inject({ method: 'POST', url, headers });
    const { code, message } = fault;
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ error: { code, message, param: null, ...error } });
    expect(answer.headers).toHaveProperty('retry-after');
    const { resets_at: resetsAt } = answer.json().error;
    const isOfPlans = error === OF_PLANS && status === 429;
    if (!isOfPlans || fault !== DAY) expect(resetsAt).toBeUndefined();
    else expect(new Date(resetsAt * 1_000).getTime()).toBeGreaterThan(Date.now());
    // opencode asks again where one of these stands in the body.
    if (status === 402) expect(answer.body).not.toMatch(/429|50[0234]|rate.limit|try again/i);
  },
);
