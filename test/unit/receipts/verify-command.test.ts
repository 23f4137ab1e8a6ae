import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Command } from 'commander';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { register } from '#cli/commands/verify.ts';
import { activeKey, ensureSigningKeys, keyPath } from '#shared/receipts/signing/files/key-files.ts';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { leafHash } from '#shared/ledger/hashing.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { INPUTS, issuer, newIssuer } from './samples.ts';

const { signer, did } = newIssuer();
// The command judges by the machine's clock, so these were signed before any machine could run it.
const inputOf = (kind: string) => ({ ...INPUTS[kind]!, signedAt: Date.UTC(2024, 0, 1) });
const text = signer.sign(buildReceipt(inputOf('full')));

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'docket-verify-'));
  vi.stubEnv('SIGNING_KEYS_DIR', join(dir, 'no-keys'));
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  process.exitCode = undefined;
  rmSync(dir, { recursive: true });
});

const save = (name: string, content: string): string => {
  const path = join(dir, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, content);
  return path;
};

/** What the command left for the shell; a function, because the compiler remembers the reset above it. */
function exitCode(): number {
  return Number(process.exitCode ?? 0);
}

async function run(...args: string[]): Promise<{ out: string; code: number }> {
  let out = '';
  const written = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    out += String(chunk);
    return true;
  });
  process.exitCode = undefined;
  const program = new Command().exitOverride();
  register(program);
  await program.parseAsync(['verify', ...args], { from: 'user' });
  written.mockRestore();
  return { out, code: exitCode() };
}

describe('docket verify', () => {
  it('says GOOD with exit code 0, who signed, and what was trusted', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const { out, code } = await run(save('receipt.json', text), '--trust', trust);
    expect(code).toBe(0);
    expect(out).toMatch(/^GOOD {2}The receipt is what its issuer signed\./);
    expect(out).toContain(signer.kid);
    expect(out).toContain(`${trust}, which you named`);
    expect(out).toContain('0.000308123456789 kWh');
    expect(out).toContain('does not show that a model ran');
  });

  it('says BAD with exit code 1 when a field was edited', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const edited = text.replace('"outputTokens":356', '"outputTokens":355');
    const { out, code } = await run(save('receipt.json', edited), '--trust', trust);
    expect(code).toBe(1);
    expect(out).toMatch(/^BAD {2}The signature does not fit/);
    expect(out).toContain('signature_invalid');
  });

  it('takes a whole answer, a stream, and standard input', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const answer = `{"id":"chatcmpl-1","usage":null,"receipt":${text}}`;
    expect((await run(save('answer.json', answer), '--trust', trust)).code).toBe(0);
    expect(
      (await run(save('stream.txt', `data: ${answer}\n\ndata: [DONE]\n\n`), '--trust', trust)).code,
    ).toBe(0);
    vi.spyOn(process, 'stdin', 'get').mockReturnValue(
      Readable.from([Buffer.from(answer)]) as unknown as typeof process.stdin,
    );
    expect((await run('-', '--trust', trust)).code).toBe(0);
  });

  it('without --trust uses did.json beside the receipt, and says what that is worth', async () => {
    const receipt = save('receipt.json', text);
    save('did.json', JSON.stringify(did));
    const { out, code } = await run(receipt);
    expect(code).toBe(0);
    expect(out).toContain('lay beside it; if both came from one hand');
  });

  it('without either uses the deployment’s own keys', async () => {
    const keysDir = join(dir, 'signing-keys');
    const { privateKeyPem } = activeKey(ensureSigningKeys(keysDir), 'receipts');
    vi.stubEnv('SIGNING_KEYS_DIR', keysDir);
    const own = createReceiptSigner({ privateKeyPem, did: issuer.did }).sign(
      buildReceipt(inputOf('degraded')),
    );
    const { out, code } = await run(save('receipt.json', own));
    expect(code).toBe(0);
    expect(out).toContain(`own keys in ${keysDir}`);
    expect((await run(save('foreign.json', text))).code).toBe(1);
    chmodSync(keyPath(keysDir, 'receipts', 'active'), 0o644);
    expect((await run(save('receipt.json', own))).out).toContain('fetch did.json from the issuer');
  });

  it('with nothing to trust is BAD, says which key signed, and fetches nothing', async () => {
    const fetched = vi.spyOn(globalThis, 'fetch');
    const { out, code } = await run(save('receipt.json', text));
    expect(code).toBe(1);
    expect(out).toContain('says it is signed by');
    expect(out).toContain(signer.kid);
    expect(out).toContain('fetch did.json from the issuer and name it with --trust');
    expect(fetched).not.toHaveBeenCalled();
  });

  it.each([
    ['a file that holds no receipt', '{"object":"list"}', 'missing_field'],
    ['a file that is not JSON', 'hello', 'not_json'],
    ['a field twice', text.replace('"tier":', '"tier":"audit","tier":'), 'duplicate_key'],
  ])('%s is BAD', async (_, content, reason) => {
    const { out, code } = await run(save('receipt.json', content), '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ verdict: 'bad', code: reason });
  });

  it('--json prints one object for programs', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const { out } = await run(save('receipt.json', text), '--trust', trust, '--json');
    const leaf = leafHash(Buffer.from(signer.sign(buildReceipt(inputOf('full')))));
    expect(JSON.parse(out)).toMatchObject({
      verdict: 'good',
      code: 'good',
      kid: signer.kid,
      leaf_hash: Buffer.from(leaf).toString('hex'),
      receipt: { tier: 'audit_plus' },
    });
  });

  it('a missing file, or a did.json that is none, fails in one line', async () => {
    await expect(run(join(dir, 'nowhere.json'))).rejects.toThrow(/There is no file/);
    await expect(run(dir)).rejects.toThrow(/not a file/);
    const receipt = save('receipt.json', text);
    await expect(run(receipt, '--trust', save('x.json', '{}'))).rejects.toThrow(
      /not a DID document/,
    );
  });

  it('a file that begins like a pack and is none gets the verdict of a pack', async () => {
    const { code, out } = await run(save('pack.zip', 'PK\u0003\u0004'));
    expect(code).toBe(1);
    expect(out).toContain('not_a_zip');
  });
});
