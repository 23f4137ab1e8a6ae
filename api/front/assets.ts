import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FastifyInstance } from 'fastify';

const read = (...names: string[]): string =>
  names
    .map((name) => readFileSync(new URL(`../dashboard/style/${name}`, import.meta.url), 'utf8'))
    .join('');

/** What browsers load beside a page, by address; all of it is ours. */
const FILES = {
  css: { path: '/assets/style.css', type: 'text/css', text: read('tokens.css', 'dashboard.css') },
  script: {
    path: '/assets/page.js',
    type: 'text/javascript',
    text: read('copy.js', 'passkey.js', 'search.js', 'proof.js', 'chart.js'),
  },
  /** The picture of the page's tab. */
  icon: { path: '/assets/mark.svg', type: 'image/svg+xml', text: read('mark.svg') },
  playground: {
    path: '/assets/playground.js',
    type: 'text/javascript',
    text: read('playground.js'),
  },
  /** Of an answer, for the playground and for the console of /docs. */
  receipt: { path: '/assets/receipt.js', type: 'text/javascript', text: read('receipt.js') },
  verify: { path: '/assets/verify.js', type: 'text/javascript', text: read('verify.js') },
  /** Its address stays: a browser asks for it again by itself. */
  offline: { path: '/assets/offline.js', type: 'text/javascript', text: read('offline.js') },
} as const;

const versioned = ({ path, text }: { path: string; text: string }): string =>
  `${path}?v=${hash('sha256', text).slice(0, 10)}`;

/** The stylesheet and the script of the pages, with addresses that change when they do. */
export const ASSETS = {
  addresses: {
    css: versioned(FILES.css),
    icon: versioned(FILES.icon),
    script: versioned(FILES.script),
  },
  verify: versioned(FILES.verify),
  playground: versioned(FILES.playground),
  receipt: versioned(FILES.receipt),
};

const PUBLIC = { config: { scope: 'public', asksNoStore: true }, schema: { hide: true } } as const;
const HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
};
/** It may answer for /verify, which is not below its own address. */
const OFFLINE_HEADERS = { 'cache-control': 'no-cache', 'service-worker-allowed': '/verify' };

/** Serves them, with and without a dashboard. */
export function serveAssets(app: FastifyInstance): void {
  for (const { path, type, text } of Object.values(FILES)) {
    app.get(path, PUBLIC, (_request, reply) =>
      reply
        .headers(path === FILES.offline.path ? { ...HEADERS, ...OFFLINE_HEADERS } : HEADERS)
        .type(`${type}; charset=utf-8`)
        .send(text),
    );
  }
}
