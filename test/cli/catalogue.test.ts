import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDocket } from '#test/support/docket-cli.ts';

let directory: string;
let bad: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'docket-cli-'));
  bad = join(directory, 'bad.yaml');
  writeFileSync(bad, 'version: 1\nregions: []\nendpoints: []\nmodles: []\n');
});
afterAll(() => rmSync(directory, { recursive: true }));

describe('docket catalogue check', () => {
  it('prints the models of the shipped catalogue as a table and exits with 0', async () => {
    const { code, stdout, stderr } = await runDocket(['catalogue', 'check']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^model +kinds +context_window +regions +footprint\nllama-3\.1-8b +chat, completion +131072 /,
    );
  });

  it('prints every problem with its line and exits with 1', async () => {
    const { code, stdout, stderr } = await runDocket(['catalogue', 'check', bad]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`${bad}:4: modles: unknown field; is \`models\` meant?\n`);
    expect(stderr).toContain(`${bad}:2: regions: must NOT have fewer than 1 items\n`);
  });

  it('checks the file of CATALOGUE when none is named', async () => {
    expect((await runDocket(['catalogue', 'check'], { CATALOGUE: bad })).code).toBe(1);
  });

  it('speaks JSON to programs, in both cases', async () => {
    const good = await runDocket(['catalogue', 'check', '--json']);
    expect(JSON.parse(good.stdout)).toMatchObject({
      ok: true,
      warnings: [],
      models: expect.any(Array) as unknown,
    });
    const refused = await runDocket(['catalogue', 'check', bad, '--json']);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({ ok: false, file: bad });
  });
});
