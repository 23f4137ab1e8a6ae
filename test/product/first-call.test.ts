/** The programs that docs/first-call.md shows, as they stand there; those of Python and Go need SDKs of theirs: `npm run clients`. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { type FirstCallLanguage, firstCall } from '#lab/languages/first-call.ts';
import { childEnvironment } from '#test/support/child-environment.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { newOrganisation } from '#test/support/organisations.ts';
import { joinProduct } from '#test/support/product.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
/** What runs a program, and the files in which it keeps what carries its receipts. */
const PROGRAMS = {
  curl: { name: 'ask.sh', file: 'sh', kept: ['answer.json', 'stream.txt'] },
  JavaScript: { name: 'ask.mjs', file: process.execPath, kept: ['answer.json', 'receipt.json'] },
} as const satisfies Partial<Record<FirstCallLanguage, object>>;

const system = await joinProduct();

it.for(Object.entries(PROGRAMS))(
  'the program that leads from a key to verified receipts in %s waits where it is told to, and keeps receipts that are good [docs.first-call]',
  async ([language, { name, file, kept }]) => {
    const organisation = await newOrganisation(system, { requestsPerSecond: 1, burst: 1 });
    const cwd = mkdtempSync(join(tmpdir(), 'docket-first-call-'));
    try {
      symlinkSync(join(ROOT, 'node_modules'), join(cwd, 'node_modules'));
      writeFileSync(join(cwd, name), firstCall(language as FirstCallLanguage));
      const env = {
        ...childEnvironment(),
        OPENAI_BASE_URL: system.baseUrl,
        OPENAI_API_KEY: await organisation.newKey(),
      };
      await run(file, [name], { cwd, env });
      const did = join(cwd, 'did.json');
      writeFileSync(did, await (await fetch(`${system.root}/.well-known/did.json`)).text());
      for (const one of kept) {
        const { code, stdout } = await runDocket(['verify', join(cwd, one), '--trust', did]);
        expect([one, code, stdout]).toEqual([one, 0, expect.stringContaining('GOOD')]);
      }
      const { rows } = await system.database.pool.query<{ status: number }>(
        'select distinct status from request where org_id = $1 order by status',
        [organisation.id],
      );
      expect(rows.map(({ status }) => status)).toContain(429);
    } finally {
      rmSync(cwd, { recursive: true });
    }
  },
);
