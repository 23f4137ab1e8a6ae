import { expect, it } from 'vitest';
import { tokenCookie } from '#api/dashboard/session/cookies.ts';
import { Flash } from '#api/dashboard/session/flash.ts';
import {
  createFormTokens,
  createMarks,
  type SessionSecrets,
} from '#api/dashboard/session/secrets.ts';

const [OURS, ANOTHER] = ['a secret of this test', 'another secret'];

it('what is sealed opens for its subject and with its SESSION_SECRET alone [dashboard.second-factor]', () => {
  const sealed = new Flash([OURS]).seal('one person', 'the key of an app');
  expect(sealed).not.toContain('key');
  expect(new Flash([OURS]).open('one person', sealed)).toBe('the key of an app');
  expect(new Flash([OURS]).open('another person', sealed)).toBe(null);
  expect(new Flash([ANOTHER]).open('one person', sealed)).toBe(null);
});

it('what an older secret marked and sealed counts, and what is made anew is by the newer one [dashboard.session]', () => {
  const both: SessionSecrets = [ANOTHER, OURS];
  const old = createMarks('cookies', [OURS]).of('a token');
  expect(createMarks('cookies', both).isOf('a token', old)).toBe(true);
  expect(createMarks('cookies', both).isOf('another token', old)).toBe(false);
  expect(createMarks('cookies', both).of('a token')).toBe(
    createMarks('cookies', [ANOTHER]).of('a token'),
  );
  const sealed = new Flash([OURS]).seal('one person', 'the key of an app');
  expect(new Flash(both).open('one person', sealed)).toBe('the key of an app');
  const renewed = new Flash(both).renewed('one person', sealed, 'the key of an app');
  expect(new Flash([ANOTHER]).open('one person', renewed)).toBe('the key of an app');
  expect(new Flash(both).renewed('one person', renewed, 'the key of an app')).toBe(renewed);
});

it('a mark is made with the secret, for one use and one text [dashboard.forms]', () => {
  const marks = createMarks('forms', [OURS]);
  const mark = marks.of('a subject');
  expect(marks.isOf('a subject', mark)).toBe(true);
  const others = [createMarks('forms', [ANOTHER]), createMarks('cookies', [OURS])];
  for (const other of others) expect(other.isOf('a subject', mark)).toBe(false);
  for (const made of ['', mark.slice(1), `${mark}=`]) {
    expect(marks.isOf('a subject', made)).toBe(false);
  }
  expect(marks.isOf('another subject', mark)).toBe(false);
});

it('each page has a token of its own for its forms; all count for their subject, by an older secret too, and for no other [dashboard.forms, dashboard.compressed]', () => {
  const tokens = createFormTokens([OURS]);
  const [one, two] = [tokens.of('session 1'), tokens.of('session 1')];
  // In no place they are alike for longer than chance has it.
  const other = Buffer.from(two);
  const alike = Buffer.from(one).filter((byte, at) => byte === other[at]).length;
  expect(alike).toBeLessThan(one.length / 3);
  const renewed = createFormTokens([ANOTHER, OURS]);
  for (const token of [one, two]) {
    expect(tokens.isOf('session 1', token)).toBe(true);
    expect(renewed.isOf('session 1', token)).toBe(true);
    expect(tokens.isOf('session 2', token)).toBe(false);
    expect(createFormTokens([ANOTHER]).isOf('session 1', token)).toBe(false);
  }
  const bare = createMarks('forms', [OURS]).of('session 1');
  for (const made of ['', bare, one.slice(1), `${one}=`, one.slice(0, 22) + two.slice(22)]) {
    expect(tokens.isOf('session 1', made), made).toBe(false);
  }
});

it('a cookie is read in its own name, with the mark of its token, in the spelling that it was set in [dashboard.session]', () => {
  const of = (name: string, secret = OURS, url = 'https://docket.example') =>
    tokenCookie(url, name, 60, createMarks('cookies', [secret]));
  const line = of('session_token').set('tok-en');
  expect(line).toMatch(
    /^__Secure-docket\.session_token=tok-en\.[\w-]{43}; Path=\/dashboard; Max-Age=60; HttpOnly; SameSite=Lax; Secure$/,
  );
  const [cookie = ''] = line.split(';');
  expect(of('session_token').read(`a=b; ${cookie}`)).toBe('tok-en');
  expect(of('session_token', ANOTHER).read(cookie)).toBe(undefined);
  expect(of('session_token', OURS, 'http://localhost').read(cookie)).toBe(undefined);
  const renamed = cookie.replace('session_token', 'two_factor');
  expect(of('two_factor').read(renamed)).toBe(undefined);
  for (const made of [`${cookie}=`, `${cookie}.x`, cookie.replace('tok', 'Tok'), 'x; y', '']) {
    expect(of('session_token').read(made), made).toBe(undefined);
  }
  expect(of('session_token').forget()).toContain('session_token=; Path=/dashboard; Max-Age=0');
});
