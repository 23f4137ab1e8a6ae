import type { Pool } from 'pg';
import { formatSignature, parseNote } from '../notes.ts';
import { ANCHOR_LOG } from '../origins.ts';
import type { AttestationStore } from '../port-attestation.ts';
import { proveConsistency } from './reader.ts';

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

const ATTESTED = {
  timestamp: 'select from anchor_timestamp a where a.size = c.size and a.authority = $1',
  cosignature: 'select from anchor_cosignature a where a.size = c.size and a.witness = $1',
} as const;

/** Attestations in PostgreSQL. Sources take turns there, so that any number of workers ask as often as one. */
export function createAttestationStore(pool: Pool): AttestationStore {
  return {
    async claim(kind, source) {
      // A moment ago: times are kept in milliseconds, and one that was rounded up would not have come yet.
      await pool.query(
        `insert into anchor_source (source, next_at) values ($1, now() - interval '1 ms')
         on conflict do nothing`,
        [source],
      );
      const { rows } = await pool.query<{ size: string; note: string }>(
        `with newest as (
           select c.size, c.note from ledger_checkpoint c where c.org_id = $2 order by c.size desc limit 1),
         turn as (
           update anchor_source s set next_at = now() + make_interval(secs => $3)
           where s.source = $1 and s.next_at <= now()
             and exists (select from newest c where not exists (${ATTESTED[kind]}))
           returning s.source)
         select c.size, c.note from newest c, turn`,
        [source, ANCHOR_LOG, TURN_S],
      );
      const row = rows[0];
      if (row === undefined) return null;
      return { size: Number(row.size), note: row.note, text: parseNote(row.note).text };
    },
    async stamped(size, authority, { time, response }) {
      await pool.query(
        `with stored as (
           insert into anchor_timestamp (size, authority, time, response) values ($2, $1, $3, $4)
           on conflict do nothing)
         ${SUCCEEDED}`,
        [authority, size, new Date(time), response, TIMESTAMP_PAUSE_S],
      );
    },
    async cosigned(size, witness, { line, time }) {
      await pool.query(
        `with stored as (
           insert into anchor_cosignature (size, witness, time, line) values ($2, $1, $3, $4)
           on conflict do nothing)
         ${SUCCEEDED}`,
        [
          witness,
          size,
          new Date(time * 1_000),
          formatSignature(line).trimEnd(),
          COSIGNATURE_PAUSE_S,
        ],
      );
    },
    async failed(source, reason) {
      await pool.query(
        `update anchor_source set failures = failures + 1, last_error = $2,
           next_at = now() + make_interval(secs => least($4, $3 * power(2, least(failures, 20))))
         where source = $1`,
        [source, reason.slice(0, REASON_LENGTH_MAX), RETRY_S, RETRY_MAX_S],
      );
    },
    async lastCosigned(witness) {
      const { rows } = await pool.query<{ size: string | null }>(
        'select max(size) as size from anchor_cosignature where witness = $1',
        [witness],
      );
      return Number(rows[0]?.size ?? 0);
    },
    async consistency(oldSize, newSize) {
      const hashes = await proveConsistency(pool, ANCHOR_LOG, oldSize, newSize);
      if (hashes === null) throw new Error(`the anchor log has no ${newSize} entries`);
      return hashes;
    },
  };
}

const SUCCEEDED = `update anchor_source
  set failures = 0, last_error = null, next_at = now() + make_interval(secs => $5) where source = $1`;
