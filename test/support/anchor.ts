import { hash, randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import {
  type AnchorOptions,
  type AnchorResult,
  extendAnchor,
} from '#shared/ledger/postgres/anchor-append.ts';
import { publishCheckpoints } from '#shared/ledger/postgres/checkpoints.ts';
import { jwkThumbprint } from '#shared/receipts/signing/identifiers.ts';
import { KEY_PURPOSES, type KeyPurpose, type KnownKey } from '#shared/ledger/key-events.ts';
import { ANCHOR_LOG } from '#shared/ledger/origins.ts';
import type { CheckpointMemory, CheckpointSigner } from '#shared/ledger/checkpoints.ts';
import { makeCheckpointMemory, makeCheckpointSigner } from './ledger.ts';

/** The name of the anchor log in tests. */
export const ANCHOR_ORIGIN = 'gateway.example/anchor';

/** Anchors at once and retires at once: a test waits for no clock. */
function anchorOptions(more: Partial<AnchorOptions> = {}): AnchorOptions {
  return { keys: [], epochMs: 0, retireAfterMs: 0, randomBytes, ...more };
}

/** A signing key as its owner knows it. */
export function knownKey(purpose: KeyPurpose, publicKey: Uint8Array = randomBytes(32)): KnownKey {
  const key = `did:web:gateway.example#${jwkThumbprint(publicKey)}`;
  return { key, purpose, publicKey: Uint8Array.from(publicKey), state: 'active', since: null };
}

/** One key for each purpose. */
export function knownKeys(): KnownKey[] {
  return KEY_PURPOSES.map((purpose) => knownKey(purpose));
}

/** So many keys, the same in every process. */
export function keysByNumber(count: number): KnownKey[] {
  return Array.from({ length: count }, (_, i) =>
    knownKey('receipts', hash('sha256', `key ${i}`, 'buffer')),
  );
}

export interface AnchorWriter {
  signer: CheckpointSigner;
  memory: CheckpointMemory;
  /** Writes what is due and signs the anchor log, as a ledger worker does. */
  turn(pool: Pool, more?: Partial<AnchorOptions>): Promise<AnchorResult>;
}

export function createAnchorWriter(
  signer: CheckpointSigner = makeCheckpointSigner(),
  memory: CheckpointMemory = makeCheckpointMemory(),
): AnchorWriter {
  return {
    signer,
    memory,
    async turn(pool, more = {}) {
      const result = await extendAnchor(pool, anchorOptions(more));
      const log = { originOf: () => ANCHOR_ORIGIN, only: ANCHOR_LOG } as const;
      const options = { ...log, signer, memory, limit: 1, intervalMs: 0 };
      const { halted } = await publishCheckpoints(pool, options);
      return { ...result, halted: result.halted ?? halted[0]?.reason ?? null };
    },
  };
}
