import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { type BrowserServer, chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { apt, canInstall } from '#embedded/stores/redis-binary.ts';
import { readEnvironment } from '#shared/config/config.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Where the Chromium of the run takes orders; tests take `openBrowser` instead. */
    chromiumUrl: string;
  }
}

/** The first is a Chromium without windows, menus and an address field, which takes half the work for a page. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

const ARGS = [
  // Its sandbox needs rights that a container has not; the only pages are our own.
  '--no-sandbox',
  '--disable-dev-shm-usage',
  // The pages of a context are one site: a process for the empty page that each begins as is one too many.
  '--renderer-process-limit=1',
];

/**
 * What a whole Chromium does beside the page: its suggestions for an address are two more processes for each window, and
 * some of it asks the network. They stand in the place of Playwright's own list, which lacks the first three.
 */
const OWN_FEATURES = [
  'WebUIOmniboxPopup',
  'WebUIOmniboxAimPopup',
  'PreloadTopChromeWebUI',
  'AimEnabled',
  'HttpsUpgrades',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  // With it each page of a site is drawn by a frame of its own, made anew: a sixth of what it takes to go to the next.
  'RenderDocument',
];

/** Path of the browser that the page tests drive, or undefined. */
export async function findChromium(): Promise<string | undefined> {
  for (const directory of (readEnvironment()['PATH'] ?? '').split(delimiter)) {
    for (const name of NAMES) {
      const path = join(directory, name);
      const found = await access(path).then(
        () => true,
        () => false,
      );
      if (found) return path;
    }
  }
  return undefined;
}

/** Vitest's global set-up of the browser tests: one Chromium for all of them. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const server = await startChromium();
  project.provide('chromiumUrl', server.wsEndpoint());
  return () => server.close();
}

async function startChromium(): Promise<BrowserServer> {
  await ensureChromium();
  return chromium.launchServer({
    executablePath: (await findChromium())!,
    host: '127.0.0.1',
    args: [...ARGS, `--disable-features=${OWN_FEATURES.join(',')}`],
  });
}

/** Installs the one that takes least work where it may; without it another does, and without any it says what to do. */
async function ensureChromium(): Promise<void> {
  const name = NAMES[0]!;
  const found = await findChromium();
  if (found?.endsWith(name)) return;
  try {
    if (!(await canInstall())) throw new Error(`install it (Debian: apt-get install ${name})`);
    process.stderr.write(`Installing with apt-get for the tests of pages: ${name}\n`);
    await apt(['update', '-q']);
    await apt(['install', '-q', '-y', '--no-install-recommends', name]);
  } catch (error) {
    if (found === undefined) throw new Error('Chromium is missing', { cause: error });
  }
}
