import { parseAnchorEntry } from '#shared/ledger/anchor-entries.ts';
import { finding, type Finding } from './findings.ts';
import { sameHash } from '#shared/ledger/hashing.ts';
import type { AnchoredSize } from './key-examination.ts';
import { MalformedLedgerText, parseNote } from '#shared/ledger/notes.ts';
import { ANCHOR_LOG } from '#shared/ledger/origins.ts';
import { ANCHORED_CHECKPOINT } from '#shared/ledger/postgres/anchored-heads.ts';
import { queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';
import { headsTreeOfTexts } from '#shared/ledger/heads-tree.ts';

/** Entries at a time; their texts are short. */
const PAGE = 500;
/** Of what lies outside the log so many are named one by one. */
const NAMED_MAX = 100;

const ANCHORED_SIZES = statement(
  { index: 'int8', size: 'int8' },
  'select index, size from anchor_head where org_id = $1 order by index',
);

/** From which entries of the anchor log on how much of a log is anchored. */
export async function readAnchoredSizes(db: Queryable, orgId: string): Promise<AnchoredSize[]> {
  const rows = await queryRows(db, ANCHORED_SIZES, [orgId]);
  return rows.map(({ index, size }) => ({ index: Number(index), size: Number(size) }));
}

const EPOCHS = statement(
  { index: 'int8', kind: 'text', body: 'bytea?', secret: 'bytea?' },
  `select e.index, e.kind, a.body, p.secret from ledger_entry e
   left join anchor_entry a on a.index = e.index left join anchor_epoch p on p.index = e.index
   where e.org_id = '${ANCHOR_LOG}' and e.index >= $1 and e.index < $2 order by e.index`,
);

/** Checkpoints that heads trees are said to hold. */
const HEADS = statement(
  { org_id: 'text', index: 'int8', size: 'int8', slot: 'int4?', note: 'text?' },
  `select a.org_id, a.index, a.size, s.slot, c.note from anchor_head a
   left join anchor_slot s on s.org_id = a.org_id
   left join ${ANCHORED_CHECKPOINT} c on c.org_id = a.org_id and c.size = a.size
   where a.index >= $1 and a.index < $2 order by a.index, a.org_id`,
);

/** What stands in the slots, epoch after epoch: what checkpoints sign, read once and not with every epoch. */
type Slots = Map<string, { slot: number; text: string; size: number }>;

/**
 * Makes every heads tree of the anchor log again, from slots, secrets and the organisations'
 * checkpoints, and compares its root with the entry. Each tree has salts of its own, so its price is that
 * of all its organisations, and no tree makes the next one cheaper. Entries, tiles and checkpoints of the
 * log itself are examined like those of any other.
 */
export async function* examineAnchor(db: Queryable, size: number): AsyncGenerator<Finding> {
  const slots: Slots = new Map();
  for (let from = 0; from < size; from += PAGE) {
    const to = Math.min(from + PAGE, size);
    const heads = Map.groupBy(await queryRows(db, HEADS, [from, to]), ({ index }) => index);
    for (const row of await queryRows(db, EPOCHS, [from, to])) {
      yield* fill(slots, heads.get(row.index) ?? []);
      heads.delete(row.index);
      const problem = problemOf(row, slots);
      if (problem !== null) yield wrong(`entry ${row.index}`, problem);
    }
  }
  yield* findOutsiders(db);
}

/** Puts the heads that are new in an epoch into their slots. */
function* fill(slots: Slots, rows: readonly Row<typeof HEADS>[]): Generator<Finding> {
  for (const { org_id: orgId, index, size, slot, note } of rows) {
    const subject = `head of ${orgId} at entry ${index}`;
    if (slot === null) yield wrong(subject, 'The organisation has no slot.');
    else if (note === null) yield wrong(subject, `No checkpoint of ${size} entries is stored.`);
    else if ((slots.get(orgId)?.size ?? 0) >= Number(size)) {
      yield wrong(subject, 'It is not larger than the one before.');
    } else {
      const text = textOf(note);
      if (text === null) yield wrong(subject, `The checkpoint of ${size} entries cannot be read.`);
      else slots.set(orgId, { slot, text, size: Number(size) });
    }
  }
}

function textOf(note: string): string | null {
  try {
    return parseNote(note).text;
  } catch (error) {
    if (error instanceof MalformedLedgerText) return null;
    throw error;
  }
}

function problemOf(row: Row<typeof EPOCHS>, slots: Slots): string | null {
  const { kind, body, secret } = row;
  // A lost body is found where the log itself is examined.
  if (body === null) return null;
  try {
    const entry = parseAnchorEntry(body);
    if (entry.type !== kind) return `The entry is called ${kind}, its text says ${entry.type}.`;
    if (entry.type === 'key') return null;
    if (secret === null) return 'The secret of the heads tree is lost.';
    const { root } = headsTreeOfTexts(secret, slots.values());
    if (!sameHash(root, entry.root)) {
      return 'The organisations’ checkpoints, slots and the secret do not give the root of the heads tree.';
    }
    return null;
  } catch (error) {
    if (error instanceof MalformedLedgerText) return `It cannot be read: ${error.message}`;
    throw error;
  }
}

const entry = `ledger_entry e where e.org_id = '${ANCHOR_LOG}' and e.index`;
const signed = `ledger_checkpoint c where c.org_id = '${ANCHOR_LOG}' and c.size`;
const outsiders = (search: string) => statement({ index: 'int8' }, `${search} limit ${NAMED_MAX}`);

/** What belongs to the anchor and no entry of the log is about it. Each statement sees one moment, so anchoring may go on. */
const OUTSIDERS: readonly [string, ReturnType<typeof outsiders>][] = [
  [
    'text',
    outsiders(
      `select a.index from anchor_entry a where not exists (select from ${entry} = a.index)`,
    ),
  ],
  [
    'heads tree',
    outsiders(
      `select p.index from anchor_epoch p where not exists (select from ${entry} = p.index and e.kind = 'heads')`,
    ),
  ],
  [
    'anchored head',
    outsiders(
      `select distinct a.index from anchor_head a
       where not exists (select from anchor_epoch p where p.index = a.index)`,
    ),
  ],
  [
    'timestamp',
    outsiders(
      `select t.size as index from anchor_timestamp t where not exists (select from ${signed} = t.size)`,
    ),
  ],
  [
    'cosignature',
    outsiders(
      `select s.size as index from anchor_cosignature s where not exists (select from ${signed} = s.size)`,
    ),
  ],
];

async function* findOutsiders(db: Queryable): AsyncGenerator<Finding> {
  for (const [what, search] of OUTSIDERS) {
    for (const { index } of await queryRows(db, search)) {
      yield wrong(`${what} ${index}`, `The log has nothing that this ${what} belongs to.`);
    }
  }
}

function wrong(subject: string, detail: string): Finding {
  return finding('anchor_wrong', ANCHOR_LOG, subject, detail);
}
