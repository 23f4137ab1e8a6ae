import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { compareClocks } from '#cli/doctor/clock.ts';
import { eachLine } from '#embedded/each-line.ts';
import { Backoff } from '#embedded/launcher/backoff.ts';
import { Output } from '#embedded/launcher/output.ts';
import { parseProcfile, readProcfile } from '#embedded/launcher/roles.ts';
import { welcome } from '#embedded/launcher/up.ts';
import { ROLES } from '#shared/config/settings.ts';

describe('the Procfile', () => {
  it('has a release and every role that the settings know', () => {
    const roles = readProcfile(new URL('../../../', import.meta.url)).map(({ role }) => role);
    expect(roles.toSorted()).toEqual(['release', ...ROLES].toSorted());
  });

  it('is refused with the number of the wrong line', () => {
    expect(() => parseProcfile('api: node a.ts\nledger: python b.py')).toThrow('Procfile:2');
    expect(() => parseProcfile('api: node a.ts\n\napi: node b.ts')).toThrow('Procfile:3');
    expect(parseProcfile('# nothing\n\n')).toEqual([]);
  });
});

describe('the wait before a restart', () => {
  it('doubles to a bound, and starts over after a healthy life', () => {
    const backoff = new Backoff();
    const waits = Array.from({ length: 8 }, () => backoff.next(10));
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(backoff.next(60_000)).toBe(250);
  });
});

describe('the launcher’s output', () => {
  function shown(line: string): string {
    let text = '';
    const output = new Output({ write: (part) => (text += part), colour: false });
    output.line('api', line);
    return text;
  }

  it('shows log lines as level, message and fields, behind the name of the process', () => {
    const line = '{"level":"warn","time":"x","role":"api","pid":1,"msg":"slow","event":"e","ms":3}';
    expect(shown(line)).toBe('api             │ warn slow  event=e ms=3\n');
  });

  it('shows an error by its message, and its stack where the line is an error', () => {
    const err = { message: 'gone', stack: 'at a\nat b' };
    expect(shown(JSON.stringify({ level: 'warn', event: 'e', err }))).toMatch(/err=gone\n$/);
    expect(shown(JSON.stringify({ level: 'error', event: 'e', err })).split('\n')).toHaveLength(4);
  });

  it('passes on lines that are not JSON, without control characters', () => {
    expect(shown('plain \u001b[2J{text}')).toBe('api             │ plain {text}\n');
    expect(shown('{broken')).toContain('{broken');
    expect(shown('\tat x\r\b\u0085\u2028end')).toBe(
      'api             │     at x\\u{d}\\u{8}\\u{85}\\u{2028}end\n',
    );
  });

  it('shows a value on the line that quotes it, and a stack indented: neither looks like a line of a process', () => {
    const forged = 'no\r\nfatal forged\u2028\u0085\u009b2J\b\u202e';
    const err = { message: forged, stack: `Error: ${forged}\n    at a` };
    const line = { level: 'error', msg: forged, [forged]: forged, list: [forged], err };
    const [first = '', ...others] = shown(JSON.stringify(line)).trimEnd().split('\n');
    const prefix = 'api             │ ';
    expect(first).toMatch(/^api +│ error no\\u\{d\}\\u\{a\}fatal forged/);
    expect(others).toHaveLength(3);
    for (const other of others) expect(other.slice(0, prefix.length + 4)).toBe(`${prefix}    `);
    expect([first, ...others].join('')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it('ends lines of a process at a line feed alone, in any pieces', async () => {
    const bytes = Buffer.from('one\u2028{"level":"fatal"}\u2029\rstill one\n\ntwo µ\nthe rest');
    for (const size of [1, 3, 7, bytes.length]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
        bytes.subarray(i * size, (i + 1) * size),
      );
      const lines: string[] = [];
      const stream = Readable.from(pieces, { objectMode: false });
      const ended = new Promise((resolve) => stream.once('end', resolve));
      eachLine(stream, (line) => lines.push(line));
      await ended;
      expect(lines).toEqual([
        'one\u2028{"level":"fatal"}\u2029\rstill one',
        '',
        'two µ',
        'the rest',
      ]);
    }
  });
});

describe('the launcher’s welcome', () => {
  it('has a curl line whose body is JSON, and says where to sign in', () => {
    const owner = { email: 'owner@h', password: 'phrase' };
    const info = {
      base_url: 'http://h/v1',
      dashboard_url: 'http://h/dashboard',
      api_key: 'k',
      owner,
    };
    const text = welcome(
      { info: info as never, chatModel: 'm', inactive: [], providers: [], dataDir: '/data' },
      1234,
    );
    expect(text).toContain('after 1.2 s');
    expect(text).toContain('http://h/docs\n');
    expect(text).toMatch(
      /http:\/\/h\/dashboard\n\s+owner@h\s+phrase\s+\(owner\)\n\s+those of an operator and two reviewers are in \/data\/dev\.json\n/,
    );
    expect(JSON.parse(/-d '(.*)'/.exec(text)?.[1] ?? '')).toMatchObject({ model: 'm' });
  });

  it('names this machine for browsers, since passkeys take no number, and by its number for programs', () => {
    const origin = 'http://127.0.0.1:8080';
    const info = { base_url: `${origin}/v1`, dashboard_url: `${origin}/dashboard`, owner: {} };
    const text = welcome(
      { info: info as never, chatModel: 'm', inactive: [], providers: [], dataDir: '/data' },
      1,
    );
    expect(text).toContain('dashboard   http://localhost:8080/dashboard\n');
    expect(text).toContain('reference   http://localhost:8080/docs\n');
    expect(text).toContain('base URL    http://127.0.0.1:8080/v1\n');
  });
});

describe('the doctor on clocks', () => {
  it('takes the time of the answer into account', () => {
    expect(compareClocks('Redis', 1_500, 1_000, 2_000).verdict).toBe('ok');
    expect(compareClocks('Redis', 5_000, 1_000, 2_000).verdict).toBe('warning');
    expect(compareClocks('Redis', 0, 20_000, 20_001).verdict).toBe('problem');
  });
});
