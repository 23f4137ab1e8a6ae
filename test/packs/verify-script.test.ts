import { execFile, spawnSync } from 'node:child_process';
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';

const run = promisify(execFile);
const script = new URL('../../shared/packs/files/verify.py', import.meta.url).pathname;

describe('the script in a pack', () => {
  it('says how to use it, whether asked or used in another way', async () => {
    const { stdout } = await run('python3', [script, '--help']);
    expect(stdout).toContain('usage: verify.py [-h] [--trust did.json] [--pin sha256]');
    await expect(run('python3', [script])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('usage: verify.py') as unknown,
    });
  });

  it('does not judge what is no archive, and calls one that was cut bad: each in one line that names the file', async () => {
    const none = join(import.meta.dirname, 'forger.ts');
    await expect(run('python3', [script, none])).rejects.toMatchObject({
      code: 2,
      stdout: `CANNOT JUDGE  ${none} is no pack: it is not a ZIP archive\n`,
      stderr: '',
    });
    const directory = await mkdtemp(join(tmpdir(), 'docket-script-'));
    const cut = join(directory, 'cut.zip');
    await writeFile(cut, 'PK\u0003\u0004');
    await expect(run('python3', [script, cut])).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^BAD {2}.*cut\.zip: .*\n$/) as unknown,
      stderr: '',
    });
    await rm(directory, { recursive: true });
  });

  it('says its verdict where the terminal knows ASCII alone', async () => {
    const missing = join(import.meta.dirname, 'µ.zip');
    const env = { ...process.env, PYTHONIOENCODING: 'ascii:strict' };
    await expect(run('python3', [script, missing], { env })).rejects.toMatchObject({
      code: 2,
      stdout: expect.stringContaining('CANNOT JUDGE') as unknown,
      stderr: '',
    });
  });

  it('names a file that it cannot read', async () => {
    const missing = join(import.meta.dirname, 'missing.zip');
    await expect(run('python3', [script, missing])).rejects.toMatchObject({
      code: 2,
      stdout: `CANNOT JUDGE  ${missing} cannot be read: No such file or directory\n`,
    });
  });
});

/** Python without any package: what the script's own Ed25519 says of each `[key, message, signature]`, in hex. */
function ownEd25519(cases: readonly (readonly [string, string, string])[]): boolean[] {
  const code = `
import json, sys
sys.path.insert(0, ${JSON.stringify(dirname(script))})
import verify
assert verify.PublicKey is verify.PurePublicKey
def holds(key, message, signature):
    try:
        verify.PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), bytes.fromhex(message))
        return True
    except verify.InvalidSignature:
        return False
print(json.dumps([holds(*each) for each in json.load(sys.stdin)]))`;
  const { stdout, stderr } = spawnSync('python3', ['-I', '-S', '-B', '-c', code], {
    input: JSON.stringify(cases),
    encoding: 'utf8',
  });
  expect(stderr).toBe('');
  return JSON.parse(stdout) as boolean[];
}

describe('Ed25519 in the script, where Python has no package for it', () => {
  it('holds the signatures of RFC 8032 (7.1) good', () => {
    expect(
      ownEd25519([
        [
          'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
          '',
          'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
        ],
        [
          '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
          '72',
          '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
        ],
      ]),
    ).toEqual([true, true]);
  });

  it('says what OpenSSL says of signatures that were altered anywhere', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const raw = Buffer.from(rawPublicKey(publicKey));
    const order = 2n ** 252n + 27742317777372353535851937790883648493n;
    const cases = Array.from({ length: 72 }, (_, i) => {
      const message = Buffer.from(`message ${i}`);
      const signature = sign(null, message, privateKey);
      // One bit of each byte; then the same scalar plus the order, cut short, too long, and untouched.
      if (i < 64) signature[i]! ^= 1 << (i % 8);
      if (i === 64) {
        const scalar = BigInt(
          `0x${Buffer.from(signature.subarray(32).toReversed()).toString('hex')}`,
        );
        const grown = (scalar + order).toString(16).padStart(64, '0');
        signature.set(Buffer.from(grown, 'hex').toReversed(), 32);
      }
      const used = i === 65 ? signature.subarray(0, 63) : signature;
      const long = i === 66 ? Buffer.concat([used, Buffer.of(0)]) : used;
      return { message, signature: long };
    });
    const ours = ownEd25519(
      cases.map(({ message, signature }) => [
        raw.toString('hex'),
        message.toString('hex'),
        signature.toString('hex'),
      ]),
    );
    const expected = cases.map(({ message, signature }) =>
      verify(null, message, publicKey, signature),
    );
    expect(ours).toEqual(expected);
    expect(expected.filter(Boolean)).toHaveLength(5);
  });
});
