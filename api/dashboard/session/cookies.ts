/** The cookies that a request brought, each as `name=value`. */
export function cookiesOf(header: string | undefined): readonly string[] {
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
