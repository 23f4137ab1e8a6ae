import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { readEnvironment, loadToolConfig } from '#shared/config/config.ts';
import { loadCatalogue } from '#shared/catalogue/files/load.ts';
import type { InferenceRecord } from '#shared/kernel/inference.ts';
import { newId } from '#shared/kernel/system/new-id.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { catalogueSources } from '#shared/process/open-catalogue.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { createReceiptStore } from '#shared/receipts/postgres/receipt-store.ts';
import { currentReceiptSigner } from '#shared/receipts/signing/files/current-receipt-signer.ts';
import { issueReceipt } from '#workers/receipts/issue.ts';
import type { Gateway } from './launch.ts';

/** Receipts are spread over so long before now. */
const SPREAD_MS = 30 * DAY_MS;
/** Committed in one statement: more than a worker does, because no caller waits. */
const AT_ONCE = 250;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');

/**
 * Makes receipts of a gateway that runs, as its receipts workers do: estimated by its methodology, signed with its key,
 * committed with what is owed to the ledger, whose worker then integrates them. Only the requests they are about have
 * never been.
 */
export function openFiller(gateway: Gateway, dataDir: string, pool: Pool) {
  const { port } = new URL(gateway.url);
  const config = loadToolConfig({ ...readEnvironment(), DOCKET_DATA_DIR: dataDir, PORT: port });
  const { catalogue } = loadCatalogue(join(dataDir, 'catalogue.yaml'), catalogueSources(config));
  const issuer = receiptIssuer(config.publicUrl);
  const store = createReceiptStore(pool);
  let at = 0;
  const deps = {
    issuer,
    signer: currentReceiptSigner({ dir: config.signingKeysDir, did: issuer.did }, (error) => {
      throw error;
    }),
    estimate: shippedMethodologies().current.estimate,
    catalogue: () => catalogue,
    now: () => at,
  };
  const { org_id: orgId } = gateway.dev;
  const keyId = newId('key');

  function record(number: number): InferenceRecord {
    const requestId = newId('req', at);
    const upstreamMs = 300 + (number % 2_000);
    return {
      requestId,
      orgId,
      keyId,
      route: 'chat.completions',
      model: 'bench',
      upstreamModel: 'static',
      upstreamAnswerId: `chatcmpl-${requestId.slice(4)}`,
      region: 'eu-west',
      tier: 'audit_plus',
      startedAt: at - upstreamMs - 5,
      endedAt: at - 2,
      queuedMs: 3,
      upstreamMs,
      usage: {
        inputTokens: 100 + (number % 1_000),
        cachedInputTokens: number % 100,
        outputTokens: 1 + (number % 500),
        source: 'upstream',
      },
      attempts: 1,
      salt: randomBytes(16).toString('base64url'),
      requestDigest: sha256(`request ${number}`),
      responseDigest: sha256(`response ${number}`),
      outcome: 'complete',
    };
  }

  return {
    orgId,
    /** Makes so many, from the oldest to the newest. Resolves when they are committed. */
    async fill(count: number, spreadMs: number = SPREAD_MS): Promise<void> {
      const end = Date.now();
      let committing: Promise<unknown> = Promise.resolve();
      for (let done = 0; done < count; done += AT_ONCE) {
        const rows = Array.from({ length: Math.min(AT_ONCE, count - done) }, (_, i) => {
          at = Math.floor(end - spreadMs + (spreadMs * (done + i)) / count);
          return issueReceipt(deps, record(done + i)).row;
        });
        // The next are signed while these are written.
        await committing;
        committing = store.commit(rows);
      }
      await committing;
    },
  };
}
