import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { readArguments, refuseArguments } from '#lab/support/arguments.ts';
import { findChromium } from '#test/support/chromium.ts';
import { signInAs } from '#test/support/sign-in.ts';
import { Instance } from '#lab/storms/instance.ts';
import { furnish, type Furniture } from './furnish.ts';
import { PAGE_NAMES, pagesOf, type Shown, type Visitor } from './pages.ts';

/** Each view: its name, theme and width. The last is a small phone. */
const VIEWS = [
  ['light', 'light', 1440],
  ['dark', 'dark', 1440],
  ['phone', 'light', 360],
] as const;

/** Of the README, and how high each is cut. Small enough for a page that is read before anything is installed. */
const PICTURES: Readonly<Record<string, number>> = { overview: 900, receipt: 900, rotation: 620 };
const PICTURE_WIDTH = 1120;
const PICTURE_BYTES_MAX = 150_000;
const PICTURES_DIR = join(import.meta.dirname, '../../docs/pictures');

const USAGE = `npm run screenshots -- [directory] [name…]

Starts the product with some weeks of an organisation in it, and takes a picture of every page (or
of those that are named) in light, in dark, and as wide as a phone. A person then looks at each.

  directory   where they are written; a temporary one, which it names, when absent
  --readme    writes the three pictures of the README instead
  --help      this text
`;

const { values, positionals } = readArguments(USAGE, {
  options: { readme: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [asked, ...names] = positionals;
const unknown = names.filter((name) => !PAGE_NAMES.has(name));
if (unknown.length > 0) {
  refuseArguments(
    `There is no page ${unknown.join(', ')}. There are ${[...PAGE_NAMES].join(', ')}.`,
  );
}
const directory = resolve(
  values.readme ? PICTURES_DIR : (asked ?? (await mkdtemp(join(tmpdir(), 'docket-screenshots-')))),
);
await mkdir(directory, { recursive: true });

const executablePath = await findChromium();
if (executablePath === undefined)
  throw new Error('Chromium is missing: install the package chromium');
const instance = await Instance.start({ env: { REPLICAS: '' } });
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--hide-scrollbars'],
});
try {
  const { info } = instance;
  const furniture = await furnish(info, join(instance.dataDir, 'signing-keys'));
  const visitors = await openVisitors(browser);
  const wanted = values.readme ? Object.keys(PICTURES) : names;
  const pages = pagesOf(furniture).filter(
    ({ name }) => wanted.length === 0 || wanted.includes(name),
  );
  for (const shown of pages) {
    const page = visitors[shown.visitor];
    if (values.readme) await takePicture(page, shown.name, shown.address);
    else await takeViews(page, shown, furniture);
  }
  process.stdout.write(`${directory}\n`);
} finally {
  await browser.close();
  await instance.remove();
}

async function openVisitors(from: Browser): Promise<Record<Visitor, Page>> {
  const baseURL = new URL(instance.info.base_url).origin;
  const open = async (): Promise<Page> =>
    (await from.newContext({ baseURL, reducedMotion: 'reduce' })).newPage();
  const signedIn = async (who: Exclude<Visitor, 'nobody'>): Promise<Page> => {
    const page = await open();
    await signInAs(page, instance.info[who]);
    return page;
  };
  return {
    nobody: await open(),
    owner: await signedIn('owner'),
    operator: await signedIn('operator'),
    reviewer: await signedIn('reviewer'),
  };
}

async function takeViews(
  page: Page,
  { name, address, act }: Shown,
  furniture: Furniture,
): Promise<void> {
  for (const [view, colorScheme, width] of VIEWS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    // What scripts load is part of the picture.
    await page.goto(address, { waitUntil: 'networkidle' });
    await act?.(page, furniture);
    await page.screenshot({ path: join(directory, `${name}-${view}.png`), fullPage: true });
  }
}

/** As WebP, which Chromium itself writes. */
async function takePicture(page: Page, name: string, address: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: PICTURE_WIDTH, height: PICTURES[name]! });
  await page.goto(address);
  const png = await page.screenshot();
  const blank = await browser.newPage();
  const webp = await blank.evaluate<string>(`(async () => {
    const png = await fetch('data:image/png;base64,${png.toString('base64')}');
    const picture = await createImageBitmap(await png.blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height);
    canvas.getContext('2d').drawImage(picture, 0, 0);
    const webp = await canvas.convertToBlob({ type: 'image/webp', quality: 0.9 });
    return new Uint8Array(await webp.arrayBuffer()).toBase64();
  })()`);
  await blank.close();
  const bytes = Buffer.from(webp, 'base64');
  if (bytes.length > PICTURE_BYTES_MAX) {
    throw new Error(`${name} has ${bytes.length} bytes, more than ${PICTURE_BYTES_MAX}`);
  }
  await writeFile(join(directory, `${name}.webp`), bytes);
}
