import type { Pool } from 'pg';
import { checkAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { endOfKey, keyIntervals } from '#shared/ledger/key-events.ts';
import { ANCHOR_LOG } from '#shared/ledger/origins.ts';
import { consistencyRanges } from '#shared/ledger/proofs.ts';
import type { PackRange } from '../layout.ts';
import type { AnchorChoice, AnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import type { AnchoredHeadFile, PackAnchor } from '../port-exports.ts';
import { createAnchorReader } from '#shared/ledger/postgres/anchor-reader.ts';
import { latestCheckpoint } from '#shared/ledger/postgres/published.ts';
import { hashesOfRanges } from '#shared/ledger/postgres/tiles.ts';

/**
 * What the anchor log says about an organisation's log up to a checkpoint, and about the keys: as of one checkpoint of
 * the anchor, which is decided by the first pack that asks. Null when there is no anchor.
 */
export async function readPackAnchor(
  pool: Pool,
  orgId: string,
  range: PackRange,
): Promise<PackAnchor | null> {
  const reader = createAnchorReader(pool);
  const anchorSize = await pinAnchor(pool, reader, orgId, range);
  if (anchorSize === 0) return null;
  const headSizeMax = range.checkpointSize;
  const choose = (more: AnchorChoice): Promise<AnchoredHeadFile | null> =>
    anchoredHead(pool, reader, orgId, { headSizeMax, anchorSize, ...more });
  const events = (await reader.keyEvents({ anchorSize })).flatMap(
    ({ index, event, entry, proof }) => (proof === null ? [] : [{ index, event, entry, proof }]),
  );
  const keys = new Map<string, AnchoredHeadFile>();
  for (const interval of keyIntervals(events).values()) {
    // Seals are not anchored, and the anchor's own heads stand by their size.
    const logged = interval.purpose === 'receipts' || interval.purpose === 'checkpoints';
    const before = logged ? endOfKey(interval) : null;
    const head = before === null ? null : await choose({ before });
    if (head !== null) keys.set(interval.key, head);
  }
  const head = await choose({});
  return { events, head, keys };
}

async function anchoredHead(
  pool: Pool,
  reader: AnchorReader,
  orgId: string,
  choice: AnchorChoice & { headSizeMax: number },
): Promise<AnchoredHeadFile | null> {
  const proof = await reader.proof(orgId, choice);
  if (proof === null) return null;
  const { size } = checkAnchorProof(proof).head;
  const { headSizeMax } = choice;
  const ranges = consistencyRanges(size, headSizeMax);
  return { proof, consistency: await hashesOfRanges(pool, orgId, headSizeMax, ranges) };
}

/** An attested anchor checkpoint where one covers the range; the newest otherwise. */
async function pinAnchor(
  pool: Pool,
  reader: AnchorReader,
  orgId: string,
  { lastIndex, checkpointSize }: PackRange,
): Promise<number> {
  const pinned = await readPin(pool, orgId, checkpointSize);
  if (pinned !== null) return pinned;
  const attested = await reader.proof(orgId, { attested: true, headSizeMax: checkpointSize });
  const found = attested === null ? null : checkAnchorProof(attested);
  const newest = (await latestCheckpoint(pool, ANCHOR_LOG))?.size ?? 0;
  const size = found !== null && found.head.size > lastIndex ? found.anchor.size : newest;
  await pool.query(
    `insert into export_anchor (org_id, checkpoint_size, anchor_size) values ($1, $2, $3)
     on conflict (org_id, checkpoint_size) do nothing`,
    [orgId, checkpointSize, size],
  );
  // Another run may have been faster: what it decided holds.
  return (await readPin(pool, orgId, checkpointSize))!;
}

async function readPin(pool: Pool, orgId: string, checkpointSize: number): Promise<number | null> {
  const { rows } = await pool.query<{ anchor_size: string }>(
    'select anchor_size from export_anchor where org_id = $1 and checkpoint_size = $2',
    [orgId, checkpointSize],
  );
  return rows[0] === undefined ? null : Number(rows[0].anchor_size);
}
