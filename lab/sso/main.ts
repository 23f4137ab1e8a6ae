import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import { claimPort } from '#embedded/ports.ts';
import { readArguments } from '#lab/support/arguments.ts';
import { findChromium } from '#test/support/chromium.ts';
import { Instance } from '#lab/storms/instance.ts';
import { inUserCache, NotToBeHad } from '#lab/upstreams/cache.ts';
import { CHECKS, CLIENT, PASSWORD, USERS } from './checks.ts';
import { installKeycloak, Keycloak, KEYCLOAK_VERSION } from './keycloak.ts';

const USAGE = `npm run sso -- [--cache DIRECTORY]

Starts a real Keycloak ${KEYCLOAK_VERSION} and the product, and goes through single sign-on by Keycloak's own pages in
Chromium. Keycloak comes with Maven once, into a directory outside of the tree; where Java, Maven or Chromium are
missing, that is said and nothing is checked. Exit code 0: everything works, or was skipped; 1: something does not;
2: wrong arguments. Checks:
${CHECKS.map(([name]) => `  ${name}`).join('\n')}

--cache    where Keycloak is kept; default: docket/sso in the user's cache directory
`;

const { values } = readArguments(USAGE, { options: { cache: { type: 'string' } } });
const WORDS_MAX = 400;
const say = (line: string): void => void process.stdout.write(`${line}\n`);
try {
  const executablePath = await findChromium();
  if (executablePath === undefined) throw new NotToBeHad('there is no Chromium');
  const installed = await installKeycloak(values.cache ?? inUserCache('sso'), say);
  process.exitCode = (await runChecks(executablePath, installed)) ? 0 : 1;
} catch (error) {
  if (!(error instanceof NotToBeHad)) throw error;
  say(`skipped, nothing was checked: ${error.message}`);
}

async function runChecks(executablePath: string, installed: string): Promise<boolean> {
  const scratch = await mkdtemp(join(tmpdir(), 'docket-sso-'));
  const [port, own] = [await claimPort('127.0.0.1', 0), await claimPort('127.0.0.1', 0)];
  // Keycloak sends people back to the public address, and to no other.
  const origin = `http://127.0.0.1:${own}`;
  const instance = await Instance.start({
    env: {
      REPLICAS: 'api=1',
      PORT: String(own),
      PUBLIC_URL: origin,
      SSO_INSIDE_ISSUERS: `http://127.0.0.1:${port}`,
    },
  });
  // As root it needs rights that a container has not; the only pages are ours and Keycloak's.
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
  let keycloak: Keycloak | undefined;
  try {
    const { info } = instance;
    const entry = `${origin}/dashboard/sso/${info.org_id}`;
    const startedAt = performance.now();
    keycloak = await Keycloak.start(installed, scratch, port, {
      client: { ...CLIENT, redirectUri: `${entry}/callback`, afterSignOut: entry },
      users: Object.values(USERS),
      password: PASSWORD,
    });
    say(`Keycloak ${KEYCLOAK_VERSION} is ready after ${secondsSince(startedAt)} s`);
    for (const [name, check] of CHECKS) {
      const beganAt = performance.now();
      try {
        await check({ browser, info, keycloak });
      } catch (error) {
        // What follows builds on it.
        say(`  ${name}: does not work; ${(error as Error).message}`);
        for (const line of await pagesOf(browser)) say(`    ${line}`);
        return false;
      }
      say(`  ${name}: works (${secondsSince(beganAt)} s)`);
    }
    say(`${CHECKS.length} checks work`);
    return true;
  } finally {
    await keycloak?.stop();
    await browser.close();
    await instance.remove();
    await rm(scratch, { recursive: true, force: true });
  }
}

/** What the open pages say, for a reader who looks for the reason. */
function pagesOf(browser: Browser): Promise<string[]> {
  const pages = browser.contexts().flatMap((context) => context.pages());
  return Promise.all(
    pages.map(async (page) => {
      const text = await page.locator('body').innerText();
      const { origin, pathname } = new URL(page.url());
      return `${origin}${pathname}: ${text.replaceAll(/\s+/g, ' ').slice(0, WORDS_MAX)}`;
    }),
  );
}

function secondsSince(at: number): string {
  return ((performance.now() - at) / 1_000).toFixed(1);
}
