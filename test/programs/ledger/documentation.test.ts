import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import example from '#api/docs/examples/anchor.json' with { type: 'json' };
import { publicKeyFromRaw } from '#shared/kernel/primitives/node.ts';

const page = readFileSync(new URL('../../../docs/ledger.md', import.meta.url), 'utf8');
const directory = mkdtempSync(join(tmpdir(), 'ledger-docs-'));
afterAll(() => rmSync(directory, { recursive: true }));

const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { cwd: directory, encoding: 'utf8', stdio: 'pipe' });

it('the documentation shows how to check an anchor proof with other tools', () => {
  const script = /```python\n(.*?)```/s.exec(page)![1]!;
  writeFileSync(join(directory, 'check.py'), script);
  writeFileSync(join(directory, 'proof.json'), JSON.stringify(example.proof));
  expect(run('python3', 'check.py', 'proof.json')).toContain('is anchored at index 1');
  const key = publicKeyFromRaw(Buffer.from(example.publicKeys.anchor, 'base64'));
  writeFileSync(join(directory, 'anchor.pem'), key.export({ format: 'pem', type: 'spki' }));
  const verifying = /^openssl (pkeyutl .*)$/m.exec(page)![1]!.split(' ');
  expect(run('openssl', ...verifying)).toContain('Verified Successfully');
  for (const change of [
    { slot: example.proof.slot ^ 1 },
    { checkpoint: example.proof.checkpoint.replace('\n4\n', '\n5\n') },
    { entry: example.proof.entry.replace('004Z', '005Z') },
  ]) {
    writeFileSync(join(directory, 'bad.json'), JSON.stringify({ ...example.proof, ...change }));
    expect(() => run('python3', 'check.py', 'bad.json')).toThrow('AssertionError');
  }
});

it('the documentation names the forms of all entries of the anchor log as they are', () => {
  const heads = example.proof.entry.replace(/"root":"[^"]+"/, '"root":"<base64>"');
  expect(page).toContain(heads);
});
