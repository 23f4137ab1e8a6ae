import { expect } from 'vitest';
import type { ErrorCode } from '#shared/kernel/error-codes.ts';
import { pinnedError } from './pinned-errors.ts';

/** An answer as it was on the wire, read to its end. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
}

const REQUEST_ID = /^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** Sends a request and reads the whole answer. */
export async function ask(url: string, request: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, request);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export interface Expected {
  param?: string | null;
  headers?: Record<string, string>;
}

/** Fails unless the answer is an error as the contract has it: status, all four fields, and every header that goes with the code. */
export function expectRefusal(answer: Answer, code: ErrorCode, expected: Expected = {}): void {
  const { status, type, retry, later = false } = pinnedError(code);
  const { error } = JSON.parse(answer.text) as { error: Record<string, unknown> };
  // Anthropic's envelope has its own type in that place, and ours beside it.
  const { docket_type: ours = error['type'], ...common } = error;
  expect({ status: answer.status, ...common, type: ours }).toEqual({
    status,
    code,
    type,
    message: expect.stringMatching(/^\P{Cc}{10,400}$/u) as string,
    param: expected.param === undefined ? error['param'] : expected.param,
  });
  expectErrorHeaders(answer, { retry, later });
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    expect(answer.headers.get(name), name).toBe(value);
  }
}

function expectErrorHeaders(
  { status, headers, text }: Answer,
  { retry, later }: { retry: boolean; later: boolean },
): void {
  const { error } = JSON.parse(text) as { error: { param: unknown } };
  expect(error.param === null || typeof error.param === 'string').toBe(true);
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(headers.get('x-request-id')).toMatch(REQUEST_ID);
  expect(headers.get('x-should-retry')).toBe(String(retry));
  const waits = headers.has('retry-after');
  expect(headers.has('retry-after-ms')).toBe(waits);
  // Some clients know no x-should-retry, and sleep for as long as they are told.
  if (status !== 429 && !retry) expect(waits).toBe(later);
  if (status === 429 || (status === 503 && retry)) expect(waits).toBe(true);
  if (!waits) return;
  const seconds = Number(headers.get('retry-after'));
  const ms = Number(headers.get('retry-after-ms'));
  expect(Number.isInteger(seconds) && seconds >= 1).toBe(true);
  expect(Number.isInteger(ms) && ms >= 1).toBe(true);
  expect(seconds).toBe(Math.ceil(ms / 1_000));
}
