import { hash } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { createPackSource } from '#shared/packs/postgres/pack-source.ts';
import {
  createCheckpointSigner,
  knownKeys,
} from '#shared/receipts/signing/files/checkpoint-signer.ts';
import {
  activeKey,
  ensureSigningKeys,
  loadSigningKeys,
} from '#shared/receipts/signing/files/key-files.ts';
import { createReceiptSigner } from '#shared/receipts/signing/signer.ts';
import type { Footprint } from '#shared/catalogue/catalogue.ts';
import { encodeUlid } from '#shared/kernel/ids.ts';
import type { InferenceRecord, Usage } from '#shared/kernel/inference.ts';
import { hourAt } from '#shared/methodology/grid-hour.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { timeText } from '#shared/kernel/time.ts';
import type { Measurement } from '#shared/methodology/measurement.ts';
import type { GridSignal } from '#shared/methodology/methodology.ts';
import type { AskedAttestation } from '#shared/packs/attestation.ts';
import type { PackRange } from '#shared/packs/layout.ts';
import { buildReceipt, type ReceiptInput } from '#shared/receipts/build.ts';
import { derivationOf } from '#shared/receipts/derivation.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { recordOnReceipt } from '#shared/receipts/reread.ts';
import type { Methodologies } from '#shared/methodology/releases.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { buildPack, type BuiltPack } from '#workers/exports/build-pack.ts';
import { packDocuments } from '#workers/exports/deps.ts';
import type { PackDocuments } from '#workers/exports/documents.ts';
import type { OperatorStatement } from '#workers/exports/operator-statement.ts';
import type { PackBuild } from '#workers/exports/pack-in-progress.ts';
import type { AnchorResult } from '#shared/ledger/postgres/anchor-append.ts';
import { createAnchorWriter } from './anchor.ts';
import {
  integrateAll,
  makeCheckpointMemory,
  submitReceipts,
  type SubmittedReceipt,
} from './ledger.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';

/** A record whose tokens are known. */
type CountedRecord = InferenceRecord & { usage: Usage };

export const PUBLIC_URL = 'https://gateway.example';
export const ORG = 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF';
const KEY = 'key_01JD0A8N5K3M7Q2T9VXB4C6DEG';

/** An operator that states nothing of itself. */
export const STATES_NOTHING: OperatorStatement = { contracts: [], evidence: [], keptDays: 7 };
/** What most services ask of others about their anchor. */
export const NOTHING_ASKED: AskedAttestation = { timestamp: false, witnesses: [] };

export type IssuedKind = 'measured' | 'degraded' | 'failed' | 'refused';

/** A receipt that was issued, as a revision needs it. */
export interface IssuedReceipt extends SubmittedReceipt {
  kind: NonNullable<SubmittedReceipt['kind']>;
}

const digestOf = (text: string): string => hash('sha256', text, 'base64url');

/** A deployment of one organisation: its keys, its ledger, and real receipts in it. */
export class PackLab {
  readonly pool: Pool;
  readonly keysDir: string;
  readonly issuer = receiptIssuer(PUBLIC_URL);
  readonly documents: PackDocuments;
  /** What survives when a database is put back. */
  memory = makeCheckpointMemory();
  readonly #methodology: Methodologies['current'];
  /** The way in which the model is served; receipts of another way have another derivation. */
  footprint: Footprint = { ref: 'llama-3.1-8b', gpus: 1, batch: 64 };
  /** The factor of the hour: receipts are then of the tier enterprise. */
  gridSignal: Omit<GridSignal, 'hour'> | undefined;
  /** Joules that the upstream of each request states. */
  statedJoules: number | undefined;
  /** Receipts so far, by which each differs from those before. */
  made = 0;

  /**
   * @param dir a directory of the test's own
   * @param methodologies what the operator has put beside the factor sets that are shipped
   */
  constructor(pool: Pool, dir: string, methodologies: Methodologies = shippedMethodologies()) {
    this.#methodology = methodologies.current;
    this.pool = pool;
    this.keysDir = join(dir, 'keys');
    ensureSigningKeys(this.keysDir);
    this.documents = packDocuments(
      { signingKeysDir: this.keysDir, publicUrl: PUBLIC_URL },
      methodologies,
    );
  }

  signer(purpose: 'receipts' | 'packs' = 'receipts') {
    const { privateKeyPem } = activeKey(ensureSigningKeys(this.keysDir), purpose);
    return createReceiptSigner({ privateKeyPem: privateKeyPem!, did: this.issuer.did });
  }

