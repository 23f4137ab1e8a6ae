import type { Pool } from 'pg';
import { type Actor, SERVICE_CHAIN } from '#shared/accounts/audit/entry.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { execute, queryRow, queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import { parseAnchorEntry } from '../anchor-entries.ts';
import {
  KEY_PURPOSES,
  type KeyIntervals,
  keyIntervals,
  type KeyPurpose,
  type PlacedKeyEvent,
} from '../key-events.ts';
import { MalformedLedgerText } from '../notes.ts';
import { ANCHOR_LOG } from '../origins.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';
import { inTransaction, type Queryable } from '#shared/kernel/postgres/transaction.ts';
import { appendAudit } from '#shared/accounts/postgres/audit.ts';

/** A key has a handful of events in its life, and keys are rotated by hand. */
const KEY_EVENTS_MAX = 10_000;

const KEY_EVENTS = statement(
  { index: 'int8', body: 'bytea' },
  `select e.index, a.body from ledger_entry e join anchor_entry a on a.index = e.index
   where e.org_id = $1 and e.kind = 'key' and e.index >= $3 order by e.index limit $2`,
);

/** Every key event of the anchor log, in its order; from an entry on when one is named. */
export async function readKeyEvents(db: Queryable, from = 0): Promise<PlacedKeyEvent[]> {
  const rows = await queryRows(db, KEY_EVENTS, [ANCHOR_LOG, KEY_EVENTS_MAX, from]);
  // A history without its end would call keys good that are not.
  if (rows.length === KEY_EVENTS_MAX) throw new Error('more key events than anyone can have made');
  return rows.map(({ index, body }) => {
    const event = parseAnchorEntry(body);
    if (event.type !== 'key') {
      throw new MalformedLedgerText('key_event', `Entry ${index} is called one, and is none.`);
    }
    return { index: Number(index), event };
  });
}

/** A compromise that an operator has reported and that is not in the log yet. */
export interface CompromiseRequest {
  id: string;
  key: string;
  purpose: KeyPurpose;
  /** Null stands for the place at which it is written. */
  from: number | null;
}

const COMPROMISE_REQUESTS = statement(
  { id: 'int8', key_id: 'text', purpose: KEY_PURPOSES, from_index: 'int8?' },
  'select id, key_id, purpose, from_index from anchor_pending order by id limit $1',
);

/** Requests about keys that the log knows; others wait until it does. */
export async function readCompromiseRequests(
  db: Queryable,
  intervals: KeyIntervals,
): Promise<CompromiseRequest[]> {
  const rows = await queryRows(db, COMPROMISE_REQUESTS, [KEY_EVENTS_MAX]);
  return rows
    .map(({ id, key_id: key, purpose, from_index: from }) => {
      return { id, key, purpose, from: from === null ? null : Number(from) };
    })
    .filter(({ key, purpose }) => intervals.get(key)?.purpose === purpose);
}

/** What an operator knows of a compromise. */
export interface Compromise {
  /** `did:web:…#<thumbprint>` */
  key: string;
  /** The first index of the anchor log that is not vouched for; the place of the event itself when absent. */
  from?: number;
  actor: Actor;
  reason?: string;
}

const REQUEST_COMPROMISE = statement(
  {},
  'insert into anchor_pending (key_id, purpose, from_index) values ($1, $2, $3)',
);

/**
 * Reports that a key is in other hands. A ledger worker writes it into the anchor log within seconds:
 * what was anchored before `from` stays good, the rest is not. It can never be taken back.
 * @throws Fault `signing_key_not_found`, `invalid_from` beyond the end of the log
 */
export async function reportCompromise(
  pool: Pool,
  surroundings: Surroundings,
  { key, from, actor, reason }: Compromise,
): Promise<void> {
  const interval = keyIntervals(await readKeyEvents(pool)).get(key);
  if (interval === undefined) throw new Fault('signing_key_not_found');
  if (from !== undefined && from > (await anchorSize(pool))) {
    throw invalidParam('from', 'The anchor log has no such index yet.');
  }
  await inTransaction(pool, async (client) => {
    await execute(client, REQUEST_COMPROMISE, [key, interval.purpose, from ?? null]);
    await appendAudit(client, surroundings, {
      orgId: SERVICE_CHAIN,
      action: 'signing_key.compromised',
      actor,
      subject: interval.purpose,
      details: { key, from: from ?? null },
      ...(reason === undefined ? {} : { reason }),
    });
  });
}

const FIRST_EPOCH_SINCE = statement(
  { index: 'int8' },
  'select index from anchor_epoch where at >= $1 order by index limit 1',
);

/**
 * The place in the anchor log of a moment (epoch milliseconds): the first heads entry made at that time
 * or later, or the end of the log. What was anchored below it was anchored before.
 */
export async function anchorIndexAt(pool: Pool, moment: number): Promise<number> {
  const row = await queryRow(pool, FIRST_EPOCH_SINCE, [new Date(moment)]);
  return row === undefined ? anchorSize(pool) : Number(row.index);
}

const LOG_SIZE = statement({ size: 'int8' }, 'select size from ledger_head where org_id = $1');

async function anchorSize(pool: Pool): Promise<number> {
  const row = await queryRow(pool, LOG_SIZE, [ANCHOR_LOG]);
  return Number(row?.size ?? 0);
}
