import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance } from 'fastify';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { inject } from 'vitest';
import type { Person } from '#shared/persons/roles.ts';
import { PASSWORD } from './dashboard.ts';
import { signInAs } from './sign-in.ts';
import { atFileEnd } from './file-end.ts';

/** The Chromium of the run, with contexts of the file's own, which end with its tests. */
export async function openBrowser(): Promise<Browser> {
  const browser = await chromium.connect(inject('chromiumUrl'));
  atFileEnd(() => browser.close());
  return browser;
}

/** Of a visitor who wants nothing to move: to draw how each page passes into the next is a third of the work of a test. */
export const STILL: BrowserContextOptions = { reducedMotion: 'reduce' };

export interface OpenPages {
  /** A page of a context of its own: a person who is not signed in. */
  open: (options?: BrowserContextOptions) => Promise<Page>;
  /** What the policy of a page forbade, of all pages that were opened. */
  problems: string[];
}

/** Pages of one service, which report what their content security policy forbids. */
export function openPages(browser: Browser, baseURL: string): OpenPages {
  const problems: string[] = [];
  const open = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const context = await browser.newContext({ ...STILL, baseURL, ...options });
    const page = await context.newPage();
    // Only a page that hangs takes so long, on any machine.
    page.setDefaultTimeout(60_000);
    page.on('console', (message) => {
      if (message.type() === 'error' && /Content.Security/.test(message.text())) {
        problems.push(`${page.url()}: ${message.text()}`);
      }
    });
    return page;
  };
  return { open, problems };
}

/** Has an app listen on a port of its own; returns its address. */
export async function listenLocally(app: FastifyInstance): Promise<string> {
  return app.listen({ host: '127.0.0.1', port: 0 });
}

export const signInWith = (page: Page, { email }: Pick<Person, 'email'>): Promise<void> =>
  signInAs(page, { email, password: PASSWORD });

/** What one page may take with all that belongs to it, unpacked: what a browser reads before it draws. */
const BYTES_MAX = 200_000;
/** What the page alone may take as it is sent: a third of a second on a poor line. */
const SENT_BYTES_MAX = 60_000;
/** The page, its stylesheet, its script, its icon; of the documentation a stylesheet of its own. */
const REQUESTS_MAX = 4;
const REQUESTS_MAX_OF_DOCS = 5;

/** What an open page costs beyond its budget: bytes and requests, and anything that moves, or may move, once it is drawn. */
export async function overBudget(page: Page): Promise<string[]> {
  const { sent, bytes, requests, shift, moved, isWhole, late } = await page.evaluate<{
    sent: number;
    bytes: number;
    requests: number;
    shift: number;
    moved: string[];
    isWhole: boolean;
    late: number;
  }>(`new Promise((resolve) => {
    let shift = 0;
    const moved = [];
    const place = ({ x, y, width, height }) => [x, y, width, height].map(Math.round).join(' ');
    const add = (list) => {
      for (const { value, startTime, sources } of list) {
        shift += value;
        for (const { node, previousRect, currentRect } of sources) {
          const text = (node?.outerHTML ?? node?.textContent ?? '').slice(0, 120);
          moved.push(text + ' from ' + place(previousRect) + ' to ' + place(currentRect) + ' after ' + Math.round(startTime) + ' ms');
        }
      }
    };
    const observer = new PerformanceObserver((list) => add(list.getEntries()));
    observer.observe({ type: 'layout-shift', buffered: true });
    // What was noted before is handed over by the next frame.
    requestAnimationFrame(() => setTimeout(() => {
      add(observer.takeRecords());
      const sent = performance.getEntriesByType('navigation')[0].encodedBodySize;
      const loaded = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
      const bytes = loaded.reduce((sum, { decodedBodySize }) => sum + decodedBodySize, 0);
      // Whether half of a page is drawn before the rest has come is a matter of luck as well, unless it waits for its end.
      const end = document.getElementById('end');
      const styleWithoutEnd = () => { end.remove(); const { visibility } = getComputedStyle(document.body); document.body.append(end); return visibility; };
      const isWhole = end !== null && styleWithoutEnd() === 'hidden';
      // Whether the script that shows these comes before the page is drawn or after it is a matter of luck.
      const late = [...document.querySelectorAll('button[data-copy]')].filter((button) => {
        const size = () => { const { width, height } = button.getBoundingClientRect(); return width + ' ' + height; };
        const [shown, was] = [size(), button.hidden];
        button.hidden = !was;
        const isOther = size() !== shown;
        button.hidden = was;
        return isOther;
      }).length;
      resolve({ sent, bytes, requests: loaded.length, shift, moved, isWhole, late });
    }));
  })`);
  const isOfDocs = new URL(page.url()).pathname.startsWith('/docs');
  return [
    ...(sent > SENT_BYTES_MAX ? [`${sent} bytes sent`] : []),
    ...(bytes > BYTES_MAX ? [`${bytes} bytes`] : []),
    ...(requests > (isOfDocs ? REQUESTS_MAX_OF_DOCS : REQUESTS_MAX)
      ? [`${requests} requests`]
      : []),
    ...(shift > 0 ? [`layout shift ${shift}: ${moved.join(', ')}`] : []),
    ...(isWhole ? [] : ['may be drawn in pieces']),
    ...(late > 0 ? [`${late} buttons that take a place when they are shown`] : []),
  ];
}

