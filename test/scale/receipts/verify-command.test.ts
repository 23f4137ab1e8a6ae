import { hash } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { Command } from 'commander';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { register } from '#cli/commands/verify.ts';
import { verifyFiles, verifyReceipt } from '#cli/verify/library.ts';
import { activeKey, ensureSigningKeys, keyPath } from '#shared/receipts/signing/files/key-files.ts';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { formatCheckpoint } from '#shared/ledger/checkpoints.ts';
import { formatNote, noteKeyHash } from '#shared/ledger/notes.ts';
import { publicKeyMultibase } from '#shared/receipts/signing/identifiers.ts';
import { makeCheckpointSigner } from '#test/support/ledger.ts';
import { formatCoseReceipt, signCoseRoot } from '#shared/ledger/cose-receipts.ts';
import { leafHash, nodeHash } from '#shared/ledger/hashing.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { NAME, REGION } from '#shared/receipts/fields.ts';
import { buildReceipt, type ReceiptInput } from '#shared/receipts/build.ts';
import { requestDigest } from '#shared/receipts/digest.ts';
import { derivationDigest } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { runs } from '#test/support/depth.ts';
import { forAllAsync } from '#test/support/for-all.ts';
import { signedReceipt } from '#test/support/signed-receipt.ts';
import { INPUTS, issuer, newIssuer, SIGNED_AT } from '#test/unit/receipts/samples.ts';
import { turnsDuring } from '#test/support/turns-during.ts';

const { signer, did } = newIssuer();
const TRUST = { didJson: JSON.stringify(did), source: 'did.json', isChosen: true };
/** The command judges by the machine's clock, so these were signed before any machine could run it, right after they ran. */
const inputOf = (kind: string): ReceiptInput => {
  const input = INPUTS[kind]!;
  const signedAt = Date.UTC(2024, 0, 1);
  const earlier = SIGNED_AT - signedAt;
  const { startedAt, endedAt } = input.record;
  const times = { startedAt: startedAt - earlier, endedAt: endedAt - earlier };
  const requestId = newId('req', times.startedAt);
  return { ...input, record: { ...input.record, ...times, requestId }, signedAt };
};
const full = inputOf('full');
const text = signer.sign(buildReceipt(full));

/** A receipt of this answer to this request. */
function receiptOf({
  answer,
  request,
  ...more
}: {
  answer: string;
  request: string;
  relayedPayloads?: number;
  route?: 'responses' | 'messages';
}): string {
  const { salt } = full.record;
  const responseDigest = requestDigest(salt, Buffer.from(answer));
  const digests = { responseDigest, requestDigest: requestDigest(salt, Buffer.from(request)) };
  // Payloads are counted of streams that did not come to their end.
  const broken =
    more.relayedPayloads === undefined ? {} : { outcome: 'partial' as const, relayedTokens: 1 };
  const record = { ...full.record, ...digests, ...more, ...broken };
  return signer.sign(buildReceipt({ ...full, record }));
}

/** An answer as the service sends it. */
const answered = (answer: string, request = '{}'): string =>
  `${answer.slice(0, -1)},"receipt":${receiptOf({ answer, request })}}`;

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

