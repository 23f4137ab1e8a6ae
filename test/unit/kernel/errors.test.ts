import { describe, expect, it } from 'vitest';
import { CODES, codeRow, type DocumentedCode, STABLE_CODES } from '#shared/kernel/error-codes.ts';
import { Fault, fillIn } from '#shared/kernel/errors.ts';

const DOCUMENTED = Object.keys(CODES) as DocumentedCode[];

describe('the table of error codes', () => {
  it.each(DOCUMENTED)('has a sentence to show for %s, with nothing left to fill in', (code) => {
    const { message, sample = {}, example, when } = codeRow(code);
    expect(example === undefined).toBe(message !== undefined);
    expect(example ?? fillIn(message!, sample)).toMatch(/^[^{}\n]{10,400}\.$/);
    expect(when).toMatch(/\.$/);
  });

  it('gives a stable code its own type and status, and a pattern those of the pattern', () => {
    expect(STABLE_CODES).toContain('invalid_api_key');
    expect(codeRow('invalid_api_key')).toMatchObject({ type: 'auth_error', status: 401 });
    expect(codeRow('invalid_top_k')).toMatchObject({ type: 'validation_error', status: 400 });
    expect(codeRow('constructor_not_found')).toMatchObject({ status: 404, retry: false });
  });
});

describe('a fault', () => {
  it('says what the row of its code says', () => {
    const { message, param, retryAfterMs, type, status } = new Fault('export_not_ready');
    expect({ message, param, retryAfterMs, type, status }).toEqual({
      message: 'The pack is still being made.',
      param: 'id',
      retryAfterMs: 2_000,
      type: 'validation_error',
      status: 409,
    });
  });

  it('says what the place that refuses knows better', () => {
    const details = { message: 'Not now.', param: 'name', retryAfterMs: 9 };
    expect(new Fault('export_not_ready', details)).toMatchObject(details);
  });

  it('fills values in as they are, whatever they contain', () => {
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
