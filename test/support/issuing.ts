import { generateKeyPairSync, hash } from 'node:crypto';
import type { Pool } from 'pg';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { jwkThumbprint } from '#shared/receipts/signing/identifiers.ts';
import { rawPublicKey } from '#shared/receipts/signing/key-objects.ts';
import { didDocument } from '#shared/receipts/signing/publication.ts';
import { createReceiptSigner, type ReceiptSigner } from '#shared/receipts/signing/signer.ts';
import { trustedKeysOf } from '#shared/receipts/signing/trust.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { DEFAULT_CATALOGUE, loadCatalogue } from '#shared/catalogue/files/load.ts';
import type { Catalogue, Footprint } from '#shared/catalogue/catalogue.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import type { InferenceRecord, Usage } from '#shared/kernel/inference.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import type { TrustedKeys } from '#shared/receipts/verify.ts';
import type { Methodology } from '#shared/methodology/methodology.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { issueReceipt } from '#workers/receipts/issue.ts';
import type { TestDatabase } from './database.ts';
import { integrateAll } from './ledger.ts';

/** A record whose tokens are known. */
type CountedRecord = InferenceRecord & { usage: Usage };

/** The model of the shipped catalogue that states no size. */
export const UNSIZED = 'sandbox-unsized';
const PUBLIC_URL = 'https://gateway.example';

export const issuer = receiptIssuer(PUBLIC_URL);
export const methodology = shippedMethodologies().current;
export const { catalogue } = loadCatalogue(DEFAULT_CATALOGUE, {
  variable: () => 'http://127.0.0.1:9/v1',
  timeoutMs: 120_000,
});

/** The shipped catalogue, with a size for the model that has none. */
export function mendedCatalogue(footprint: Footprint = { activeB: 8, totalB: 8 }): Catalogue {
  const models = catalogue.models.map((model) =>
    model.id === UNSIZED ? { ...model, footprint } : model,
  );
  return { ...catalogue, digest: 'mended', models };
}

/** A key of the test's own: what signs with it, and what verifies. */
export function makeReceiptSigner(): { signer: ReceiptSigner; keys: TrustedKeys; pem: string } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  return signerOf(pem, rawPublicKey(privateKey));
}

function signerOf(pem: string, publicKey: Uint8Array) {
  const thumbprint = jwkThumbprint(publicKey);
  const did = didDocument(
    [{ purpose: 'receipts', state: 'active', thumbprint, publicKey }],
    PUBLIC_URL,
  );
  return {
    signer: createReceiptSigner({ privateKeyPem: pem, did: issuer.did }),
    keys: trustedKeysOf(JSON.stringify(did)),
    pem,
  };
}

/** A request that ran a moment ago. */
export function inferenceRecord(more: Partial<CountedRecord> = {}): CountedRecord {
  const now = Date.now();
  const requestId = newId('req');
  const own = (what: string, bytes: number): string =>
    hash('sha256', `${what} of ${requestId}`, 'buffer').subarray(0, bytes).toString('base64url');
  return {
    requestId,
    orgId: 'org_a',
    keyId: 'key_a',
    route: 'chat.completions',
    model: 'llama-3.1-8b',
    upstreamModel: 'meta-llama/Llama-3.1-8B-Instruct',
    region: 'eu-west',
    tier: 'enterprise',
    startedAt: now - 1_250,
    endedAt: now - 4,
    usage: { inputTokens: 91, cachedInputTokens: 64, outputTokens: 13, source: 'upstream' },
    attempts: 1,
    salt: own('salt', 16),
    requestDigest: own('request', 32),
    responseDigest: own('response', 32),
    outcome: 'complete',
    ...more,
  };
}

/** A request whose upstream was called twice and failed, a moment ago. */
export function failedRecord(more: Partial<InferenceRecord> = {}): InferenceRecord {
  const { responseDigest: _, upstreamModel: _model, ...asked } = inferenceRecord();
  return { ...asked, attempts: 2, outcome: 'failed', failure: 'upstream_error', ...more };
}

interface ReceiptPools {
  receipts: Pool;
  ledger: Pool;
}

/** Pools with the rights of the processes that commit receipts and integrate them. @param max connections of each */
export function receiptPools(database: TestDatabase, max = 1): ReceiptPools {
  return {
    receipts: database.poolAs('docket_receipts', max),
    ledger: database.poolAs('docket_ledger', max),
  };
}

/** Issues and commits receipts as the receipts worker does, with its rights. Returns their ids. */
export async function commitReceipts(
  receiptsPool: Pool,
  signer: ReceiptSigner,
  records: readonly InferenceRecord[],
  { estimate }: Pick<Methodology, 'estimate'> = methodology,
): Promise<string[]> {
  const issued = records.map((record) =>
    issueReceipt(
      {
        issuer,
        signer: () => signer,
        estimate,
        catalogue: () => catalogue,
        now: Date.now,
      },
      record,
    ),
  );
  await createReceiptStore(receiptsPool).commit(issued.map(({ row }) => row));
  return records.map(({ requestId }) => receiptIdOf(requestId));
}

/** The same, in the ledger. */
export async function issueReceipts(
  pools: ReceiptPools,
  signer: ReceiptSigner,
  records: readonly InferenceRecord[],
  computedBy: Pick<Methodology, 'estimate'> = methodology,
): Promise<string[]> {
  const ids = await commitReceipts(pools.receipts, signer, records, computedBy);
  await integrateAll(pools.ledger);
  return ids;
}
