import type { Environment } from '#shared/config/config.ts';

/** What an api process is told whose pages are signed in to: its sessions are for an address without TLS. */
export const PAGES_ENV: Environment = {
  SESSION_SECRET: 'a secret of this test, and of no other place',
  WEBHOOKS_SECRET: 'another secret of this test, and of no other place',
  PUBLIC_URL: 'http://127.0.0.1',
};
