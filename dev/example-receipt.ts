import { createPrivateKey } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { jwkThumbprint } from '#shared/receipts/signing/identifiers.ts';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';
import type { SigningKey } from '#shared/receipts/signing/files/key-files.ts';
import { didDocument } from '#shared/receipts/signing/publication.ts';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import type { InferenceRecord, Usage } from '#shared/kernel/inference.ts';
import type { EstimateInput } from '#shared/methodology/methodology.ts';
import { buildReceipt } from '#shared/receipts/build.ts';
import { type DerivationRecord, derivationOf } from '#shared/receipts/derivation.ts';
import { requestDigest } from '#shared/receipts/digest.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';

/** A record whose tokens are known. */
type CountedRecord = InferenceRecord & { usage: Usage };

/** Where the example lies; `node dev/example-receipt.ts` writes it and the page that shows it, and a test compares. */
export const VECTORS = new URL('../test/vectors/receipt/', import.meta.url);
export const PAGE = new URL('../docs/receipts.md', import.meta.url);

const PUBLIC_URL = 'https://gateway.example';
export const issuer = receiptIssuer(PUBLIC_URL);
const SIGNED_AT = Date.UTC(2026, 10, 20, 9, 38, 6, 7);
/** Bytes 0 to 15. A real salt is random. */
const SALT = Buffer.from(Array.from({ length: 16 }, (_, byte) => byte)).toString('base64url');

/** The Ed25519 private key of RFC 8037, A.1: published, so that any reader can make the same signature. */
const EXAMPLE_SEED = 'nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A';
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const privateKey = createPrivateKey({
  key: Buffer.concat([PKCS8_PREFIX, Buffer.from(EXAMPLE_SEED, 'base64url')]),
  format: 'der',
  type: 'pkcs8',
});
export const examplePrivateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' });
export const examplePublicKey = rawPublicKey(privateKey);

/** The example's keys as its issuer publishes them. */
export function exampleDid(): object {
  const key: SigningKey = {
    purpose: 'receipts',
    state: 'active',
    thumbprint: jwkThumbprint(examplePublicKey),
    publicKey: examplePublicKey,
  };
  return didDocument([key], PUBLIC_URL);
}

/** The inference that the example is about. */
export function exampleRecord(): CountedRecord {
  return {
    requestId: 'req_01M7W53ZF4Z6X0T8WB5N2K9MVC',
    orgId: 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
    keyId: 'key_01JD0A8N5K3M7Q2T9VXB4C6DEG',
    route: 'chat.completions',
    model: 'llama-3.1-8b',
    upstreamModel: 'meta-llama/Llama-3.1-8B-Instruct',
    region: 'eu-west',
    tier: 'audit_plus',
    upstreamAnswerId: 'chatcmpl-9f2c41d07be84e63',
    queuedMs: 3,
    upstreamMs: 396,
    startedAt: SIGNED_AT - 412,
    endedAt: SIGNED_AT - 9,
    usage: { inputTokens: 21, cachedInputTokens: 0, outputTokens: 28, source: 'upstream' },
    attempts: 1,
    salt: SALT,
    requestDigest: requestDigest(SALT, readFileSync(new URL('request.json', VECTORS))),
    responseDigest: requestDigest(SALT, readFileSync(new URL('answer.json', VECTORS))),
    outcome: 'complete',
  };
}

/** The same, as the input of an estimate. */
export function exampleEstimateInput(): EstimateInput {
  const { usage, route, attempts, upstreamMs } = exampleRecord();
  return {
    usage,
    route,
    attempts,
    upstreamS: upstreamMs! / 1_000,
    model: { id: 'llama-3.1-8b', footprint: { ref: 'llama-3.1-8b' } },
    zone: 'FRA',
    site: { operator: 'example', pue: 1.12, wue: 0.18 },
  };
}

/** The receipt of the example, signed: its exact bytes, as text. */
export function exampleReceipt(): string {
  const record = exampleRecord();
  return createReceiptSigner({ privateKeyPem: examplePrivateKeyPem, did: issuer.did }).sign(
    buildReceipt({
      issuer,
      record,
      estimate: { measurement: shippedMethodologies().current.estimate(exampleEstimateInput()) },
      gridZone: 'FRA',
      signedAt: SIGNED_AT,
    }),
  );
}

/** The derivation record that it names: the exact bytes. */
export function exampleDerivation(): DerivationRecord {
  return derivationOf(issuer, shippedMethodologies().current.estimate(exampleEstimateInput()));
}

const SHOWN = /```json\n.*?```/s;

/** The page with the receipt of now as its first block of JSON. */
export function freshPage(page: string): string {
  const text = JSON.stringify(JSON.parse(exampleReceipt()), null, 2);
  // Short lists of texts on one line, as the formatter of this repository leaves them.
  const shown = text.replaceAll(/\[\s+("[^"]{1,30}")(?:,\s+("[^"]{1,30}"))\s+\]/g, '[$1, $2]');
  return page.replace(SHOWN, () => `\`\`\`json\n${shown}\n\`\`\``);
}

if (import.meta.main) {
  for (const folder of [VECTORS, new URL('../api/docs/examples/', import.meta.url)]) {
    writeFileSync(new URL('receipt.json', folder), exampleReceipt());
    writeFileSync(new URL('derivation.json', folder), exampleDerivation().text);
  }
  writeFileSync(PAGE, freshPage(readFileSync(PAGE, 'utf8')));
}
