import { execFileSync, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { Form } from '#api/dashboard/forms.ts';
import { wordsOf } from '#cli/operator.ts';
import { printJson } from '#cli/print.ts';
import { checkContact, checkLabel } from '#shared/accounts/checks.ts';
import { checkRegionNote } from '#shared/catalogue/region-note.ts';
import { plain, printable, reasonOf } from '#shared/kernel/plain-text.ts';
import { PLAN_LIMITS } from '#shared/kernel/plan.ts';
import { grantKey } from '#shared/keys/rules.ts';
import { checkPerson } from '#shared/persons/checks.ts';

describe('text of others in the output of commands', () => {
  it('text of others stays on its line, moves no cursor and turns no direction', () => {
    const spoofed =
      'llama\r\u001b[2K\u001b[1AGOOD  signed\nreason  none \u202edoog\u2066\u200b\u0085\u2028end';
    const shown = plain(spoofed);
    expect(shown).toMatch(/^[\x20-\x7e]*$/);
    expect(shown).toContain('llama\\u{d}\\u{1b}[2K');
    expect(plain('Größe 5 µJ · 東京 😀')).toBe('Größe 5 µJ · 東京 😀');
  });

  it('text of others in JSON is the same to a program, and moves nothing on a terminal', () => {
    const value = { name: 'a\u009b2K\u202e\u2028\u{e0001}\nGOOD\u007f', 'µ 😀': ['\u001b'] };
    let shown = '';
    const written = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      shown += String(text);
      return true;
    });
    printJson(value);
    written.mockRestore();
    expect(JSON.parse(shown)).toEqual(value);
    expect(shown).toContain('µ 😀');
    expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  });

  it('an argument that is refused is quoted as plain text', () => {
    const docket = fileURLToPath(new URL('../../cli/docket.ts', import.meta.url));
    const { stderr } = spawnSync(process.execPath, [docket, 'verify', '--a\r\u001b[2KGOOD']);
    expect(String(stderr)).toContain("'--a\\u{d}\\u{1b}[2KGOOD'");
  });

  it('the reason of a failure stays on one line', () => {
    expect(reasonOf(new Error('one\n two\u001b[31m'))).toBe('one · two\\u{1b}[31m');
  });
});

describe('names that people give', () => {
  const terms = {
    plan: 'audit',
    limits: PLAN_LIMITS.audit,
    grantor: 'person',
    now: 0,
  } as const;
  const email = 'eve@evil.example';
  const NAMED: Readonly<Record<string, (name: string) => unknown>> = {
    key: (name) => grantKey({ name }, terms).name,
    person: (name) => checkPerson({ name, email }).name,
    organisation: (name) => checkLabel(name, 'name'),
    contact: (name) => checkContact({ name, email }, 'billing').name,
    'owner or director': (name) => checkLabel(name, 'parties'),
    'note of a region': checkRegionNote,
    'reason of an operator': (reason) => wordsOf({ reason }).reason,
    'request to support': (ticket) => wordsOf({ ticket }).ticket,
  };

  it.each(Object.keys(NAMED))(
    '%s: what is given ends no line, turns no direction and hides nothing',
    (of) => {
      const check = NAMED[of]!;
      for (const kept of ['Größe 5 µJ', '東京 😀', 'می\u200cخواهم', 'שלום עולם'])
        expect(check(kept)).toBe(kept);
      const turning = '\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069';
      // One line is made of a note, with any line breaks in it.
      const breaking = of === 'note of a region' ? '' : '\n\r\u2028\u2029';
      const unseen = '\u00ad\u200b\u2060\u{e0041}';
      const half = '\ud800';
      for (const character of `\u0000\u0007\u007f\u0085\u009b${breaking}${turning}${unseen}${half}`) {
        expect(() => check(`a${character}b`), plain(character)).toThrow('printable characters');
      }
    },
  );

  it('an e-mail address holds none of it either', () => {
    for (const character of '\u0007\u202e\u200b\ud800') {
      const odd = `a${character}b`;
      const address = `${odd}@example.org`;
      expect(() => checkPerson({ name: 'Ada', email: address }), plain(character)).toThrow();
      expect(() => checkContact({ name: 'Ada', email: address }, 'billing')).toThrow();
    }
  });

  it('what a person says about an act is one line, and no character of it is cut in half', () => {
    const form = new Form(
      new URLSearchParams({ said: 'one\r\ntwo \u001b[2J\u202eeerht', cut: 'aa😀' }),
    );
    expect(form.note('said')).toBe('one  two  [2J eerht');
    expect(form.note('cut', 3)).toBe('aa');
  });

  it('are what is left of what an issuer says, or a browser', () => {
    expect(printable('\u2067Eve\u2028ready\u0007\u202e ')).toBe('Eve ready');
    expect(printable('\u202e\n')).toBe('');
  });
});

describe('text of others in the output of verify.py', () => {
  it('a spoofed verdict in a pack stays text on the line that quotes it', () => {
    const script = fileURLToPath(new URL('../../shared/packs/files/', import.meta.url));
    const shown = execFileSync('python3', [
      '-c',
      `import sys; sys.path.insert(0, ${JSON.stringify(script)}); import verify; print(verify.plain('BAD  x\\nGOOD  9 receipts\\x1b[2K\\u202e\\u2028µ'))`,
    ]).toString();
    expect(shown).toBe('BAD  x\\u{a}GOOD  9 receipts\\u{1b}[2K\\u{202e}\\u{2028}µ\n');
  });
});
