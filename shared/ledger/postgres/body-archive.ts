import { addAbortSignal } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Fault } from '#shared/kernel/errors.ts';
import type { ObjectStore } from '#shared/kernel/object-store.ts';
import { queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { DamagedArchive, leafKey, unpackBlock } from '../body-archive.ts';

/** A receipt whose body is not in PostgreSQL. */
export interface ArchivedReceipt {
  entry_id: string;
  org_id: string;
  leaf_hash: Uint8Array;
}

/** How long a block may take, of some 14 kB. A caller who waits longer asks again. */
const BLOCK_MS_MAX = 10_000;
/** Blocks that one call fetches at once: with a round trip of 30 ms, a page of 100 receipts far apart takes under a second. */
const BLOCKS_AT_ONCE = 4;

const BLOCKS = statement(
  { entry_id: 'text', object: 'text', start: 'int8', bytes: 'int4' },
  `select w.entry_id, k.object, k.start, k.bytes
   from unnest($1::text[], $2::text[]) as w (org_id, entry_id)
   cross join lateral (
     select k.last_id, k.object, k.start, k.bytes from ledger_archive_block k
     where k.org_id = w.org_id and k.first_id <= w.entry_id collate "C" order by k.first_id desc limit 1) k
   where k.last_id >= w.entry_id collate "C"`,
);
type Block = Pick<Row<typeof BLOCKS>, 'object' | 'start' | 'bytes'>;

export type BodyArchive = ReturnType<typeof createBodyArchive>;

/** Bodies that have moved to the object store; without one, for those who have none to expect there. */
export function createBodyArchive(store: Pick<ObjectStore, 'read'> | undefined) {
  /**
   * Bodies by id: null for one that the archive should have, and has not with the bytes that hash to its leaf. One that it
   * need not have is left out.
   * @throws Fault `store_unavailable` when the archive cannot be asked
   */
  async function find(
    db: Queryable,
    wanted: readonly ArchivedReceipt[],
  ): Promise<Map<string, Buffer | null>> {
    const found = new Map<string, Buffer | null>();
    if (wanted.length === 0) return found;
    const [orgIds, ids] = [wanted.map((row) => row.org_id), wanted.map((row) => row.entry_id)];
    const leaves = new Map(wanted.map((row) => [row.entry_id, leafKey(row.leaf_hash)]));
    const places = await queryRows(db, BLOCKS, [orgIds, ids]);
    const blocks = [...Map.groupBy(places, ({ object, start }) => `${object} ${start}`).values()];
    await Promise.all(
      Array.from({ length: BLOCKS_AT_ONCE }, async () => {
        for (let own = blocks.shift(); own !== undefined; own = blocks.shift()) {
          const bytes = await readBlock(storeOf(store), own[0]!).catch((error: unknown) => {
            // The others that work on this call end with the blocks that they have.
            blocks.length = 0;
            throw error;
          });
          const bodies = bytes === null ? undefined : await unpackBlock(bytes);
          for (const { entry_id: id } of own) {
            const body = bodies?.get(leaves.get(id)!);
            // Of its own: a part would keep the whole block, and a page of receipts far apart hundreds of these.
            found.set(id, body === undefined ? null : Buffer.from(body));
          }
        }
      }),
    );
    return found;
  }
  return {
    find,
    /**
     * Rows with the bodies of those that have none.
     * @throws Fault `store_unavailable` when the archive cannot be asked
     * @throws DamagedArchive when a body is not there, or not as it was
     */
    async whole<R extends ArchivedReceipt & { body: Buffer | null }>(
      db: Queryable,
      rows: readonly R[],
    ): Promise<(Omit<R, 'body'> & { body: Buffer })[]> {
      const found = await find(
        db,
        rows.filter(({ body }) => body === null),
      );
      return rows.map((row) => {
        const body = row.body ?? found.get(row.entry_id);
        if (!body) throw new DamagedArchive(row.entry_id);
        return { ...row, body };
      });
    },
  };
}

function storeOf<S>(store: S | undefined): S {
  if (store !== undefined) return store;
  throw new Error('bodies of receipts have moved to an archive, and RECEIPT_ARCHIVE is not set');
}

/**
 * The bytes of a block; null when they are not there.
 * @throws Fault `store_unavailable`
 */
export async function readBlock(
  store: Pick<ObjectStore, 'read'>,
  { object, start, bytes }: Block,
): Promise<Buffer | null> {
  const first = Number(start);
  const signal = AbortSignal.timeout(BLOCK_MS_MAX);
  const opening = store.read(object, { start: first, end: first + bytes - 1 });
  try {
    const stream = await Promise.race([opening, ended(signal)]);
    return stream === null ? null : await buffer(addAbortSignal(signal, stream));
  } catch (error) {
    // One that is opened after its time is not left open.
    opening.then(
      (stream) => stream?.destroy(),
      () => {},
    );
    throw new Fault('store_unavailable', {
      message: 'The archive of older receipts is away at the moment. Try again shortly.',
      cause: error,
    });
  }
}

function ended(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
