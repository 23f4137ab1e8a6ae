import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
/**
 * The cost of one receipt on one core, step by step: `npm run bench receipt-signing [rounds]`.
 * Prints microseconds of processor time per step, beside anything else that the machine does, and receipts per second and core.
 */
import { generateKeyPairSync, hash, sign } from 'node:crypto';
import { publicKeyInLine } from '#shared/receipts/signing/agent-messages.ts';
import { createReceiptSigner, signerWith } from '#shared/receipts/signing/signer.ts';
import { SigningAgent } from '#shared/receipts/signing/sockets/signing-agent.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import type { Measurement } from '#shared/methodology/measurement.ts';
import { encodeBase58 } from '#shared/kernel/base58.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { orderedJson } from '#shared/kernel/canonical-json.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { readNumbers } from './support/arguments.ts';

const { rounds: ROUNDS } = readNumbers('receipt-signing [rounds]', { rounds: 50_000 });
/** The receipts worker signs a batch with one time. */
const BATCH = 64;

const digest = (text: string): string => hash('sha256', text, 'base64url');
const record: InferenceRecord = {
  requestId: 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC',
  orgId: 'org_01M7W53ZF4Z6X0T8WB5N2K9MVD',
  keyId: 'key_01M7W53ZF4Z6X0T8WB5N2K9MVE',
  route: 'chat.completions',
  model: 'llama-3.1-8b',
  region: 'eu-west',
  tier: 'audit_plus',
  startedAt: 1_795_167_484_123,
  endedAt: 1_795_167_485_931,
  usage: { inputTokens: 1_204, cachedInputTokens: 1_024, outputTokens: 356, source: 'upstream' },
  upstreamModel: 'meta-llama/Llama-3.1-8B-Instruct',
  upstreamAnswerId: 'chatcmpl-9f2c41d07be84e63',
  queuedMs: 3,
  upstreamMs: 1_805,
  attempts: 1,
  salt: Buffer.alloc(16, 7).toString('base64url'),
  requestDigest: digest('request'),
  responseDigest: digest('response'),
  outcome: 'complete',
};
const quantity = (name: 'energy', unit: 'kWh', value: number) => ({
  name,
  unit,
  value,
  lower: value / 2.1,
  upper: value * 2.1,
});
const measurement = {
  methodology: { id: 'docket-1', version: '1.0.0', digest: digest('methodology') },
  inputs: (['usage', 'model', 'grid', 'site', 'hardware'] as const).map((kind) => ({
    kind,
    id: kind,
    digest: digest(kind),
    ...(kind === 'usage'
      ? { record: { attempts: 1, input_tokens: 1_204, latency_s: '1.808', output_tokens: 356 } }
      : {}),
  })),
  results: [
    quantity('energy', 'kWh', 0.000308123456789),
    { ...quantity('energy', 'kWh', 0.0000173921), name: 'gwp', unit: 'kgCO2e' },
    { ...quantity('energy', 'kWh', 0.00114), name: 'water', unit: 'L' },
    { ...quantity('energy', 'kWh', 2.27301e-11), name: 'adpe', unit: 'kgSbe' },
    { ...quantity('energy', 'kWh', 0.00329104), name: 'adpf', unit: 'MJ' },
  ],
  dataQuality: 'T2',
} as Measurement;

const { privateKey } = generateKeyPairSync('ed25519');
const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' });
const issuer = receiptIssuer('https://gateway.example');
const signer = createReceiptSigner({ privateKeyPem, did: issuer.did });

let round = 0;
const build = () =>
  buildReceipt({
    issuer,
    record,
    estimate: { measurement },
    signedAt: 1_795_167_486_000 + Math.floor((round += 1) / BATCH),
    gridZone: 'FRA',
  });
const document = build();
const text = orderedJson(document);
const signature = sign(null, new Uint8Array(64), privateKey);
const signed = signer.sign(document);

const held = await holdByAgent();
const STEPS: Record<string, () => unknown> = {
  'build the document': build,
  'write canonical JSON': () => orderedJson(document),
  'hash it': () => hash('sha256', text, 'buffer'),
  'Ed25519 alone': () => sign(null, signature, privateKey),
  'base58 of the signature': () => encodeBase58(signature),
  'sign (all but building)': () => signer.sign(document),
  'build and sign': () => signer.sign(build()),
  ...(held && { 'sign by an SSH agent': () => held.signer.sign(document) }),
};

console.log(`receipt: ${Buffer.byteLength(signed)} bytes`);
for (const [name, step] of Object.entries(STEPS)) {
  for (let i = 0; i < ROUNDS / 10; i += 1) step();
  const begun = performance.now();
  const start = process.threadCpuUsage();
  for (let i = 0; i < ROUNDS; i += 1) step();
  const { user, system } = process.threadCpuUsage(start);
  const microseconds = (user + system) / ROUNDS;
  const perSecond = Math.round(1_000_000 / microseconds).toLocaleString('en');
  console.log(
    `${name.padEnd(26)} ${microseconds.toFixed(2).padStart(8)} µs  ${perSecond.padStart(10)}/s`,
  );
  if (name === 'sign by an SSH agent') {
    const waited = ((performance.now() - begun) / ROUNDS) * 1_000;
    console.log(`${'  waited for it'.padEnd(26)} ${waited.toFixed(2).padStart(8)} µs`);
  }
}
held?.end();

/** Has OpenSSH's agent hold a key; undefined where it is not installed. */
async function holdByAgent() {
  const home = mkdtempSync(join(tmpdir(), 'docket-bench-agent-'));
  const [path, file] = [join(home, 'agent'), join(home, 'key')];
  try {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
  } catch {
    console.log('ssh-keygen is not here: no signature by an agent');
    return undefined;
  }
  const sshAgent = spawn('ssh-agent', ['-D', '-a', path], { stdio: 'ignore' });
  while (!existsSync(path)) await delay(20);
  execFileSync('ssh-add', ['-q', file], { env: { ...process.env, SSH_AUTH_SOCK: path } });
  const publicKey = publicKeyInLine(readFileSync(`${file}.pub`, 'utf8'))!;
  const agent = new SigningAgent(path);
  const signByAgent = (data: Uint8Array) => agent.sign(publicKey, data);
  return {
    signer: signerWith({ did: issuer.did, publicKey, sign: signByAgent }),
    end: () => {
      sshAgent.kill();
      rmSync(home, { recursive: true });
    },
  };
}
