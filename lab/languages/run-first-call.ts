import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';
import { verifyReceipt } from '#cli/verify/library.ts';
import { CLIENTS } from './clients.ts';
import { firstCall } from './first-call.ts';
import type { Found, Service } from './run-client.ts';
import { goEnvironment, makeReady, type Place } from './toolchains.ts';

const run = promisify(execFile);
/** Compiling openai-go takes a minute on a slow machine. */
const PROGRAM_MS = 300_000;
const GO = join(import.meta.dirname, 'go');

/** What docs/first-call.md shows for languages whose SDK no package of this repository is. */
export const FIRST_CALLS = ['Python', 'Go'] as const;

/**
 * Runs the program that docs/first-call.md shows, and verifies the receipts that it keeps.
 * @throws NotToBeHad where this machine cannot get the language's SDK
 */
export async function runFirstCall(
  language: (typeof FIRST_CALLS)[number],
  service: Service,
  place: Place,
): Promise<Found> {
  const cwd = join(place.cache.directory, `first-call-${language}`);
  await rm(cwd, { recursive: true, force: true });
  await mkdir(cwd, { recursive: true });
  const client = CLIENTS.find((each) => each.language === language)!;
  const { file: program } = await makeReady(client, place);
  const [file, args] = language === 'Go' ? ['go', ['run', '.']] : [program, ['main.py']];
  await writeFile(join(cwd, language === 'Go' ? 'main.go' : 'main.py'), firstCall(language));
  if (language === 'Go') {
    for (const name of ['go.mod', 'go.sum']) await copyFile(join(GO, name), join(cwd, name));
  }
  const env = {
    ...readEnvironment(),
    ...goEnvironment(place),
    OPENAI_BASE_URL: service.baseUrl,
    OPENAI_API_KEY: service.apiKey,
  };
  const check = `first call, ${language}`;
  try {
    await run(file, args, { cwd, env, timeout: PROGRAM_MS, signal: place.signal });
    const trust = { didJson: service.didJson, source: 'the service', isChosen: true };
    for (const name of ['answer.json', 'receipt.json']) {
      const { verdict, text } = await verifyReceipt(await readFile(join(cwd, name), 'utf8'), {
        trust,
      });
      if (verdict !== 'good') return { check, verdict: 'fails', words: `${name}: ${text}` };
    }
    return { check, verdict: 'works' };
  } catch (error) {
    place.signal.throwIfAborted();
    const { stderr, message } = error as Error & { stderr?: string };
    return { check, verdict: 'fails', words: stderr?.trim() || message };
  }
}
