import { multihashOf } from '#shared/kernel/multihash.ts';
import { checkAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { parseProof } from '#shared/ledger/proof-text.ts';
import { anchoredHeadText } from '#shared/packs/anchored-head.ts';
import { ANCHOR_LOSSES, ANCHORED_HEAD, anchoredKeyPath, KEY_EVENTS } from '#shared/packs/layout.ts';
import type { AnchoredHeadFile, PackAnchor } from '#shared/packs/postgres/pack-source.ts';
import type { AnchorDocument } from '#shared/packs/seal-format.ts';
import { lossesFile } from './losses.ts';
import type { PackInProgress } from './pack-in-progress.ts';

/**
 * What the anchor log says: of the ledger, and of the keys. Absent where nothing is anchored.
 * @returns what the seal says of it
 */
export async function addAnchor(progress: PackInProgress): Promise<AnchorDocument | undefined> {
  const { source, orgId } = progress.build;
  const anchor = await source.anchor(orgId, progress.build, progress.build.asked);
  if (anchor === null) return undefined;
  const events = anchor.events.map(({ entry, index, proof }) =>
    JSON.stringify({ entry, index, proof }),
  );
  await progress.add({
    path: KEY_EVENTS,
    bytes: Buffer.from(events.map((line) => `${line}\n`).join('')),
  });
  if (anchor.head !== null)
    await progress.add({ path: ANCHORED_HEAD, bytes: bytesOf(anchor.head) });
  for (const [key, head] of [...anchor.keys].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    await progress.add({ path: anchoredKeyPath(key), bytes: bytesOf(head) });
  }
  if (anchor.losses.length > 0) {
    await progress.add({ path: ANCHOR_LOSSES, bytes: lossesFile(anchor.losses) });
  }
  return sealedAnchor(anchor);
}

function sealedAnchor({ events, head, keys, lacks }: PackAnchor): AnchorDocument {
  const { origin, size, root } = parseProof(events[0]!.proof).tree;
  return {
    headSize: head === null ? 0 : checkAnchorProof(head.proof).head.size,
    keyEvents: events.length,
    keyHeads: keys.size,
    ...(lacks.length === 0 ? {} : { lacks: [...lacks] }),
    log: origin,
    root: multihashOf(Buffer.from(root).toString('base64url'), 'anchor.root'),
    size,
    timestamps: head?.proof.timestamps.length ?? 0,
    type: 'PackAnchor',
  };
}

function bytesOf({ proof, consistency }: AnchoredHeadFile): Uint8Array {
  return Buffer.from(anchoredHeadText(consistency, proof));
}
