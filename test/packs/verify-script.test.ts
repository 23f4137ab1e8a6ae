import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const run = promisify(execFile);
const script = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;

describe('the script in a pack', () => {
  it('says how to use it, whether asked or used in another way', async () => {
    const { stdout } = await run('python3', [script, '--help']);
    expect(stdout).toContain('usage: verify.py [-h] [--trust did.json] pack');
    await expect(run('python3', [script])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('usage: verify.py') as unknown,
    });
  });

  it('names a file that it cannot read', async () => {
    const missing = join(import.meta.dirname, 'missing.zip');
    await expect(run('python3', [script, missing])).rejects.toMatchObject({
      code: 2,
      stderr: `${missing} cannot be read: No such file or directory\n`,
    });
  });
});
