import type { Pool } from 'pg';
import { execute, queryRow, statement } from '#shared/kernel/postgres/statement.ts';
import type { AttestableCheckpoint } from '../checkpoints.ts';
import type { Cosignature } from '../cosignatures.ts';
import type { Hash } from '../hashing.ts';
import { formatSignature, parseNote } from '../notes.ts';
import { ANCHOR_LOG } from '../origins.ts';
import { proveConsistency } from './published.ts';

/** Longer than asking takes: the turn of a worker that died in the middle passes to another after it. */
const TURN_S = 60;
/** A timestamp says when to the minute; authorities that ask nothing for it ask for restraint. */
const TIMESTAMP_PAUSE_S = 60;
/** As often as there is anything new. */
const COSIGNATURE_PAUSE_S = 10;
/** After the first failure; it doubles with each in a row. */
const RETRY_S = 10;
const RETRY_MAX_S = 600;
const REASON_LENGTH_MAX = 500;

const KNOW_SOURCE = statement(
  {},
  // A moment ago: times are kept in milliseconds, and one that was rounded up would not have come yet.
  `insert into anchor_source (source, next_at) values ($1, now() - interval '1 ms') on conflict do nothing`,
);

/** Takes a source's turn, if it has not attested the newest checkpoint and its time has come. */
const takeTurn = (attested: string) =>
  statement(
    { size: 'int8', note: 'text' },
    `with newest as (
       select c.size, c.note from ledger_checkpoint c where c.org_id = $2 order by c.size desc limit 1),
     turn as (
       update anchor_source s set next_at = now() + make_interval(secs => $3)
       where s.source = $1 and s.next_at <= now()
         and exists (select from newest c where not exists (${attested}))
       returning s.source)
     select c.size, c.note from newest c, turn`,
  );

const TAKE_TURN = {
  timestamp: takeTurn('select from anchor_timestamp a where a.size = c.size and a.authority = $1'),
  cosignature: takeTurn(
    'select from anchor_cosignature a where a.size = c.size and a.witness = $1',
  ),
} as const;

const SUCCEEDED = `update anchor_source
  set failures = 0, last_error = null, next_at = now() + make_interval(secs => $5) where source = $1`;

const STORE_TIMESTAMP = statement(
  {},
  `with stored as (
     insert into anchor_timestamp (size, authority, time, response) values ($2, $1, $3, $4)
     on conflict do nothing)
   ${SUCCEEDED}`,
);

const STORE_COSIGNATURE = statement(
  {},
  `with stored as (
     insert into anchor_cosignature (size, witness, time, line) values ($2, $1, $3, $4)
     on conflict do nothing)
   ${SUCCEEDED}`,
);

const NOTE_FAILURE = statement(
  {},
  `update anchor_source set failures = failures + 1, last_error = $2,
     next_at = now() + make_interval(secs => least($4, $3 * power(2, least(failures, 20))))
   where source = $1`,
);

const LAST_COSIGNED = statement(
  { size: 'int8?' },
  'select max(size) as size from anchor_cosignature where witness = $1',
);

export type AttestationStore = ReturnType<typeof createAttestationStore>;

/**
 * What is known of attestations, and who asks for the next. Sources take turns in PostgreSQL, so that any number of
 * workers ask as often as one.
 */
export function createAttestationStore(pool: Pool) {
  return {
    /**
     * Takes the turn to ask a source about the newest anchor checkpoint. Null when it has attested that
     * one, its time has not come, or another worker is asking.
     */
    async claim(
      kind: 'timestamp' | 'cosignature',
      source: string,
    ): Promise<AttestableCheckpoint | null> {
      await execute(pool, KNOW_SOURCE, [source]);
      const row = await queryRow(pool, TAKE_TURN[kind], [source, ANCHOR_LOG, TURN_S]);
      if (row === undefined) return null;
      return { size: Number(row.size), note: row.note, text: parseNote(row.note).text };
    },
    /** `time` in epoch milliseconds by the authority's clock, `response` the DER of its TimeStampResp. */
    async stamped(
      size: number,
      authority: string,
      { time, response }: { time: number; response: Uint8Array },
    ): Promise<void> {
      const values = [authority, size, new Date(time), response, TIMESTAMP_PAUSE_S];
      await execute(pool, STORE_TIMESTAMP, values);
    },
    async cosigned(size: number, witness: string, { line, time }: Cosignature): Promise<void> {
      const signature = formatSignature(line).trimEnd();
      const values = [witness, size, new Date(time * 1_000), signature, COSIGNATURE_PAUSE_S];
      await execute(pool, STORE_COSIGNATURE, values);
    },
    /** The next attempt is later after each failure in a row. */
    async failed(source: string, reason: string): Promise<void> {
      const said = reason.slice(0, REASON_LENGTH_MAX);
      await execute(pool, NOTE_FAILURE, [source, said, RETRY_S, RETRY_MAX_S]);
    },
    /** The size of the last checkpoint that the witness cosigned; 0 when there is none. */
    async lastCosigned(witness: string): Promise<number> {
      const row = await queryRow(pool, LAST_COSIGNED, [witness]);
      return Number(row?.size ?? 0);
    },
    /** From one size of the anchor log to another that was published. */
    async consistency(oldSize: number, newSize: number): Promise<Hash[]> {
      const hashes = await proveConsistency(pool, ANCHOR_LOG, oldSize, newSize);
      if (hashes === null) throw new Error(`the anchor log has no ${newSize} entries`);
      return hashes;
    },
  };
}
