import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { afterAll, describe, expect, it } from 'vitest';
import { drawPack } from '#cli/auditing/drawn-pack.ts';
import { openArchive } from '#cli/verify/archive-file.ts';
import { runDocket } from '#test/support/docket-cli.ts';
import { Corpus } from './corpus.ts';

/** What an auditor does with a pack and nothing else, on what was issued. */
const corpus = new Corpus('format-1');
const [whole, range, did] = ['whole.zip', 'range.zip', 'did.json'].map((name) => corpus.path(name));
const BY = ['--trust', did!];
const directory = await mkdtemp(join(tmpdir(), 'docket-auditing-'));
afterAll(() => rm(directory, { recursive: true }));
const inDirectory = (name: string): string => join(directory, name);

async function drawn(name: string, ...args: string[]) {
  const out = inDirectory(name);
  const result = await runDocket(['sample', whole!, ...BY, '--out', out, ...args]);
  return { out, result };
}

describe('docket sample', () => {
  it('writes receipts of which each is good by itself, and a workpaper that is drawn again to the same', async () => {
    const { out, result } = await drawn('sample', '--size', '12', '--seed', '3-1-6-6');
    expect(result).toMatchObject({ code: 0, stderr: '' });
    const workpaper = join(out, 'workpaper.csv');
    const rows: Record<string, string>[] = parse(await readFile(workpaper), { columns: true });
    expect(rows).toHaveLength(12);
    for (const { file } of rows) {
      const verdict = await runDocket(['verify', join(out, file!), ...BY]);
      expect(verdict, file).toMatchObject({ code: 0 });
    }
    const again = await runDocket(['sample', whole!, ...BY, '--check', workpaper]);
    expect(again).toMatchObject({ code: 0, stderr: '' });
    expect(await readFile(join(out, 'workpaper.html'), 'utf8')).toContain(rows[0]!['receipt']);
  });

  it('draws in a browser’s page what it writes, to the byte', async () => {
    const { out } = await drawn('page', '--size', '9', '--seed', 'dice');
    const archive = openArchive(whole!);
    const said = { path: whole!, verdict: 'good', trusted: did! };
    const page = drawPack(archive, { seed: 'dice', size: 9 }, said);
    expect(page.table).toBe(await readFile(join(out, 'workpaper.csv'), 'utf8'));
    expect(page.rows).toHaveLength(9);
    expect(() => drawPack(archive, { seed: 'two words', size: 9 }, said)).toThrow('without spaces');
    archive.close();
  });

  it('finds a row that was exchanged, dropped or changed, and leaves findings to who wrote them', async () => {
    const { out } = await drawn('forged', '--size', '12', '--seed', 'b');
    const workpaper = await readFile(join(out, 'workpaper.csv'), 'utf8');
    const lines = workpaper.split('\r\n');
    const check = async (text: string) => {
      const file = inDirectory('forged.csv');
      await writeFile(file, text);
      return runDocket(['sample', whole!, ...BY, '--check', file]);
    };
    const found = workpaper.replace(/,,\r\n$/, ',Ada,"none, all well"\r\n');
    expect(await check(found)).toMatchObject({ code: 0 });
    const kept = lines.filter((_, i) => i !== 3).join('\r\n');
    expect(await check(kept)).toMatchObject({ code: 1 });
    const changed = workpaper.replace('llama-3.1-8b', 'llama-3.1-9b');
    const refused = await check(changed);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain('(model)');
  });

  it('draws nothing from a pack that is bad, and nothing over what is there', async () => {
    const bytes = await readFile(whole!);
    bytes[bytes.length >> 1]! ^= 1;
    const bad = inDirectory('bad.zip');
    await writeFile(bad, bytes);
    const refused = await runDocket(['sample', bad, ...BY, '--out', inDirectory('of-bad')]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^BAD/);
    const { result } = await drawn('.');
    expect(result).toMatchObject({ code: 1 });
    expect(result.stderr).toContain('is there already');
  });
});

interface ComparedDay {
  day: string;
  model: string;
  input_tokens: { receipts: number };
  output_tokens: { receipts: number };
}

describe('docket reconcile', () => {
  const HEADER = 'date,model,input_tokens,output_tokens\n';

  it('agrees with a list of what the receipts say, and names the day and model in which another differs', async () => {
    const invoices = inDirectory('invoices.csv');
    await writeFile(invoices, HEADER);
    const args = ['reconcile', whole!, ...BY, '--invoices', invoices];
    await writeFile(invoices, `${HEADER}2026-11-01,llama-3.1-8b,0,0\n`);
    const first = await runDocket([...args, '--json']);
    const { days } = JSON.parse(first.stdout) as { days: ComparedDay[] };
    const lines = days.map(({ day, model, input_tokens: input, output_tokens: output }) =>
      [day, model, input.receipts, output.receipts].join(),
    );
    await writeFile(invoices, `${HEADER}${lines.join('\n')}\n`);
    expect(await runDocket(args)).toMatchObject({ code: 0, stderr: '' });
    await writeFile(invoices, `${HEADER}${lines.join('\n')}7\n`);
    const differs = await runDocket(args);
    expect(differs).toMatchObject({ code: 1 });
    expect(differs.stdout.match(/DIFFERS/g)).toHaveLength(1);
  });

  it('says by its name what is no pack because it is no file', async () => {
    const { code, stderr } = await runDocket(['reconcile', directory]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`${directory} is not a file.`)]);
  });

  it('refuses packs that have an entry twice, and a list that is none', async () => {
    const invoices = inDirectory('none.csv');
    await writeFile(invoices, `${HEADER}2026-11-23,m,1,1\n`);
    const twice = await runDocket(['reconcile', whole!, range!, ...BY, '--invoices', invoices]);
    expect(twice).toMatchObject({ code: 1 });
    expect(twice.stderr).toContain('would count twice');
    const none = await runDocket(['reconcile', whole!, ...BY, '--invoices', did!]);
    expect(none).toMatchObject({ code: 1 });
    expect(none.stderr).toContain('it is not CSV');
  });
});

