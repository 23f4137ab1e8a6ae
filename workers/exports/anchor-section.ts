import { formatAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { encodeBase64 } from '#shared/ledger/notes.ts';
import { ANCHORED_HEAD, anchoredKeyPath, KEY_EVENTS } from '#shared/packs/layout.ts';
import type { AnchoredHeadFile } from '#shared/packs/postgres/pack-source.ts';
import type { PackInProgress } from './pack-in-progress.ts';

/** What the anchor log says: of the ledger, and of the keys. Absent where nothing is anchored. */
export async function addAnchor(progress: PackInProgress): Promise<void> {
  const { source, orgId } = progress.build;
  const anchor = await source.anchor(orgId, progress.build);
  if (anchor === null) return;
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
}

function bytesOf({ proof, consistency }: AnchoredHeadFile): Uint8Array {
  const fields = {
    consistency: consistency.map(encodeBase64),
    proof: JSON.parse(formatAnchorProof(proof)) as object,
  };
  return Buffer.from(`${JSON.stringify(fields, null, 2)}\n`);
}
