import type { Marks } from './secrets.ts';

/** The cookies that a request brought, each as `name=value`. */
function cookiesOf(header: string | undefined): readonly string[] {
  return header?.split(';').map((cookie) => cookie.trim()) ?? [];
}

/** What the first cookie holds that this describes: the first group of a pattern for `name=value`. */
export function readCookie(header: string | undefined, pattern: RegExp): string | undefined {
  for (const cookie of cookiesOf(header)) {
    const value = pattern.exec(cookie)?.[1];
    if (value !== undefined) return value;
  }
  return undefined;
}

interface OwnCookie {
  name: string;
  /** Empty to have it forgotten. */
  value: string;
  path: string;
  sameSite: 'Lax' | 'Strict';
  /** Until the browser is closed when absent. */
  maxAgeS?: number;
}

/** A line of Set-Cookie. No script reads the cookie, and where the service has TLS it goes nowhere without it. */
export function cookieLine(publicUrl: string, cookie: OwnCookie): string {
  const { name, value, path, sameSite, maxAgeS } = cookie;
  const parts = [`${name}=${value}`, `Path=${path}`];
  if (maxAgeS !== undefined) parts.push(`Max-Age=${value === '' ? 0 : maxAgeS}`);
  parts.push('HttpOnly', `SameSite=${sameSite}`);
  if (publicUrl.startsWith('https:')) parts.push('Secure');
  return parts.join('; ');
}

/** The cookie that opens a session. */
export const SESSION_COOKIE = 'session_token';

/** Describes the one cookie in this name: where the service has TLS, one that nothing without it can have set. */
export function ownCookie(publicUrl: string, name: string): { name: string; pattern: RegExp } {
  const whole = `${publicUrl.startsWith('https:') ? '__Secure-' : ''}docket.${name}`;
  return { name: whole, pattern: new RegExp(`^${whole.replace('.', '\\.')}=(.+)`) };
}

/** A cookie of the dashboard that holds a random token, and beside it a mark that shows who made it. */
export function tokenCookie(publicUrl: string, short: string, maxAgeS: number, marks: Marks) {
  const { name, pattern } = ownCookie(publicUrl, short);
  const lineOf = (value: string): string =>
    cookieLine(publicUrl, { name, value, path: '/dashboard', sameSite: 'Lax', maxAgeS });
  return {
    /** The token of the cookie that a request brought; undefined for none, and for one that was made up. */
    read(header: string | undefined): string | undefined {
      const [token = '', mark = '', ...more] = (readCookie(header, pattern) ?? '').split('.', 3);
      return more.length === 0 && marks.isOf(`${short} ${token}`, mark) ? token : undefined;
    },
    set: (token: string): string => lineOf(`${token}.${marks.of(`${short} ${token}`)}`),
    forget: (): string => lineOf(''),
  };
}