describe('docket statement', () => {
  const state = async (key: string, out: string, name = 'Ada Lovelace, auditor') => {
    const text = 'I have looked at sixty receipts.\n\nNone differed.\n';
    const by = ['--by', name, '--text', await written('text.txt', text)];
    return runDocket(['statement', whole!, ...BY, ...by, '--key', key, '--out', out]);
  };
  const written = async (name: string, text: string): Promise<string> => {
    await writeFile(inDirectory(name), text);
    return inDirectory(name);
  };
  /** A person's key, and the public half that they give to others. */
  const keysOf = async (name: string): Promise<{ own: string; given: string }> => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const own = privateKey.export({ type: 'pkcs8', format: 'pem' });
    const given = publicKey.export({ type: 'spki', format: 'pem' });
    return {
      own: await written(`${name}.pem`, own),
      given: await written(`${name}-public.pem`, given),
    };
  };

  it('is verified beside its pack, by the key that its author gave, and says no more of whose it is without', async () => {
    const [ada, eve] = [await keysOf('ada'), await keysOf('eve')];
    const file = inDirectory('statement.txt');
    expect(await state(ada.own, file)).toMatchObject({ code: 0, stderr: '' });
    const verify = (...args: string[]) =>
      runDocket(['verify', whole!, ...BY, '--statement', file, ...args]);
    const known = await verify('--statement-key', ada.given);
    expect(known).toMatchObject({ code: 0 });
    expect(known.stdout).toMatch(
      /“I have looked at sixty receipts\.” …, by “Ada Lovelace, auditor” at /,
    );
    expect(known.stdout).toContain(`signed by the key of ${ada.given}`);
    const unknown = await verify();
    expect(unknown).toMatchObject({ code: 0 });
    expect(unknown.stdout).toContain('which does not show whose it is');
    const another = await verify('--statement-key', eve.given, '--json');
    expect(another).toMatchObject({ code: 1 });
    expect(JSON.parse(another.stdout)).toMatchObject({ code: 'statement_invalid' });
  });

  it('says by whose key it is in words of ours alone, and is the only one of its verdict', async () => {
    const file = inDirectory('of-eve.txt');
    const name = 'Ada” at 2026-11-20T09:38:04Z, on this seal; signed by the key of ada.pem. “';
    expect(await state((await keysOf('mallory')).own, file, name)).toMatchObject({ code: 0 });
    const args = ['verify', whole!, ...BY, '--statement', file];
    const { stdout } = await runDocket(args);
    expect(stdout).toContain("by “Ada' at 2026-11-20T09:38:04Z, on this seal; signed by the key");
    expect(stdout).toMatch(/ada\.pem\. '” at \S+, on this seal; signed by its own key/);
    const empty = ['--text', await written('empty.txt', '\n'), '--by', 'Ada'];
    const key = ['--key', (await keysOf('ada')).own, '--out', inDirectory('of-nothing.txt')];
    const nothing = await runDocket(['statement', whole!, ...BY, ...empty, ...key]);
    expect(nothing).toMatchObject({ code: 1, stdout: '' });
    expect(nothing.stderr).toContain('empty.txt states nothing.');
    const both = await runDocket([...args, '--statement', file]);
    expect(both).toMatchObject({ code: 1, stdout: '' });
    expect(both.stderr).toContain('One statement');
  });

  it('is refused when a word of it was changed, and beside another pack', async () => {
    const file = inDirectory('to-be-changed.txt');
    expect(await state((await keysOf('bea')).own, file)).toMatchObject({ code: 0 });
    const refused = async (pack: string, statement: string) => {
      const found = await runDocket(['verify', pack, ...BY, '--statement', statement, '--json']);
      expect(found).toMatchObject({ code: 1 });
      return JSON.parse(found.stdout) as { code: string; message: string };
    };
    const text = await readFile(file, 'utf8');
    const changed = await written('changed.txt', text.replace('sixty', 'six hundred'));
    expect(await refused(whole!, changed)).toMatchObject({
      code: 'statement_invalid',
      message: expect.stringContaining('signature') as string,
    });
    expect(await refused(range!, file)).toMatchObject({
      code: 'statement_invalid',
      message: expect.stringContaining('another pack') as string,
    });
    expect(await refused(whole!, await written('none.txt', 'All is well.\n'))).toMatchObject({
      code: 'statement_invalid',
    });
  });
});
