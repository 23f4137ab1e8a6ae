import { describe, expect, it } from 'vitest';
import {
  CODES,
  codeOfParameter,
  codeRow,
  countedCode,
  type DocumentedCode,
  STABLE_CODES,
} from '#shared/kernel/error-codes.ts';
import { errorHeaders } from '#api/plugins/error-envelope.ts';
import { PINNED_ERRORS, pinnedError } from '#test/support/pinned-errors.ts';
import { Fault, fillIn } from '#shared/kernel/errors.ts';

const DOCUMENTED = Object.keys(CODES) as DocumentedCode[];

describe('the table of error codes', () => {
  it.each(DOCUMENTED)('has a sentence to show for %s, with nothing left to fill in', (code) => {
    const { message, sample = {}, example, when } = codeRow(code);
    expect(example === undefined).toBe(message !== undefined);
    expect(example ?? fillIn(message!, sample)).toMatch(/^[^{}\n]{10,400}\.$/);
    expect(when).toMatch(/\.$/);
  });

  it('has for every code the status, the type and the advice that are pinned', () => {
    for (const code of DOCUMENTED) {
      const { status, type, retry } = codeRow(code);
      const { later: _when, ...pinned } = pinnedError(code);
      expect({ code, status, type, retry }).toEqual({ code, ...pinned });
    }
    expect(Object.keys(PINNED_ERRORS).filter((code) => !Object.hasOwn(CODES, code))).toEqual([]);
  });

  it.each(DOCUMENTED)(
    'sends Retry-After with %s only where a retry helps or it is there later, and with every 429',
    (code) => {
      const { status, retry, retryAfterMs } = codeRow(code);
      const { later = false } = pinnedError(code);
      if (status === 429 || later) expect(retryAfterMs).toBeGreaterThan(0);
      else if (!retry) expect(retryAfterMs).toBeUndefined();
      else if (status === 503) expect(retryAfterMs).toBeGreaterThan(0);
      const { 'retry-after': waitS, 'x-should-retry': advice } = errorHeaders(
        new Fault(code, { message: 'Said where it happened.', retryAfterMs: 1_500 }),
      );
      expect(waitS).toBe(status === 429 || retry || later ? '2' : undefined);
      expect(advice).toBe(String(retry));
    },
  );

  it('gives a stable code its own type and status, and a pattern those of the pattern', () => {
    expect(STABLE_CODES).toContain('invalid_api_key');
    expect(codeRow('invalid_api_key')).toMatchObject({ type: 'auth_error', status: 401 });
    expect(codeRow('invalid_top_k')).toMatchObject({ type: 'validation_error', status: 400 });
    expect(codeRow('constructor_not_found')).toMatchObject({ status: 404, retry: false });
  });

  it('a parameter that callers name is a 400 with a code of parameters, also where its name means another refusal', () => {
    expect(codeRow(codeOfParameter('a_not_found'))).toMatchObject({
      status: 400,
      type: 'validation_error',
    });
    for (const name of ['api_key', 'content_type', 'content_encoding'])
      expect(codeOfParameter(name)).toBe('invalid_request');
    expect(codeOfParameter('limit')).toBe('invalid_limit');
  });

  it('is all that metrics count by, however callers name their parameters', () => {
    for (const name of ['x1', 'a_not_found', '__proto__', 'toString', 'temperaturee'])
      expect(countedCode(codeOfParameter(name))).toBe('invalid_other');
    for (const code of DOCUMENTED) expect(countedCode(code)).toBe(code);
    expect(countedCode('review_not_found')).toBe('review_not_found');
  });
});

describe('a fault', () => {
  it('says what the row of its code says', () => {
    const { message, param, type, status } = new Fault('export_not_ready');
    expect({ message, param, type, status }).toEqual({
      message: 'The pack is still being made.',
      param: 'id',
      type: 'validation_error',
      status: 409,
    });
    expect(new Fault('region_degraded', { message: 'Not here.' }).retryAfterMs).toBe(10_000);
  });

  it('says what the place that refuses knows better', () => {
    const details = { message: 'Not now.', param: 'name', retryAfterMs: 9 };
    expect(new Fault('export_not_ready', details)).toMatchObject(details);
  });

  it('fills values in as they are, with anything in them', () => {
    const values = { state: '{act}', wanted: '$&', act: 'x' };
    expect(new Fault('key_state_conflict', { values }).message).toBe(
      'The key is {act}; only a key that is $& can be x.',
    );
  });

  it('names the resource that was not found', () => {
    expect(new Fault('consistency_proof_not_found')).toMatchObject({
      message: 'No such consistency proof.',
      param: null,
    });
    expect(new Fault('halted_log_not_found').message).toBe('No such halted log.');
  });
});
