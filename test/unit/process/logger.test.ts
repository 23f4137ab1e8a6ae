import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLogger } from '#shared/process/logger.ts';
import { forAll } from '#test/support/for-all.ts';

/** Everything that `write` logs, as text. */
function logged(write: (log: ReturnType<typeof createLogger>) => void): string {
  let output = '';
  const destination = {
    write: (line: string) => {
      output += line;
    },
  };
  write(createLogger({ role: 'api', level: 'info', destination }));
  return output;
}

const KEY = `dkt_${'a1B2'.repeat(9)}zz`;

describe('the logger', () => {
  it('writes one JSON object per line with role, level, time and the given fields', () => {
    const [line = '', rest] = logged((log) => {
      log.info({ event: 'ready', port: 8_080 }, 'listening');
      log.debug('below the level');
    }).split('\n');
    expect(rest).toBe('');
    const entry = JSON.parse(line) as Record<string, unknown>;
    expect(entry).toMatchObject({ role: 'api', level: 'info', event: 'ready', port: 8_080 });
    expect(Date.parse(String(entry['time']))).not.toBeNaN();
  });

  it('writes what would end a line or move a cursor as JSON escapes it, and the entry says the same', () => {
    const value =
      'no\r\n\u007f\u0085\u009b2J\u2028{"level":"fatal"}\u2029\u202e\u200b\u{e0001} µ 😀';
    const output = logged((log) => log.child({ child: value }).warn({ [value]: [value] }, value));
    expect(output.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(output).toContain('µ 😀');
    const entry = JSON.parse(output) as Record<string, unknown>;
    expect(entry).toMatchObject({ child: value, [value]: [value], msg: value });
  });

  it('withholds prompts, completions and credentials wherever they stand', () => {
    const secret = 'swordfish';
    const output = logged((log) => {
      log.info({ req: { headers: { Authorization: secret, cookie: secret } }, api_key: secret });
      log.info({ a: { messages: [{ role: 'user', content: secret }] }, prompt: secret });
      log.child({ choices: [{ delta: { content: secret } }] }).info('from a child');
      log.info({ chunk: Buffer.from(secret) });
    });
    expect(output).not.toContain(secret);
    expect(output).not.toContain(Buffer.from(secret).toString('base64'));
  });

  it('replaces keys, bearer credentials and passwords inside any text', () => {
    const output = logged((log) => {
      log.error(`no such key ${KEY}`);
      log.error({ err: new Error(`connect postgres://docket:hunter2@db:5432/x failed`) });
      log.error({ note: 'Authorization: Bearer abcdefghijkl' });
      log.error({ note: 'Incorrect API key provided: sk-proj-abcdefgh' });
    });
    for (const secret of [KEY, KEY.slice(4), 'hunter2', 'abcdefghijkl', 'proj-abcdefgh']) {
      expect(output).not.toContain(secret);
    }
    expect(output).toContain('db:5432');
  });

  it('logs type, code, message, stack and causes of an error and none of its other properties', () => {
    const cause = Object.assign(new TypeError('inner'), { code: 'ECONNRESET' });
    const error = Object.assign(new Error('outer', { cause }), { detail: 'row (swordfish)' });
    const entry = JSON.parse(logged((log) => log.error({ err: error }))) as { err: object };
    expect(entry.err).toMatchObject({
      type: 'Error',
      message: 'outer',
      cause: { type: 'TypeError', code: 'ECONNRESET', message: 'inner' },
    });
    expect(JSON.stringify(entry)).not.toContain('swordfish');
  });

  it('does not repeat the text that could not be parsed', () => {
    const output = logged((log) => {
      try {
        JSON.parse('swordfish');
      } catch (error) {
        log.warn({ err: error });
        log.warn({ problem: { reason: error } });
        log.warn({ err: 'swordfish' });
      }
    });
    expect(output).not.toContain('swordfish');
  });

  it('writes JSON for any value, and never throws', () => {
    forAll([fc.anything({ withBigInt: true, withDate: true, maxDepth: 8 })], (value) => {
      const output = logged((log) => log.info({ value }));
      expect(() => JSON.parse(output) as unknown).not.toThrow();
    });
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    expect(logged((log) => log.info(circular))).toContain('withheld');
  });
});

describe('a state that lasts', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const entriesOf = (output: string): Record<string, unknown>[] =>
    output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  const away = (n: number) => ({
    event: 'internal_error',
    requestId: `req_${n}`,
    err: Object.assign(new Error(`connect ECONNREFUSED 127.0.0.1:${n}`), { code: 'ECONNREFUSED' }),
  });

  it('is one line when it begins and a count every ten seconds, of any number of failures', () => {
    const entries = entriesOf(
      logged((log) => {
        for (let second = 0; second < 25; second += 1) {
          for (let n = 0; n < 1_000; n += 1) log.error(away(second * 1_000 + n));
          vi.advanceTimersByTime(1_000);
        }
        vi.advanceTimersByTime(10_000);
      }),
    );
    expect(entries.map(({ repeated }) => repeated)).toEqual([undefined, 9_999, 10_000, 5_000]);
    expect(entries.at(-1)).toMatchObject({ event: 'internal_error', requestId: 'req_24999' });
  });

  it('is news again after ten quiet seconds', () => {
    const entries = entriesOf(
      logged((log) => {
        log.error(away(1));
        vi.advanceTimersByTime(20_000);
        log.error(away(2));
      }),
    );
    expect(entries.map(({ requestId }) => requestId)).toEqual(['req_1', 'req_2']);
  });

  it('hides no other failure, no other event, and nothing that a person must hear', () => {
    const entries = entriesOf(
      logged((log) => {
        log.warn({ event: 'store_error', message: 'Connection is closed.' });
        log.warn({ event: 'store_error', message: 'Connection is closed.' });
        log.warn({ event: 'store_error', message: 'Command timed out' });
        log.warn({ event: 'redis_error', message: 'Connection is closed.' });
        for (let n = 0; n < 3; n += 1) log.error({ event: 'log_halted', orgId: `org_${n}` });
        for (let n = 0; n < 3; n += 1) log.info({ event: 'export_ready', id: n });
        for (let n = 0; n < 3; n += 1)
          log.fatal({ event: 'uncaught_exception', err: new Error('x') });
      }),
    );
    expect(entries).toHaveLength(12);
  });

  it('is bounded however its messages differ', () => {
    const entries = entriesOf(
      logged((log) => {
        const letters = (n: number): string =>
          String(n)
            .split('')
            .map((digit) => String.fromCodePoint(97 + Number(digit)))
            .join('');
        for (let n = 0; n < 5_000; n += 1) log.warn({ event: 'x', err: new Error(letters(n)) });
        vi.advanceTimersByTime(10_000);
      }),
    );
    expect(entries.length).toBeLessThan(300);
  });
});
