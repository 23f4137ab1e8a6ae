/** The commands of VERIFY.md, as a stranger copies them out of the pack. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { dropAnchor, startTamperLab } from './tamper-lab.ts';
import { ForgedPack } from './tampering.ts';

const run = promisify(execFile);
const lab = await startTamperLab();

/** Everything after the pack was unpacked, one command after the other, in its folder. */
async function followed(pack: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'docket-stranger-'));
  await run('unzip', ['-q', pack, '-d', directory]);
  copyFileSync(lab.trust, join(directory, 'did.json'));
  copyFileSync(lab.authority, join(directory, 'authority.pem'));
  const folder = readdirSync(directory).find((name) => name.startsWith('evidence-pack-'))!;
  const cwd = join(directory, folder);
  const blocks = readFileSync(join(cwd, 'VERIFY.md'), 'utf8').matchAll(/```sh\n([\s\S]+?)```/g);
  const commands = [...blocks]
    .map(([, block]) => block!)
    .filter((block) => !/^(curl|npx|unzip)|^python3 evidence-pack/.test(block));
  expect(commands.length).toBeGreaterThanOrEqual(8);
  const said: string[] = [];
  for (const block of commands) {
    const { stdout, stderr } = await run('bash', ['-e', '-c', block], { cwd });
    said.push(stdout, stderr);
  }
  return said.join('\n');
}

describe('the commands of VERIFY.md', () => {
  it('all succeed in a pack with anchor and timestamp', async () => {
    const said = await followed(lab.whole);
    expect(said).toContain('Signature Verified Successfully');
    expect(said).toContain('in gateway.example/anchor');
    expect(said).toContain('Verification: OK');
    expect(said).not.toMatch(/FAILED|Traceback|BAD/);
  });

  it('and in one without, where the one about timestamps says that there is none', async () => {
    const pack = new ForgedPack(lab.whole);
    pack.repair(lab.lab.signer('packs'), dropAnchor(pack));
    const path = join(lab.directory, 'bare.zip');
    await pack.write(path);
    const said = await followed(path);
    expect(said).toContain('there is no timestamp');
    expect(said).not.toMatch(/FAILED|Traceback|BAD/);
  });
});
