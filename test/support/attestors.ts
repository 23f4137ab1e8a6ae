import { execFile } from 'node:child_process';
import type { KeyObject } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { verifyEd25519 } from '#shared/receipts/signing/key-objects.ts';
import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import type { Witness } from '#shared/ledger/cosignatures.ts';
import { cosign, makeWitness, witnessKey } from './witness-key.ts';
import { sameHash } from '#shared/ledger/hashing.ts';
import { formatSignature, signerOf } from '#shared/ledger/notes.ts';
import { verifyConsistency } from '#shared/ledger/proofs.ts';
import { atFileEnd } from './file-end.ts';

const run = promisify(execFile);

/** A server whose answer the test can change; it stops after the file's last test. */
async function serve(
  answer: (
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
  ) => Promise<void> | void,
): Promise<string> {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => void answer(request, Buffer.concat(chunks), response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atFileEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const OPENSSL_CONFIG = `
[req]
distinguished_name = dn
prompt = no
[dn]
CN = Test Authority
[ext]
extendedKeyUsage = critical,timeStamping
[tsa]
default_tsa = t
[t]
serial = serial
default_policy = 1.2.3.4.1
digests = sha256
signer_digest = sha256
`;

export interface TestAuthority {
  url: string;
  /** Number of requests it was sent. */
  requests: number;
  /** PEM of the certificate that all trust in it leads to. */
  certificate: string;
  /** The way in which the next answers are wrong. */
  fault: 'none' | 'down' | 'garbage' | 'replay' | 'refusal' | 'flipped';
  /** Says what `openssl ts -verify` says of a response about this text. */
  verify(response: Uint8Array, text: string): Promise<string>;
}

/** An RFC 3161 authority made with the openssl command. */
export async function startAuthority(): Promise<TestAuthority> {
  const dir = await mkdtemp(join(tmpdir(), 'tsa-'));
  atFileEnd(() => rm(dir, { recursive: true, force: true }));
  const openssl = (...args: string[]) => run('openssl', args, { cwd: dir });
  await writeFile(join(dir, 'c'), OPENSSL_CONFIG);
  const rsa = ['-newkey', 'rsa:2048', '-nodes'];
  await openssl('req', '-x509', ...rsa, '-keyout', 'ca.key', '-out', 'ca', '-subj', '/CN=Test CA');
  await openssl('req', ...rsa, '-keyout', 'key', '-out', 'csr', '-config', 'c');
  const issue = ['-CA', 'ca', '-CAkey', 'ca.key', '-CAcreateserial', '-extfile', 'c'];
  await openssl('x509', '-req', '-in', 'csr', '-out', 'cert', ...issue, '-extensions', 'ext');
  let first: Buffer | null = null;
  const answerOf = async (query: Buffer): Promise<Buffer> => {
    await writeFile(join(dir, 'query'), query);
    const signing = ['-signer', 'cert', '-inkey', 'key', '-config', 'c', '-out', 'reply'];
    await openssl('ts', '-reply', '-queryfile', 'query', ...signing);
    const reply = await readFile(join(dir, 'reply'));
    first ??= reply;
    if (authority.fault === 'replay') return first;
    if (authority.fault === 'garbage') return Buffer.from('<html>'.repeat(100));
    // PKIStatusInfo with status 2: rejection, and no token.
    if (authority.fault === 'refusal') return Buffer.from('30053003020102', 'hex');
    // The last byte is the signature's.
    if (authority.fault === 'flipped') reply[reply.length - 1]! ^= 1;
    return reply;
  };
  const authority: TestAuthority = {
    url: '',
    requests: 0,
    certificate: await readFile(join(dir, 'ca'), 'utf8'),
    fault: 'none',
    async verify(response, text) {
      await writeFile(join(dir, 'stored'), response);
      await writeFile(join(dir, 'text'), text);
      const { stdout } = await openssl(
        'ts',
        '-verify',
        '-in',
        'stored',
        '-data',
        'text',
        '-CAfile',
        'ca',
      );
      return stdout.trim();
    },
  };
  authority.url = await serve(async (_request, body, response) => {
    authority.requests += 1;
    response.setHeader('content-type', 'application/timestamp-reply');
    if (authority.fault === 'down') response.destroy();
    else response.end(await answerOf(body));
  });
  return authority;
}

export interface TestWitness extends Witness {
  /** As WITNESSES names it. */
  setting: string;
  /** The size it has seen; tests may make it forget, or see more. */
  seen: { size: number; root: Uint8Array } | null;
  /** The statuses of its answers, in order. */
  statuses: number[];
  down: boolean;
  /** Signs with another key than it should. */
  lies: boolean;
}

/** A witness as C2SP tlog-witness has it, for one log. */
export async function startWitness(
  name: string,
  logKey: Uint8Array,
  type?: number,
): Promise<TestWitness> {
  const { privateKey, ...key } = makeWitness(name, type);
  const witness: TestWitness = {
    ...key,
    setting: '',
    seen: null,
    statuses: [],
    down: false,
    lies: false,
  };
  const url = await serve((request, body, response) => {
    if (witness.down) {
      response.destroy();
      return;
    }
    const signing = witness.lies ? makeWitness(name, type).privateKey : privateKey;
    const isPost = request.method === 'POST' && request.url === '/witness/add-checkpoint';
    const answer = isPost
      ? addCheckpoint(witness, signing, logKey, body.toString())
      : ([404, ''] as const);
    witness.statuses.push(answer[0]);
    if (answer[0] === 409) response.setHeader('content-type', 'text/x.tlog.size');
    response.writeHead(answer[0]).end(answer[1]);
  });
  witness.setting = `${witnessKey(witness)} ${url}/witness/`;
  return witness;
}

function addCheckpoint(
  witness: TestWitness,
  privateKey: KeyObject,
  logKey: Uint8Array,
  body: string,
): readonly [number, string] {
  const [, sizeText, lines, checkpoint] = /^old (\d+)\n((?:[^\n]+\n)*)\n(.*)$/s.exec(body) ?? [];
  if (checkpoint === undefined) return [400, ''];
  const { note, checkpoint: tree } = parseCheckpoint(checkpoint);
  const check = {
    publicKeys: [logKey],
    verify: verifyEd25519,
  };
  if (signerOf(note, check) === null) return [403, ''];
  const oldSize = Number(sizeText);
  if (oldSize > tree.size) return [400, ''];
  const size = witness.seen?.size ?? 0;
  if (oldSize !== size) return [409, `${size}\n`];
  const isOther = witness.seen?.size === tree.size && !sameHash(witness.seen.root, tree.root);
  if (isOther) return [409, ''];
  const proof = lines!
    .split('\n')
    .slice(0, -1)
    .map((line) => Buffer.from(line, 'base64'));
  if (witness.seen === null ? proof.length > 0 : !continues(witness.seen, tree, proof))
    return [422, ''];
  witness.seen = tree;
  const time = Math.floor(Date.now() / 1_000);
  return [200, formatSignature(cosign(witness, privateKey, note.text, time))];
}

function continues(
  seen: { size: number; root: Uint8Array },
  tree: { size: number; root: Uint8Array },
  proof: Uint8Array[],
): boolean {
  if (seen.size === tree.size) return proof.length === 0 && sameHash(seen.root, tree.root);
  const sizes = { oldSize: seen.size, newSize: tree.size };
  return verifyConsistency({ ...sizes, oldRoot: seen.root, newRoot: tree.root, proof });
}