const save = (name: string, content: string | Buffer): string => {
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
    expect(out).toContain('does not show that a model ran');
  });

  it('says amounts in the units of people, and to the last digit with --details', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const file = save('receipt.json', text);
    const { out } = await run(file, '--trust', trust);
    expect(out).toMatch(/^energy +308 mWh \[147–647\]$/m);
    expect(out).toMatch(/^minerals and metals +22\.7 ng Sbe \[10\.8–47\.7\]$/m);
    expect(out).toMatch(/^quality of data +T2, open weights on known hardware; .*intervals$/m);
    expect(out).not.toMatch(/adpe|gwp|0\.000308123456789|leaf hash/);
    const { out: whole } = await run(file, '--trust', trust, '--details');
    expect(whole).toContain('0.000308123456789 kWh (');
    expect(whole).toMatch(/^leaf hash /m);
  });

  it('says BAD with exit code 1 when a field was edited', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const edited = text.replace('"outputTokens":356', '"outputTokens":355');
    const file = save('receipt.json', edited);
    const { out, code } = await run(file, '--trust', trust);
    expect(code).toBe(1);
    expect(out.startsWith(`BAD  ${file}: The signature does not fit`)).toBe(true);
    expect(out).toContain('signature_invalid');
  });

  it('takes a whole answer, a stream, and standard input', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const answer = answered(`{"id":"chatcmpl-1","usage":null}`);
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
    expect(code).toBe(3);
    expect(out).toMatch(/^INTACT, ISSUER UNKNOWN {2}/);
    expect(out).toContain('lay beside it and does not show whose it is');
  });

  it('a did.json beside the receipt counts when its SHA-256 was pinned, and no other does', async () => {
    const receipt = save('receipt.json', text);
    const pin = hash('sha256', JSON.stringify(did));
    expect((await run(receipt, '--pin', pin)).code).toBe(2);
    save('did.json', JSON.stringify(did));
    expect((await run(receipt, '--pin', pin)).code).toBe(0);
    expect((await run(receipt, '--pin', hash('sha256', 'another'))).code).toBe(2);
  });

  it('without either uses the deployment’s own keys', async () => {
    const keysDir = join(dir, 'signing-keys');
    const { privateKeyPem } = activeKey(ensureSigningKeys(keysDir), 'receipts');
    vi.stubEnv('SIGNING_KEYS_DIR', keysDir);
    const own = createReceiptSigner({ privateKeyPem: privateKeyPem!, did: issuer.did }).sign(
      buildReceipt(inputOf('degraded')),
    );
    // A directory of keys that came with a receipt says nothing of whose it is, as a did.json does not.
    const { out: others, code: ofOthers } = await run(save('receipt.json', own));
    expect([ofOthers, others]).toEqual([3, expect.stringContaining('do not show whose it is')]);
    vi.stubEnv('PUBLIC_URL', issuer.publicUrl);
    const { out, code } = await run(save('receipt.json', own));
    expect(code).toBe(0);
    expect(out).toContain(`own keys in ${keysDir}`);
    expect((await run(save('foreign.json', text))).code).toBe(1);
    chmodSync(keyPath(keysDir, 'receipts', 'active'), 0o644);
    expect((await run(save('receipt.json', own))).out).toContain('fetch did.json from the issuer');
  });

  it('with nothing to trust cannot be judged, says which key signed, and fetches nothing', async () => {
    const fetched = vi.spyOn(globalThis, 'fetch');
    const { out, code } = await run(save('receipt.json', text));
    expect(code).toBe(2);
    expect(out).toContain('says it is signed by');
    expect(out).toContain(signer.kid);
    expect(out).toContain('fetch did.json from the issuer and name it with --trust');
    expect(fetched).not.toHaveBeenCalled();
  });

  it('a spoofed receipt, whichever of its texts holds a fake verdict, is BAD on one line of its own and moves no cursor', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const fake = '\r\n\u001b[2K\u001b[1AGOOD  The receipt is what its issuer signed.\u202e\u009b';
    const places: (string | number)[][] = [];
    const walk = (value: unknown, place: (string | number)[]): void => {
      if (typeof value === 'string') places.push(place);
      if (typeof value !== 'object' || value === null) return;
      for (const [name, inner] of Object.entries(value)) walk(inner, [...place, name]);
    };
    walk(JSON.parse(text), []);
    expect(places.length).toBeGreaterThan(30);
    for (const place of [...places, undefined]) {
      const spoofed = JSON.parse(text) as Record<string, unknown>;
      // All at once, and each alone: parsing ends at the first that it does not take.
      for (const path of place === undefined ? places : [place]) {
        const holder = path
          .slice(0, -1)
          .reduce<Record<string, unknown>>(
            (inner, step) => inner[step] as Record<string, unknown>,
            spoofed,
          );
        holder[path.at(-1)!] = `${String(holder[path.at(-1)!])}${fake}`;
      }
      const { out, code } = await run(
        save('receipt.json', JSON.stringify(spoofed)),
        '--trust',
        trust,
      );
      expect(code, String(place)).toBe(1);
      expect(out.match(/^(GOOD|BAD)\b/gm), String(place)).toEqual(['BAD']);
      expect(out.replaceAll('\n', ''), String(place)).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    }
  });

  it.each([
    ['a file that holds no receipt', '{"object":"list"}', 'missing_field'],
    ['a receipt that was cut', text.slice(0, -20), 'not_json'],
    ['a field twice', text.replace('"tier":', '"tier":"audit","tier":'), 'duplicate_key'],
  ])('%s is BAD', async (_, content, reason) => {
    const { out, code } = await run(save('receipt.json', content), '--json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ verdict: 'bad', code: reason });
  });

  it.each([
    ['a program', 'import { x } from "y";\n'],
    ['nothing at all', ''],
    ['marks of byte order alone', '\uFEFF'.repeat(1_365)],
    ['a list', `[${text}]`],
    ['what is no text', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x7b])],
  ])(
    '%s is nothing to be judged: one line names the file, with exit code 2',
    async (_, content) => {
      const file = save('use.mjs', content);
      const { out, code } = await run(file);
      expect(code).toBe(2);
      expect(out).toBe(
        `CANNOT JUDGE  ${file} holds no receipt: it is neither a JSON object, nor a stream of an answer, nor a pack.\n`,
      );
      const { code: verdict } = JSON.parse((await run(file, '--json')).out) as { code: string };
      expect(verdict).toBe('cannot_judge');
    },
  );

  it('--json prints one object for programs', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const { out } = await run(save('receipt.json', text), '--trust', trust, '--json');
    const leaf = leafHash(Buffer.from(text));
    expect(JSON.parse(out)).toMatchObject({
      verdict: 'good',
      code: 'good',
      kid: signer.kid,
      leaf_hash: Buffer.from(leaf).toString('hex'),
      receipt: { tier: 'audit_plus' },
    });
  });

  it('a missing file, or a did.json that is none, cannot be judged: one line names it, with exit code 2', async () => {
    const receipt = save('receipt.json', text);
    const pack = save('pack.zip', 'PK\u0003\u0004');
    const [none, nowhere] = [save('x.json', '{}'), join(dir, 'nowhere.json')];
    for (const [reason, ...args] of [
      [/There is no file .*nowhere\.json/, nowhere],
      [/is not a file/, dir],
      [/x\.json.*not a DID document/, receipt, '--trust', none],
      [/There is no file .*nowhere\.json/, receipt, '--trust', nowhere],
      [/did\.json to be trusted cannot be read/, pack, '--trust', none],
      [/--tsa-trust/, pack, '--require-timestamp'],
      [/no certificate/, pack, '--tsa-trust', none],
    ] as [RegExp, ...string[]][]) {
      const { out, code } = await run(...args);
      expect([code, out]).toEqual([2, expect.stringMatching(/^CANNOT JUDGE {2}[^\n]+\n$/)]);
      expect(out).toMatch(reason);
      expect(JSON.parse((await run(...args, '--json')).out)).toMatchObject({
        verdict: 'cannot_judge',
      });
    }
  });

  it('names the file that is not JSON', async () => {
    const path = save('receipt.json', 'hello');
    expect((await run(path)).out).toContain(path);
  });

  it('a file that begins like a pack and is none gets the verdict of a pack', async () => {
    const { code, out } = await run(save('pack.zip', 'PK\u0003\u0004'));
    expect(code).toBe(1);
    expect(out).toContain('not_a_zip');
  });
});

describe('a signed head', () => {
  const headSigner = makeCheckpointSigner();
  const { publicKey } = headSigner;
  const origin = 'gateway.example/log/org_01JD0A8N5K3M7Q2T9VXB4C6DEF';
  const head = formatCheckpoint({ origin, size: 41_207, root: new Uint8Array(32), extensions: [] });
  const signature = headSigner.sign(Buffer.from(head));
  const note = formatNote({
    text: head,
    signatures: [{ name: origin, keyHash: noteKeyHash(origin, publicKey), signature }],
  });
  const method = {
    id: '#heads',
    type: 'Multikey',
    controller: issuer.did,
    publicKeyMultibase: publicKeyMultibase(publicKey),
  };
  const published = { id: issuer.did, verificationMethod: [method] };

  it('is good by a key of the issuer that signs no receipts, and bad by any other or where it was altered', async () => {
    const file = save('checkpoint.txt', note);
    const trust = save('trusted/did.json', JSON.stringify(published));
    const { out, code } = await run(file, '--trust', trust);
    expect([code, out]).toEqual([0, expect.stringMatching(/^GOOD {2}The signed head is what/)]);
    expect(out).toMatch(/^entries +41\u202F207$/m);
    const altered = save('altered.txt', note.replace('41207', '41206'));
    expect((await run(altered, '--trust', trust)).code).toBe(1);
    const both = { ...published, assertionMethod: ['#heads'] };
    const other = save('other/did.json', JSON.stringify(both));
    expect((await run(file, '--trust', other)).code).toBe(1);
    expect((await run(save('alone/checkpoint.txt', note))).code).toBe(2);
  });
});

