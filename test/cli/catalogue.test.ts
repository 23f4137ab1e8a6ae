import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runDocket } from '#test/support/docket-cli.ts';
import { NotingUpstream } from '#test/support/noting-upstream.ts';

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
      /^model +aliases +kinds +context_window +regions +footprint\nllama-3\.1-8b +sandbox-small +chat, completion +131072 /,
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

describe('docket catalogue init', () => {
  it('writes a catalogue that can be checked, never over a file that is there, and no key', async () => {
    const upstream = new ListingUpstream();
    upstream.list.text = '{"data":[{"id":"gpt-4o-mini"}]}';
    const env = { OPENAI_BASE_URL: await upstream.listen(), OPENAI_API_KEY: 'sk-hush' };
    const file = join(directory, 'written.yaml');
    const { code, stdout, stderr } = await runDocket(['catalogue', 'init', file], env);
    expect(code).toBe(0);
    expect(stdout).toContain(`CATALOGUE=${file}`);
    expect(stderr).toBe('OpenAI: OPENAI_BASE_URL has no version: /v1 is added\n');
    const checked = await runDocket(['catalogue', 'check', file, '--json'], env);
    expect(JSON.parse(checked.stdout)).toMatchObject({
      warnings: [],
      models: expect.arrayContaining([
        expect.objectContaining({ model: 'gpt-4o-mini', footprint: 'gpt-4o-mini' }),
      ]) as unknown,
    });
    const again = await runDocket(['catalogue', 'init', file], env);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain('is there already');
    const forced = await runDocket(['catalogue', 'init', file, '--force', '--json'], env);
    expect(JSON.parse(forced.stdout)).toMatchObject({ file });
    upstream.close();
    for (const text of [stdout, stderr, forced.stdout, readFileSync(file, 'utf8')])
      expect(text).not.toContain('hush');
  });
});

/** A server that lists models. */
class ListingUpstream extends NotingUpstream {
  protected override answerTo(): void {}
}