const AXE = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8');
/** Tabs whose documents have axe at hand: half a megabyte is sent to a tab once, and compiled once. */
const withAxe = new WeakSet<Page>();

/** Has axe on the open page. */
async function loadAxe(page: Page): Promise<void> {
  if (await page.evaluate<boolean>('"axe" in window')) return;
  if (withAxe.has(page)) return page.evaluate('loadAxe()');
  withAxe.add(page);
  await page.addInitScript(`globalThis.loadAxe = () => {${AXE}\n}`);
  await page.evaluate(AXE);
}

/** The rules of axe that a view can break: of colours, of what fits a window, and of names and headings that a style may hide. */
const OF_THE_VIEW = [
  'color-contrast',
  'link-in-text-block',
  'scrollable-region-focusable',
  'button-name',
  'link-name',
  'summary-name',
  'select-name',
  'label',
  'heading-order',
  'page-has-heading-one',
  'landmark-one-main',
  'bypass',
];

/** What axe finds on the open page, by all rules or by these: a rule, and the first that breaks it. */
async function violationsOn(page: Page, runOnly?: readonly string[]): Promise<string[]> {
  await loadAxe(page);
  // No page has sound or film to be loaded before, and no person reads selectors.
  const how = { resultTypes: ['violations'], preload: false, selectors: false, runOnly };
  return page.evaluate<string[]>(
    `axe.run(document, ${JSON.stringify(how)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`,
  );
}

/**
 * A wide window, a small one and a phone, in the themes; what is wider than its window is so in either. Axe judges the
 * elements in the first, where most of them show, and in the last what may be different there.
 */
const VIEWS = [
  { colorScheme: 'light', width: 1440 },
  { colorScheme: 'light', width: 800 },
  { colorScheme: 'dark', width: 360 },
] as const;

/**
 * What is wrong with these pages: what is beyond the budget of a page, what axe finds (in the dark, by the rules that a view
 * can break), and what is wider than its window. With `SCREENSHOTS` a
 * picture of each view is kept in that directory. `repetitions` selects what a long page is looked at without: axe takes a
 * second for each thousand elements.
 */
export async function problemsOf(
  page: Page,
  addresses: readonly string[],
  repetitions?: string,
): Promise<string[]> {
  const found: string[] = [];
  for (const address of addresses) {
    await page.goto(address);
    found.push(...(await problemsHere(page, address, repetitions)));
  }
  return found;
}

/** The same of the page that is open, for what no address alone shows: the answer to a form. */
export async function problemsHere(
  page: Page,
  address: string,
  repetitions?: string,
): Promise<string[]> {
  const found: string[] = [];
  const directory = process.env['SCREENSHOTS'];
  // The description of the API is a book, and the verifier a program of its own.
  if (!/^\/(?:docs|receipts|verify)/.test(address)) {
    found.push(...(await overBudget(page)).map((problem) => `${address}: ${problem}`));
  }
  if (repetitions !== undefined) await withoutThese(page, repetitions);
  for (const [index, { colorScheme, width }] of VIEWS.entries()) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    const view = `${address} ${colorScheme} ${width}`;
    const inner = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (inner > width) found.push(`${view}: ${inner} px wide`);
    if (index === 0 || index === VIEWS.length - 1) {
      const violations = await violationsOn(page, index === 0 ? undefined : OF_THE_VIEW);
      found.push(...violations.map((violation) => `${view} ${violation}`));
    }
    if (directory === undefined) continue;
    const name = address.replaceAll(/\W+/g, '-').replaceAll(/_?[0-9A-HJKMNP-TV-Z]{20,}/g, '');
    const path = `${directory}/${name}-${width}-${colorScheme}.png`;
    await page.screenshot({ path, fullPage: true });
  }
  return found;
}

/** Takes elements out of a page. */
async function withoutThese(page: Page, selector: string): Promise<void> {
  await page
    .locator(selector)
    .evaluateAll((elements: readonly { remove: () => void }[]) =>
      elements.forEach((element) => element.remove()),
    );
}