  /** Signs receipts; they are in the ledger after `integrate`. */
  async issue(
    count: number,
    kind: IssuedKind = 'measured',
    orgId = ORG,
    signer = this.signer(),
  ): Promise<IssuedReceipt[]> {
    const receipts: IssuedReceipt[] = [];
    for (let i = 0; i < count; i += 1) {
      this.made += 1;
      const ulid = encodeUlid(Date.now(), this.#randomish());
      receipts.push(this.#receipt(signer, this.#input(ulid, kind, orgId), `rcpt_${ulid}`, kind));
    }
    for (let at = 0; at < count; at += 1_000) {
      await submitReceipts(this.pool, receipts.slice(at, at + 1_000));
    }
    return receipts;
  }

  /** Revises receipts that are in the ledger: what was degraded now has an estimate, or these metered joules. */
  async revise(receipts: readonly IssuedReceipt[], joules?: number): Promise<IssuedReceipt[]> {
    const signer = this.signer();
    const { rows } = await this.pool.query<{ entry_id: string; index: string }>(
      'select entry_id, index from ledger_entry where entry_id = any($1::text[])',
      [receipts.map(({ id }) => id)],
    );
    const places = new Map(rows.map((row) => [row.entry_id, Number(row.index)]));
    const revisions = receipts.map((revised) => {
      this.made += 1;
      const newReceiptId = `rcpt_${encodeUlid(Date.now(), this.#randomish())}`;
      const { document } = parseReceipt(revised.body);
      const record = recordOnReceipt(document, KEY) as CountedRecord;
      const revision = {
        newReceiptId,
        receiptId: revised.id,
        digest: hash('sha256', revised.body, 'base64url'),
        leafIndex: places.get(revised.id)!,
        number: (document.revisionNumber ?? 0) + 1,
        reason: joules === undefined ? reasonAfter(document) : ('measured' as const),
      };
      const input = { ...this.#estimated(record, joules), revision };
      const made = this.#receipt(signer, input, newReceiptId, 'measured');
      return { ...made, kind: 'recalculated' as const, supersedes: revised.id };
    });
    await submitReceipts(this.pool, revisions);
    await this.pool.query(
      `insert into receipt_revision (original_id, revision_id, org_id)
       select * from unnest($1::text[], $2::text[], $3::text[])`,
      [
        receipts.map(({ id }) => id),
        revisions.map(({ id }) => id),
        revisions.map(({ orgId }) => orgId),
      ],
    );
    return revisions;
  }

  /** Brings everything into the ledger and signs its head. Returns the ledger's size. */
  async integrate(orgId = ORG): Promise<number> {
    await integrateAll(this.pool, 1_000);
    await publishCheckpoints(this.pool, {
      signer: createCheckpointSigner(loadSigningKeys(this.keysDir), 'checkpoints'),
      memory: this.memory,
      originOf: (id) => this.issuer.logs + id,
      limit: 100,
      intervalMs: 0,
    });
    const { rows } = await this.pool.query<{ size: string }>(
      'select size from ledger_checkpoint where org_id = $1 order by size desc limit 1',
      [orgId],
    );
    return Number(rows[0]!.size);
  }

  /** Writes heads and keys into the anchor log, as a ledger worker does. */
  async anchor(): Promise<AnchorResult> {
    const keys = loadSigningKeys(this.keysDir);
    const signer = createCheckpointSigner(keys, 'anchor');
    const writer = createAnchorWriter(signer, this.memory);
    return writer.turn(this.pool, { keys: knownKeys(keys, this.issuer.did) });
  }

  /** Builds a pack into a file, without queue and store. */
  async pack(file: string, range: PackRange, more: Partial<PackBuild> = {}): Promise<BuiltPack> {
    const fd = openSync(file, 'w');
    try {
      return await buildPack({
        ...range,
        orgId: ORG,
        source: createPackSource(this.pool),
        documents: this.documents,
        operator: STATES_NOTHING,
        issuer: this.issuer,
        signer: this.signer('packs'),
        asked: NOTHING_ASKED,
        sink: async (bytes) => {
          for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
        },
        onProgress: async () => true,
        signal: new AbortController().signal,
        ...more,
      });
    } finally {
      closeSync(fd);
    }
  }

  #receipt(
    signer: ReturnType<typeof createReceiptSigner>,
    input: ReceiptInput,
    id: string,
    kind: IssuedKind,
  ): IssuedReceipt {
    const body = Buffer.from(signer.sign(buildReceipt(input)));
    const { orgId, model, region, tier } = input.record;
    const { estimate } = input;
    const measured = estimate !== undefined && 'measurement' in estimate;
    return {
      ...(measured ? { derivation: derivationOf(this.issuer, estimate.measurement) } : {}),
      id,
      orgId,
      kind: kind === 'measured' ? 'inference' : kind,
      body,
      model,
      region,
      tier,
    };
  }

  #input(ulid: string, kind: IssuedKind, orgId: string): ReceiptInput {
    const signedAt = Date.now();
    const record = this.#record(`req_${ulid}`, orgId, signedAt);
    const { responseDigest: _, ...asked } = record;
    if (kind === 'failed') {
      const failed = { ...asked, attempts: 2, failure: 'upstream_error' } as const;
      return { issuer: this.issuer, signedAt, record: { ...failed, outcome: 'failed' } };
    }
    if (kind === 'refused') {
      const policy = { version: '2026-11-01', rule: 'dual-use/nuclear' };
      return { issuer: this.issuer, signedAt, record: { ...asked, outcome: 'refused', policy } };
    }
    if (kind === 'measured') return this.#estimated(record);
    const degradation = { stage: 'model' as const, code: 'model_size_unknown' };
    return { issuer: this.issuer, signedAt, record, estimate: { degradation }, gridZone: 'FRA' };
  }

  #estimated(record: CountedRecord, joules?: number): ReceiptInput {
    const estimate = { measurement: this.#measurement(record, joules) };
    const input = { issuer: this.issuer, signedAt: Date.now(), record, estimate, gridZone: 'FRA' };
    if (joules === undefined) return input;
    const [from, to] = [record.startedAt - 7_000, record.endedAt + 3_000];
    const metered = {
      digest: multihashOf(digestOf('an interval')),
      from: timeText(from, 'from'),
      to: timeText(to, 'to'),
    };
    return { ...input, metered };
  }

  #record(requestId: string, orgId: string, signedAt: number): CountedRecord {
    return {
      requestId,
      orgId,
      keyId: KEY,
      route: 'chat.completions',
      model: 'llama-3.1-8b',
      region: 'eu-west',
      tier: this.gridSignal === undefined ? 'audit_plus' : 'enterprise',
      startedAt: signedAt - 1_900,
      endedAt: signedAt - 12,
      usage: {
        inputTokens: 100 + (this.made % 1_000),
        cachedInputTokens: this.made % 100,
        outputTokens: this.made % 500,
        source: 'upstream',
        ...(this.statedJoules === undefined ? {} : { statedJoules: this.statedJoules }),
      },
      attempts: 1,
      salt: hash('sha256', requestId, 'buffer').subarray(0, 16).toString('base64url'),
      requestDigest: digestOf(`request ${this.made}`),
      responseDigest: digestOf(`response ${this.made}`),
      outcome: 'complete',
    };
  }

  /** A real estimate: packs are refused when their numbers cannot be derived again. */
  #measurement(
    { usage, route, attempts, startedAt, endedAt }: CountedRecord,
    joules?: number,
  ): Measurement {
    const { gridSignal } = this;
    return this.#methodology.estimate({
      usage,
      ...(joules === undefined ? {} : { meteredJoules: joules }),
      route,
      attempts,
      latencyS: (endedAt - startedAt) / 1_000,
      model: { id: 'llama-3.1-8b', footprint: this.footprint },
      zone: 'FRA',
      site: { operator: 'example', pue: 1.12, wue: 0.18 },
      ...(gridSignal && { gridSignal: { ...gridSignal, hour: hourAt(startedAt) } }),
    });
  }

  /** Ids of one millisecond in the order in which they were made, so that tests know the ledger's. */
  #randomish(): Uint8Array {
    const bytes = Buffer.alloc(10);
    bytes.writeUIntBE(this.made, 4, 6);
    return bytes;
  }
}

/** Why a receipt is estimated again: what had no estimate gets one, another methodology makes another of what had. */
function reasonAfter({ measurement }: ReceiptDocument): 'methodology_failed' | 'new_methodology' {
  return measurement === undefined ? 'methodology_failed' : 'new_methodology';
}
