import { expect, it } from 'vitest';
import { cookieLine, readCookie } from '#api/dashboard/session/cookies.ts';

const VISIT = /^visit=([\w-]{4})$/;

// A browser sends what other programs of the same host have set too.
it('reads the first cookie of a form, wherever it stands, and none whose name or value only ends or begins alike', () => {
  expect(readCookie('a=1; visit=abcd; b=2', VISIT)).toBe('abcd');
  expect(readCookie('visit=abcd', VISIT)).toBe('abcd');
  expect(readCookie('visit=abcde; visit=efgh; visit=ijkl', VISIT)).toBe('efgh');
  for (const header of ['my_visit=abcd', 'visit=abcde', 'a=visit=abcd', 'visit=', '', undefined]) {
    expect(readCookie(header, VISIT), header).toBe(undefined);
  }
});

it('keeps a cookie from scripts, from other sites, and from connections without TLS where there is TLS', () => {
  const cookie = { name: 'a', value: 'b', path: '/p', sameSite: 'Lax', maxAgeS: 60 } as const;
  const line = 'a=b; Path=/p; Max-Age=60; HttpOnly; SameSite=Lax';
  expect(cookieLine('http://localhost:8080', cookie)).toBe(line);
  expect(cookieLine('https://docket.example', cookie)).toBe(`${line}; Secure`);
  expect(cookieLine('http://localhost:8080', { ...cookie, value: '' })).toBe(
    'a=; Path=/p; Max-Age=0; HttpOnly; SameSite=Lax',
  );
});