describe('a COSE receipt of inclusion', () => {
  const headSigner = makeCheckpointSigner();
  const { publicKey } = headSigner;
  const kid = `${issuer.did}#heads`;
  const origin = issuer.logs + full.record.orgId;
  const published = {
    ...did,
    verificationMethod: [
      ...did.verificationMethod,
      {
        id: kid,
        type: 'Multikey',
        controller: issuer.did,
        publicKeyMultibase: publicKeyMultibase(publicKey),
      },
    ],
  };
  const sibling = leafHash(Buffer.from('another'));
  const coseOf = (more: { kid?: string; origin?: string; issuer?: string } = {}): Buffer => {
    const root = nodeHash(sibling, leafHash(Buffer.from(text)));
    const head = { origin: more.origin ?? origin, size: 2, root };
    const names = { issuer: more.issuer ?? issuer.did, kid: more.kid ?? kid };
    const signed = signCoseRoot(head, names, headSigner);
    return Buffer.from(formatCoseReceipt({ ...signed, size: 2, index: 1, hashes: [sibling] }));
  };
  const judged = async (cose: Buffer, receipt = text, trusted: object = published) => {
    const trust = ['--trust', save('trusted/did.json', JSON.stringify(trusted))];
    const files = [save('receipt.cose', cose), '--receipt', save('receipt.json', receipt)];
    const { out, code } = await run(...files, ...trust, '--json');
    return { exit: code, ...(JSON.parse(out) as object) };
  };

  it('is GOOD for its receipt, in any form that it was saved in, and says which log has it where', async () => {
    const trust = save('trusted/did.json', JSON.stringify(published));
    const cose = save('receipt.cose', coseOf());
    const indented = JSON.stringify(JSON.parse(text), null, 2);
    for (const saved of [text, indented, `{"id":"1","receipt":${text}}`]) {
      const receipt = ['--receipt', save('receipt.json', saved)];
      const { out, code } = await run(cose, ...receipt, '--trust', trust);
      expect([code, out]).toEqual([
        0,
        expect.stringMatching(/^GOOD {2}The receipt is what its issuer signed, and the log/),
      ]);
      expect(out).toContain(origin);
      expect(out).toMatch(/^entry +index 1 of 2 entries$/m);
    }
    save('did.json', JSON.stringify(published));
    expect((await run(cose, '--receipt', save('receipt.json', text))).code).toBe(3);
  });

  it.each<[string, () => Promise<object>, string]>([
    [
      'of another receipt',
      () => judged(coseOf(), receiptOf({ answer: '{}', request: '{}' })),
      'inclusion_invalid',
    ],
    [
      'of a receipt that was altered',
      () => judged(coseOf(), text.replace('"outputTokens":', '"outputTokens":1')),
      'signature_invalid',
    ],
    [
      'with bytes behind it',
      () => judged(Buffer.concat([coseOf(), Buffer.of(0)])),
      'cose_malformed',
    ],
    ['of another log', () => judged(coseOf({ origin: `${origin}0` })), 'log_mismatch'],
    [
      'of another issuer',
      () => judged(coseOf({ issuer: 'did:web:other.example' })),
      'issuer_mismatch',
    ],
    [
      'by a key that no trusted one is',
      () => judged(coseOf({ kid: `${issuer.did}#x` })),
      'unknown_key',
    ],
    [
      'by a key that signs receipts',
      () => judged(coseOf({ kid: signer.kid })),
      'key_not_authorised',
    ],
    [
      'by a key that was revoked',
      () => {
        const methods = published.verificationMethod.map((method) =>
          method.id === kid ? { ...method, revoked: '2026-01-01T00:00:00Z' } : method,
        );
        return judged(coseOf(), text, { ...published, verificationMethod: methods });
      },
      'key_revoked',
    ],
  ])('%s it is BAD, by %s', async (_what, judge, reason) => {
    expect(await judge()).toMatchObject({ exit: 1, verdict: 'bad', code: reason });
  });

  it('without its receipt, or without keys, it cannot be judged, and no other file takes --receipt', async () => {
    const trust = ['--trust', save('trusted/did.json', JSON.stringify(published))];
    const [cose, receipt] = [save('receipt.cose', coseOf()), save('receipt.json', text)];
    expect((await run(cose, ...trust)).out).toContain('--receipt');
    expect((await run(cose, '--receipt', receipt)).code).toBe(2);
    expect((await run(receipt, '--receipt', receipt, ...trust)).code).toBe(2);
    expect((await run(cose, '--receipt', receipt, ...trust, '--require-anchor')).code).toBe(2);
  });
});

describe('the answer and the request beside a receipt', () => {
  const sent =
    '{"id":"chatcmpl-1","choices":[{"message":{"content":"Blau, größer als 1.0 <& 𝛼"}}],"p":1.0}';
  const asked = '{"model":"llama-3.1-8b","messages":[{"role":"user","content":"Warum?"}]}';
  const altered = (saved: string): string => saved.replace('Blau', 'Grau');
  const judged = async (content: string, ...args: string[]) =>
    run(
      save('answer.json', content),
      '--trust',
      save('trusted/did.json', JSON.stringify(did)),
      ...args,
    );
  const code = async (content: string, ...args: string[]): Promise<unknown> => {
    const { out, code: exit } = await judged(content, ...args, '--json');
    const { code: reason, answer, request } = JSON.parse(out) as Record<string, string>;
    return { exit, reason, answer, request };
  };

  it('an answer as it was sent is the one, and GOOD says so', async () => {
    const { out } = await judged(answered(sent));
    expect(out).toMatch(
      /^GOOD {2}.* The answer is the one that it is of; the request was not compared\.\n/,
    );
  });

  it('an answer whose text was altered is BAD, with the words that one written again looks so too', async () => {
    const { out, code: exit } = await judged(altered(answered(sent)));
    expect(exit).toBe(1);
    expect(out).toMatch(
      /^BAD {2}.*The answer is not the one .*written again in another form looks so too\.\n/,
    );
    expect(out).toMatch(
      /^answer +another \(tried: as it is, with and without the end of its last line; its JSON compact, with Python’s spacing, indented by two spaces, indented by four spaces, each also in ASCII, and compact as Go writes it\)$/m,
    );
    expect(await code(altered(answered(sent)))).toMatchObject({ reason: 'answer_differs' });
  });

  it('where only a receipt is given, the first line says that answer and request were not compared', async () => {
    const { out, code: exit } = await judged(text);
    expect(exit).toBe(0);
    expect(out).toMatch(/^GOOD {2}.* Answer and request were not compared\.\n/);
  });

  const spaced = (json: string): string => json.replaceAll(/(?<=["\]0}])([:,])(?=["[1{])/g, '$1 ');
  const inAscii = (json: string): string =>
    json.replaceAll(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const digests = (answer: string, request = asked) => receiptOf({ answer, request });
  it.each([
    ['as it is', sent],
    ['ended by a line feed', `${sent}\n`],
    ['with Python’s spacing', spaced(sent)],
    ['indented by two', JSON.stringify(JSON.parse(sent), null, 2).replace('"p": 1', '"p": 1.0')],
    ['compact in ASCII', inAscii(sent)],
    ['with Python’s spacing in ASCII', inAscii(spaced(sent))],
    ['compact as Go writes it', sent.replace('<', '\\u003c').replace('&', '\\u0026')],
    [
      'indented by four in ASCII',
      inAscii(JSON.stringify(JSON.parse(sent), null, 4).replace('"p": 1', '"p": 1.0')),
    ],
    ['ended by CRLF', `${sent}\r\n`],
    ['indented by four', JSON.stringify(JSON.parse(sent), null, 4).replace('"p": 1', '"p": 1.0')],
  ])('an answer that was sent %s is found in a file that another program wrote', async (_, was) => {
    const receipt = digests(was);
    const again = [
      sent,
      was,
      JSON.stringify(JSON.parse(sent), null, 3).replace('"p": 1', '"p": 1.0'),
    ];
    for (const file of again) {
      const whole = `${file.trimEnd().slice(0, -1)},"receipt":${receipt}}`;
      expect(await code(whole), file).toMatchObject({ exit: 0, answer: 'same' });
      expect(await code(altered(whole)), file).toMatchObject({ exit: 1, answer: 'differs' });
    }
  });

  it('a saved stream is compared payload by payload, with any line ends', async () => {
    const payloads = ['{"choices":[{"delta":{"content":"Blau"}}]}', '{"choices":[],"usage":{}}'];
    const receipt = digests(payloads.join(''));
    const last = `${payloads[1]!.slice(0, -1)},"receipt":${receipt}}`;
    const stream = [`: keepalive`, `data: ${payloads[0]}`, `data: ${last}`, 'data: [DONE]', ''];
    for (const end of ['\n', '\r\n', '\r']) {
      const saved = stream.join(end + end);
      expect(await code(saved)).toMatchObject({ exit: 0, answer: 'same' });
      expect(await code(saved.replace('Blau', 'Grün'))).toMatchObject({ reason: 'answer_differs' });
      expect(await code(`data: {"choices":[]}${end}${end}${saved}`)).toMatchObject({ exit: 1 });
    }
  });

  it('a saved stream of a message is compared without signs of life, those of the upstream too', async () => {
    const event = (payload: { type: string }) =>
      `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`;
    const [start, said] = [
      { type: 'message_start', message: { id: 'msg_1' } },
      { type: 'content_block_delta', delta: { type: 'text_delta', text: 'a "ping"' } },
    ];
    const end = { type: 'message_stop' };
    const answer = [start, said, end].map((payload) => JSON.stringify(payload)).join('');
    const receipt = JSON.parse(receiptOf({ answer, request: asked, route: 'messages' })) as object;
    const ping = event({ type: 'ping' });
    const saved = (...alive: string[]) =>
      [
        event(start),
        ...alive,
        event(said),
        ...alive,
        event({ ...end, receipt } as typeof end),
      ].join('');
    for (const stream of [saved(), saved(ping), saved(ping, ping)]) {
      expect(await code(stream)).toMatchObject({ answer: 'same' });
      expect(await code(stream.replace('a \\"ping', 'b \\"ping'))).toMatchObject({
        answer: 'differs',
      });
    }
  });

  it('a saved stream of a response is compared without what announces it, and without numbers', async () => {
    const event = (type: string, at: number, more: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: at, ...more })}\n\n`;
    const said = { delta: 'Blau', nested: { sequence_number: 7 } };
    const [delta, done] = [
      JSON.stringify({ type: 'response.output_text.delta', ...said }),
      JSON.stringify({ type: 'response.completed', response: { status: 'completed' } }),
    ];
    const receipt = receiptOf({ answer: delta + done, request: asked, route: 'responses' });
    const response = { status: 'completed' };
    const announced = event('response.created', 0, { response: {} });
    const alive = (at: number) => event('response.in_progress', at, { response: {} });
    const stream = (...announcements: string[]) =>
      [
        ...announcements,
        event('response.output_text.delta', announcements.length, said),
        alive(announcements.length + 1),
        event('response.completed', announcements.length + 2, {
          response,
          receipt: JSON.parse(receipt) as object,
        }),
      ].join('');
    for (const saved of [
      stream(announced, alive(1)),
      stream(announced, alive(1), alive(2), alive(3)),
    ]) {
      expect(await code(saved)).toMatchObject({ answer: 'same' });
      expect(await code(saved.replace('Blau', 'Grün'))).toMatchObject({ answer: 'differs' });
      expect(await code(saved.replace(':7}', ':8}'))).toMatchObject({ answer: 'differs' });
    }
    const broken = {
      answer: delta,
      request: asked,
      relayedPayloads: 1,
      route: 'responses' as const,
    };
    const uncarried = stream(announced, alive(1)).replace(/,"receipt":.*$/m, '}');
    const file = save('stream.txt', uncarried);
    expect(await code(receiptOf(broken), '--answer', file)).toMatchObject({ answer: 'begins' });
    // What is no event, because it was cut or made up, is compared as it is.
    for (const cut of ['{"type":"response.out', '{"type":', '{"type":nope}', '{"\\u00']) {
      const begun = `event: a\ndata: ${delta}\n\ndata: ${cut}\n\n`;
      expect(await code(receiptOf(broken), '--answer', save('cut.txt', begun))).toMatchObject({
        answer: 'begins',
      });
      const forged = save('forged.txt', `data: ${cut}\n\n`);
      expect(await code(receiptOf(broken), '--answer', forged)).toMatchObject({
        answer: 'differs',
      });
    }
  });

  it('a saved stream that goes on after the word that ends it is another', async () => {
    const [one, two] = ['{"choices":[{"delta":{"content":"Blau"}}]}', '{"choices":[]}'];
    const end = 'data: [DONE]\n\n';
    const [first, second] = [one, two].map((payload) => `data: ${payload}\n\n`);
    for (const relayedPayloads of [undefined, 0, 1, 2]) {
      const relayed = relayedPayloads === undefined ? {} : { relayedPayloads };
      const answer = [one, two].slice(0, relayedPayloads).join('');
      const receipt = receiptOf({ answer, request: asked, ...relayed });
      const stream = (saved: string): string => save('stream.txt', saved);
      const whole = await code(receipt, '--answer', stream(`${first}${second}${end}${end}`));
      expect(whole).toMatchObject({ exit: 0 });
      const differs = { exit: 1, reason: 'answer_differs', answer: 'differs' };
      expect(await code(receipt, '--answer', stream(`${first}${end}${second}`))).toMatchObject(
        differs,
      );
      const carried = `data: ${two.slice(0, -1)},"receipt":${receipt}}\n\n`;
      expect(await code(`${first}${carried}${end}`)).toMatchObject({ exit: 0 });
      expect(await code(`${first}${end}${carried}`)).toMatchObject(differs);
    }
  });

  it('of a stream that broke off, the payloads are compared that the receipt states', async () => {
    const [one, two] = ['{"choices":[{"delta":{"content":"Blau"}}]}', '{"choices":[]}'];
    const receipt = receiptOf({ answer: one, request: asked, relayedPayloads: 1 });
    const stream = save('stream.txt', `data: ${one}\n\ndata: ${two}\n\n`);
    const { out, code: exit } = await judged(receipt, '--answer', stream);
    expect(exit).toBe(0);
    expect(out).toMatch(
      /^answer .*in its first payload; it states nothing of what comes after it$/m,
    );
    expect(out).toMatch(
      /^GOOD {2}.* The first payload of the answer is the one that it is of; 1 after it was not compared\. The request was not/,
    );
    expect(await code(receipt, '--answer', stream)).toMatchObject({ exit: 0, answer: 'begins' });
    const further = save('stream.txt', `data: ${one}\n\n`.repeat(2) + `data: ${two}\n\n`.repeat(3));
    const twice = receiptOf({ answer: one + one, request: asked, relayedPayloads: 2 });
    expect((await judged(twice, '--answer', further)).out).toMatch(
      /^GOOD {2}.* The first 2 payloads of the answer are those that it is of; 3 after them were not compared\./,
    );
    const whole = save('stream.txt', `data: ${one}\n\n`.repeat(2));
    expect(await code(twice, '--answer', whole)).toMatchObject({ exit: 0, answer: 'same' });
    const none = receiptOf({ answer: '', request: asked, relayedPayloads: 0 });
    expect(await code(none, '--answer', whole)).toMatchObject({ exit: 0, answer: 'not_compared' });
  });

  it('a request beside it is compared, also as curl sends a file', async () => {
    const answer = answered(sent, asked);
    const request = (content: string): string => save('request.json', content);
    expect((await judged(answer, '--request', request(asked))).out).toMatch(
      /^GOOD {2}.* The answer and the request are those that it is of\.\n/,
    );
    const inLines = JSON.stringify(JSON.parse(asked), null, 2);
    const asCurl = receiptOf({ answer: sent, request: inLines.replaceAll('\n', '') });
    expect(await code(asCurl, '--request', request(inLines))).toMatchObject({ request: 'same' });
    expect(await code(answer, '--request', request(asked.replace('8b', '70b')))).toEqual({
      exit: 1,
      reason: 'request_differs',
      answer: 'same',
      request: 'differs',
    });
  });

  it.each([
    ['LF', '{\n\t"model" : "x" }', '{\r\n\t"model" : "x" }\r\n'],
    ['CRLF and no last end', '{\r\n\t"model" : "x" }', '{\n\t"model" : "x" }\n'],
    ['LF and a last end', '{\n\t"model" : "x" }\n', '{\r\n\t"model" : "x" }'],
  ])(
    'a request that was sent with %s is found in a file whose lines an editor ended otherwise',
    async (_, was, saved) => {
      const receipt = receiptOf({ answer: sent, request: was });
      const beside = (content: string) => ['--request', save('request.json', content)];
      expect(await code(receipt, ...beside(saved))).toMatchObject({ exit: 0, request: 'same' });
      const other = saved.replace('x', 'y');
      expect(await code(receipt, ...beside(other))).toMatchObject({ exit: 1, request: 'differs' });
    },
  );

  it('a verdict that an answer differs names what was tried, and not what was too long, too deep or no JSON', async () => {
    const wide = `{"x":${'['.repeat(500)}${'1,'.repeat(50_000)}1${']'.repeat(500)}}`;
    for (const [answer, words] of [
      [
        sent.replace('ö', 'o'),
        /; its JSON compact, .*four spaces, each also in ASCII, and compact as Go writes it\)$/,
      ],
      [
        wide,
        /; its JSON compact, with Python’s spacing, each also in ASCII, and compact as Go writes it\)$/,
      ],
      [
        `[${'['.repeat(600)}${']'.repeat(601)}`,
        /line; its JSON was not written again, because it is nested deeper than 512 levels\)$/,
      ],
      [
        'no\nJSON',
        /^another \(tried: as it is, with LF between its lines, with CRLF between its lines, without line breaks, as curl -d sends a file, with and without the end of its last line; it is no JSON\)$/,
      ],
      [
        `"${'x'.repeat(32 * 1_048_576)}"`,
        /; its JSON was not written again, because it is longer than 32 Mi characters\)$/,
      ],
      [Uint8Array.of(0x7b, 0xff), /^another: its bytes are no text in UTF-8$/],
    ] as const) {
      const { verdict, said } = await verifyReceipt(digests(sent), { trust: TRUST, answer });
      expect(verdict).toBe('bad');
      expect(said.facts['answer']).toMatch(words);
    }
  });

  it('others have their turn while a long answer is compared, and progress is told', async () => {
    const answer = JSON.stringify({
      text: 'größer '.repeat(30_000),
      list: Array.from({ length: 20_000 }, (_, i) => i),
    });
    const told: number[] = [];
    const onProgress = (done: number, total: number): void => void told.push(done / total);
    const { turns } = await turnsDuring(() =>
      verifyReceipt(digests(sent), { trust: TRUST, answer, onProgress }),
    );
    // By slices of 65,536 characters, as it is and then in all spellings at once.
    const slices = Math.floor(answer.length / 65_536);
    expect(turns).toBeGreaterThanOrEqual(2 * (slices - 1));
    expect(told).toEqual(told.toSorted((one, other) => one - other));
    expect([told.length >= 2 * slices, told.at(-1)]).toEqual([true, 1]);
  });

  it('a file in another form is told by its name: it is nothing to be judged', async () => {
    const utf16 = (content: string): Buffer => Buffer.from(`\uFEFF${content}`, 'utf16le');
    const forms: [Buffer, string][] = [
      [utf16(answered(sent)), 'is UTF-16, as PowerShell writes it; save it as UTF-8.'],
      [utf16(answered(sent)).swap16(), 'is UTF-16; save it as UTF-8.'],
      [utf16(answered(sent)).subarray(2), 'is UTF-16; save it as UTF-8.'],
      [gzipSync(answered(sent)), 'is compressed with gzip; unpack it first.'],
      [Buffer.from('%PDF-1.7\n'), 'is a PDF; what can be checked is the JSON itself.'],
    ];
    for (const [content, words] of forms) {
      const file = save('answer.json', content);
      expect(await run(file)).toEqual({ code: 2, out: `CANNOT JUDGE  ${file} ${words}\n` });
      const chosen = await verifyFiles([{ name: 'answer.json', content }], { trust: TRUST });
      expect(chosen.said.headline).toBe(`answer.json ${words}`);
      for (const what of ['answer', 'request']) {
        const found = await verifyReceipt(digests(sent), { trust: TRUST, [what]: content });
        expect(found.verdict).toBe('cannot_judge');
        expect(found.said.headline).toBe(`The file of the ${what} ${words}`);
      }
    }
    const keys = save('trusted/did.json', utf16(JSON.stringify(did)));
    const { out } = await run(save('receipt.json', digests(sent)), '--trust', keys);
    expect(out).toBe(
      `CANNOT JUDGE  ${keys} is UTF-16, as PowerShell writes it; save it as UTF-8.\n`,
    );
  });

  it('JSON that is nested deeper than any program writes again differs, and is the one as it was sent', async () => {
    const deep = `{"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
    const wide = `{"x":${'['.repeat(500)}${'1,'.repeat(50_000)}1${']'.repeat(500)}}`;
    for (const content of [deep, wide]) {
      const differs = { exit: 1, reason: 'answer_differs', answer: 'differs' };
      const carried = `${content.slice(0, -1)},"receipt":${digests(sent)}}`;
      expect(await code(carried)).toMatchObject(differs);
      const found = await verifyReceipt(digests(sent), { trust: TRUST, answer: content });
      expect(found).toMatchObject({ verdict: 'bad', report: { code: 'answer_differs' } });
      const other = { trust: TRUST, answer: sent, request: content };
      const { report } = await verifyReceipt(digests(sent), other);
      expect(report).toMatchObject({ code: 'request_differs' });
      expect(await code(answered(content))).toMatchObject({ exit: 0, answer: 'same' });
    }
  });

  it('a byte order mark before an answer, a request or a string is no part of it', async () => {
    const marked = (content: string): string => `\uFEFF${content}`;
    const request = save('request.json', marked(asked));
    const beside = ['--answer', save('sent.json', marked(sent)), '--request', request];
    expect(await code(digests(sent), ...beside)).toMatchObject({
      exit: 0,
      answer: 'same',
      request: 'same',
    });
    const trust = { ...TRUST, didJson: marked(TRUST.didJson) };
    const carried = marked(answered(sent, asked));
    const options = { trust, request: marked(asked) };
    const same = { verdict: 'good', report: { answer: 'same', request: 'same' } };
    expect(await verifyReceipt(carried, options)).toMatchObject(same);
    const chosen = [{ name: 'answer.json', content: carried }];
    expect(await verifyFiles(chosen, options)).toMatchObject(same);
    const alone = { ...options, answer: marked(sent) };
    expect(await verifyReceipt(marked(digests(sent)), alone)).toMatchObject(same);
  });

  it('an answer beside a receipt that carries another receipt is another, and one that carries it is the one', async () => {
    const receipt = digests(sent);
    const beside = async (carried: string): Promise<unknown> =>
      code(receipt, '--answer', save('other.json', `${sent.slice(0, -1)},"receipt":${carried}}`));
    const streamed = async (carried: string): Promise<unknown> => {
      const stream = `data: ${sent.slice(0, -1)},"receipt":${carried}}\n\ndata: [DONE]\n\n`;
      return code(receipt, '--answer', save('stream.txt', stream));
    };
    const late = '{"id":"rcpt_1","type":["PendingReceipt"],"tier":"pending"}';
    for (const judge of [beside, streamed]) {
      for (const carried of [receipt, JSON.stringify(JSON.parse(receipt), null, 1), late]) {
        const one = judge === beside ? carried : carried.replaceAll('\n', ' ');
        expect(await judge(one)).toMatchObject({ exit: 0, answer: 'same' });
      }
      for (const carried of [text, '{}', 'null', `${receipt},"receipt":${text}`]) {
        expect(await judge(carried)).toMatchObject({ exit: 1, reason: 'answer_differs' });
      }
    }
  });

  it('an answer beside a receipt of a request that got none is BAD', async () => {
    const refused = signer.sign(buildReceipt(inputOf('refused')));
    const fabricated = `${sent.slice(0, -1)},"receipt":${refused}}`;
    expect(await code(fabricated)).toMatchObject({ exit: 1, reason: 'answer_differs' });
  });

  it('an altered answer is BAD also where no keys are known, and a receipt that was altered is told first', async () => {
    const file = save('alone/answer.json', altered(answered(sent)));
    expect((await run(file)).out).toMatch(/^BAD .*The answer is not the one/);
    const both = altered(answered(sent)).replace('"outputTokens":356', '"outputTokens":355');
    expect(await code(both)).toMatchObject({ reason: 'signature_invalid', answer: 'differs' });
  });

  it('what was asked for and cannot be looked at is no verdict', async () => {
    for (const args of [['--require-anchor'], ['--require-timestamp'], ['--tsa-trust', 'x.pem']]) {
      const { out, code: exit } = await judged(answered(sent), ...args);
      expect([exit, out]).toEqual([
        2,
        `CANNOT JUDGE  ${args[0]} is for packs, and this is none.\n`,
      ]);
    }
    const pack = fileURLToPath(new URL('../../vectors/format-1/whole.zip', import.meta.url));
    for (const flag of ['--answer', '--request', '--derivation']) {
      const { out, code: exit } = await run(pack, flag, save('beside.json', sent));
      expect([exit, out]).toEqual([
        2,
        `CANNOT JUDGE  ${flag} is for one receipt, and this is a pack.\n`,
      ]);
    }
  });

  it('an answer that lists what looks like an audit log is judged as the answer that it is', async () => {
    const lists = '{"object":"list","data":[{"object":"audit_log_entry","previous_hash":"x"}]}';
    const files = [{ name: 'answer.json', content: answered(lists) }];
    expect(await verifyFiles(files, { trust: TRUST })).toMatchObject({
      verdict: 'good',
      report: { answer: 'same' },
    });
    expect(await code(answered(lists))).toMatchObject({ exit: 0, answer: 'same' });
  });

  const ANOTHER = /The answer is not the one that the receipt is of\.$/;
  it.each<
    [what: string, was: string, given: (receipt: string) => string, words: RegExp, headline: RegExp]
  >([
    [
      'that carries another receipt',
      sent,
      () => `${sent.slice(0, -1)},"receipt":${text}}`,
      /^another: it carries another receipt$/,
      ANOTHER,
    ],
    [
      'of a stream that goes on after its end',
      sent,
      () => `data: ${sent}\n\ndata: [DONE]\n\ndata: {}\n\n`,
      /^another: payloads follow/,
      ANOTHER,
    ],
    [
      'of which payloads are missing',
      `${sent}${sent}`,
      () => `data: ${sent}\n\n`,
      /^another: it has 1 of the 2 payloads that the receipt is of$/,
      ANOTHER,
    ],
    [
      'with half of a character, where the sign for what cannot be read was sent',
      sent.replace('ö', '\uFFFD'),
      () => sent.replace('ö', '\uD800'),
      /^another \(tried: nothing, because it holds half of a character\)$/,
      /\. A file that a program has written again in another form looks so too\.$/,
    ],
  ])(
    'an answer %s is BAD, and the first line speaks of another form only where that may be the reason',
    async (name, was, given, words, headline) => {
      const relayed = name.includes('payloads are missing') ? { relayedPayloads: 2 } : {};
      const receipt = receiptOf({ answer: was, request: asked, ...relayed });
      const { verdict, said } = await verifyReceipt(receipt, {
        trust: TRUST,
        answer: given(receipt),
      });
      expect([verdict, said.facts['answer']]).toEqual(['bad', expect.stringMatching(words)]);
      expect(said.headline).toMatch(headline);
    },
  );

  it('a did.json that was named and pinned is compared with the pin, and a record that no receipt names is not passed over', async () => {
    const trust = save('trusted/did.json', JSON.stringify(did));
    const receipt = save('receipt.json', text);
    const pinned = async (pin: string) => (await run(receipt, '--trust', trust, '--pin', pin)).code;
    expect(await pinned(hash('sha256', JSON.stringify(did)))).toBe(0);
    expect(await pinned(hash('sha256', 'another'))).toBe(2);
    const degraded = save('degraded.json', signer.sign(buildReceipt(inputOf('degraded'))));
    const { out, code: exit } = await run(degraded, '--trust', trust, '--derivation', trust);
    expect([exit, out]).toEqual([2, expect.stringContaining('the receipt names none')]);
  });

  it('what a receipt states is called unproven where no signature on it counts, and only there', async () => {
    const unproven = /^signature +none that counts: what follows is what the file says$/m;
    const edited = text.replace('"outputTokens":356', '"outputTokens":355');
    expect((await judged(edited)).out).toMatch(unproven);
    expect((await run(save('alone/receipt.json', text))).out).toMatch(unproven);
    for (const content of [text, answered(sent), altered(answered(sent))]) {
      expect((await judged(content)).out).not.toMatch(unproven);
    }
  });

  it('an audit log is told as such, and is no bad receipt', async () => {
    const page = {
      object: 'list',
      data: [
        {
          object: 'audit_log_entry',
          id: 'aud_1',
          sequence: 0,
          at: '2026-11-20T10:00:00.000Z',
          action: 'key.issued',
          actor: { kind: 'user', id: 'usr_1' },
          address: null,
          subject: null,
          reason: null,
          details: {},
          previous_hash: '0'.repeat(64),
          hash: '1'.repeat(64),
        },
      ],
      has_more: false,
    };
    for (const content of [JSON.stringify(page), JSON.stringify(page, null, 2)]) {
      const { out, code: exit } = await run(save('log.json', content));
      expect([exit, out]).toEqual([2, expect.stringContaining('docket audit verify-file')]);
    }
  });

  it('two answers are nothing to be judged', async () => {
    const { out, code: exit } = await judged(answered(sent), '--answer', save('other.json', sent));
    expect([exit, out]).toEqual([2, expect.stringContaining('holds an answer already')]);
  });

  it('no character of an answer or a request can be altered unseen', async () => {
    const receipt = digests(sent);
    await forAllAsync(
      [fc.nat(sent.length - 1), fc.string({ minLength: 1, maxLength: 2 })],
      { numRuns: runs(2_000) },
      async (at, put) => {
        const other = sent.slice(0, at) + put + sent.slice(at + 1);
        const { verdict } = await verifyReceipt(receipt, { trust: TRUST, answer: other });
        expect(verdict).toBe(isSameJson(other, sent) ? 'good' : 'bad');
      },
    );
  });
});

/** Whether two texts hold the same members in the same order, with the same digits. */
function isSameJson(one: string, other: string): boolean {
  const digits = (json: string): string =>
    JSON.stringify(
      JSON.parse(json, (_, value: unknown, context?: { source?: string }) =>
        typeof value === 'number' ? { digits: context?.source } : value,
      ),
    );
  try {
    return digits(one) === digits(other);
  } catch {
    return false;
  }
}

describe('a receipt that a holder of the key can sign, and the service never issues', () => {
  const corpus = new URL('../../vectors/format-1/', import.meta.url);
  const read = (path: string): string => readFileSync(new URL(path, corpus), 'utf8');
  const issued = (name: string) => JSON.parse(read(`receipts/${name}.json`)) as ReceiptDocument;
  const honest = issued('complete');
  const digest = derivationDigest(honest.measurement!);
  const issuing = createReceiptSigner({
    privateKeyPem: read('keys/receipts/active.pem'),
    did: honest.issuer,
  });
  const judged = async (
    edit: (receipt: ReturnType<typeof JSON.parse>) => void,
    how: 'alone' | 'with its record',
    from = honest,
  ) => {
    const { proof: _, ...receipt } = structuredClone(from);
    edit(receipt);
    const file = save('receipt.json', signedReceipt(issuing, receipt));
    const trust = save('trusted/did.json', read('did.json'));
    if (how === 'with its record') save(`${digest}.json`, read(`derivations/${digest}.json`));
    return run(file, '--trust', trust);
  };

  it('is computed again where its derivation record is there, and GOOD says so', async () => {
    expect((await judged(() => {}, 'alone')).out).not.toMatch(/^figures/m);
    const { out, code } = await judged(() => {}, 'with its record');
    expect(code).toBe(0);
    expect(out).toMatch(/^figures +computed again from what it names, and the same$/m);
  });

  it('is BAD beside a record that it does not name, in words and by a code of its own', async () => {
    const trust = save('trusted/did.json', read('did.json'));
    const file = save('receipt.json', read('receipts/complete.json'));
    const other = save('other.json', read(`derivations/${digest}.json`).replace('{', '{ '));
    const { out, code } = await run(file, '--trust', trust, '--derivation', other);
    expect([code, out]).toEqual([
      1,
      expect.stringMatching(
        /^BAD {2}.*: The record beside it is not the one that the receipt names\.\n/,
      ),
    ]);
    expect(out).toMatch(/^reason +derivation_mismatch$/m);
  });

  it('is BAD where its figures do not follow from what it names', async () => {
    const { out, code } = await judged(
      (receipt) => void (receipt.measurement.result[0].value = '0.000001'),
      'with its record',
    );
    expect([code, out]).toEqual([1, expect.stringMatching(/^BAD .*do not follow from/)]);
    expect(out).toContain('figures_mismatch');
  });

  it.each<[string, string, (receipt: ReturnType<typeof JSON.parse>) => void]>([
    ['measured', 'on-a-meter-measured', (r) => void delete r.measurement.metered],
    ['hourly_factor', 'enterprise-hourly-corrected', (r) => void r.measurement.used.pop()],
    ['measured', 'enterprise-hourly-corrected', (r) => void (r.revisionReason = 'measured')],
    [
      'hours_incomplete',
      'enterprise-hourly-corrected',
      (r) => void (r.revisionReason = 'hours_incomplete'),
    ],
    ['hourly_factor', 'on-a-meter-measured', (r) => void (r.revisionReason = 'hourly_factor')],
  ])('is BAD where its reason is %s and it (%s) has nothing of it', async (_, name, edit) => {
    expect((await judged(() => {}, 'alone', issued(name))).code).toBe(0);
    const { out, code } = await judged(edit, 'alone', issued(name));
    expect([code, out]).toEqual([1, expect.stringMatching(/^BAD .*\(revisionReason, and /)]);
  });

  it.each([
    ['model', 'llama 3.1'],
    ['model', 'läma'],
    ['region', 'EU North'],
    ['region', '-'],
  ])('is BAD where its %s is “%s”, which no catalogue allows', async (name, value) => {
    const { out, code } = await judged(
      (receipt) => void (receipt.credentialSubject[name] = value),
      'alone',
    );
    expect(code).toBe(1);
    expect(out).toMatch(new RegExp(`^BAD .*credentialSubject\\.${name}: must be a name of`));
  });

  it('names have the characters that the schema of catalogues gives them', () => {
    const schema = JSON.parse(
      readFileSync(new URL('../../../docs/catalogue.schema.json', import.meta.url), 'utf8'),
    );
    const { model, name } = schema.$defs;
    expect([NAME.pattern, REGION.pattern]).toEqual([model.properties.id.pattern, name.pattern]);
  });

  it.each<[string, (receipt: ReturnType<typeof JSON.parse>) => void]>([
    ['tokens', (r) => void (r.credentialSubject.outputTokens += 1)],
    ['its route', (r) => void (r.credentialSubject.route = 'completions')],
    ['when it began', (r) => void (r.credentialSubject.startedAt = '2020-01-01T00:00:00.000Z')],
    [
      'the name of its model',
      (r) => void (r.credentialSubject.requestedModel = r.credentialSubject.model),
    ],
    ['the characters of a name', (r) => void (r.credentialSubject.modelVersion = 'gpt\u202e-4o')],
    ['what it goes on from', (r) => void (r.credentialSubject.previous = r.id)],
    ['its quality of data', (r) => void (r.measurement.dataQuality = 'T1')],
  ])('is BAD where it says two things of %s, also without its record', async (_, edit) => {
    for (const how of ['alone', 'with its record'] as const) {
      const { out, code } = await judged(edit, how);
      expect([code, out]).toEqual([1, expect.stringMatching(/^BAD .*says two things at once/)]);
      expect(out).toContain('contradiction');
    }
  });
});
