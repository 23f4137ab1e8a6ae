import {
  type CosignatureCheck,
  readCosignature,
  type Witness,
} from '#shared/ledger/cosignatures.ts';
import { finding, type Finding } from './findings.ts';
import { MalformedLedgerText, parseNote, parseSignature } from '#shared/ledger/notes.ts';
import { ANCHOR_LOG } from '#shared/ledger/origins.ts';
import { queryRow, queryRows, type Row, statement } from '#shared/kernel/postgres/statement.ts';
import type { Queryable } from '#shared/kernel/postgres/transaction.ts';

/** Checks the timestamps and cosignatures of the anchor log. */
export interface AttestationCheck {
  /** Whose keys are known. */
  witnesses: readonly Witness[];
  verify: CosignatureCheck;
  /**
   * Reads a kept timestamp of a text. Returns epoch milliseconds of the authority's clock.
   * @throws Error saying what does not fit
   */
  readTimestamp: (response: Uint8Array, text: Uint8Array) => Promise<number>;
}

/** At a time: timestamps have some six kilobytes, 128 at worst. */
const PAGE = 100;

/**
 * Checks every stored timestamp and cosignature again, each against the checkpoint that it is about: anyone with access
 * to the database could have changed them since they came. Each is looked at once, alone.
 */
export async function* examineAttestations(
  db: Queryable,
  check: AttestationCheck | undefined,
): AsyncGenerator<Finding> {
  if (check === undefined) {
    yield* findUnchecked(db);
  } else {
    yield* examineTimestamps(db, check);
    yield* examineCosignatures(db, check);
  }
}

/** Both along their primary keys, each row with its checkpoint; a note that is null is found elsewhere. */
const TIMESTAMPS = statement(
  { size: 'int8', source: 'text', time: 'timestamptz', note: 'text?', response: 'bytea' },
  `select a.size, a.authority as source, a.time, c.note, a.response
   from anchor_timestamp a left join ledger_checkpoint c on c.org_id = '${ANCHOR_LOG}' and c.size = a.size
   where (a.size, a.authority) > ($1, $2) order by a.size, a.authority limit ${PAGE}`,
);
const COSIGNATURES = statement(
  { size: 'int8', source: 'text', time: 'timestamptz', note: 'text?', line: 'text' },
  `select a.size, a.witness as source, a.time, c.note, a.line
   from anchor_cosignature a left join ledger_checkpoint c on c.org_id = '${ANCHOR_LOG}' and c.size = a.size
   where (a.size, a.witness) > ($1, $2) order by a.size, a.witness limit ${PAGE}`,
);
type StoredAttestation = Pick<Row<typeof TIMESTAMPS>, 'size' | 'source'>;

async function* examineTimestamps(
  db: Queryable,
  { readTimestamp }: AttestationCheck,
): AsyncGenerator<Finding> {
  for await (const rows of pagesOf((after) => queryRows(db, TIMESTAMPS, after))) {
    const problems = rows.map(async ({ note, time, response }) =>
      problemOf(note, async (text) => {
        const said = await readTimestamp(response, new TextEncoder().encode(text));
        return said === time.getTime() ? null : 'The time that is stored beside it is another.';
      }),
    );
    yield* findingsOf('timestamp', rows, await Promise.all(problems));
  }
}

async function* examineCosignatures(
  db: Queryable,
  { witnesses, verify }: AttestationCheck,
): AsyncGenerator<Finding> {
  const unknown = new Set<string>();
  for await (const rows of pagesOf((after) => queryRows(db, COSIGNATURES, after))) {
    const problems = rows.map(({ source, note, time, line }) =>
      problemOf(note, async (text) => {
        const witness = witnesses.find(({ name }) => name === source);
        if (witness === undefined) {
          unknown.add(source);
          return parseSignature(line).name === source ? null : 'It names another witness.';
        }
        const said = readCosignature(`${line}\n`, text, witness, verify).time * 1_000;
        return said === time.getTime() ? null : 'The time that is stored beside it is another.';
      }),
    );
    yield* findingsOf('cosignature', rows, await Promise.all(problems));
  }
  for (const witness of [...unknown].toSorted()) {
    const detail =
      'WITNESSES does not name its key, so its cosignatures were read and not verified.';
    yield finding('signatures_unchecked', ANCHOR_LOG, `cosignatures of ${witness}`, detail);
  }
}

/** Null when it is as it was. What the readers of other people's formats throw says what is wrong. */
async function problemOf(
  note: string | null,
  examine: (text: string) => Promise<string | null>,
): Promise<string | null> {
  if (note === null) return null;
  let text: string;
  try {
    ({ text } = parseNote(note));
  } catch (error) {
    // The checkpoint itself was changed: that is found where checkpoints are examined.
    if (error instanceof MalformedLedgerText) return null;
    throw error;
  }
  try {
    return await examine(text);
  } catch (error) {
    const { message } = error as Error;
    return `It does not verify: ${message.replace(/\.$/, '')}.`;
  }
}

function* findingsOf(
  what: string,
  rows: readonly StoredAttestation[],
  problems: readonly (string | null)[],
): Generator<Finding> {
  for (const [i, { size, source }] of rows.entries()) {
    const problem = problems[i] ?? null;
    const subject = `${what} of checkpoint ${size} by ${source}`;
    if (problem !== null) yield finding('attestation_wrong', ANCHOR_LOG, subject, problem);
  }
}

async function* pagesOf<R extends StoredAttestation>(
  read: (after: readonly [size: string, source: string]) => Promise<R[]>,
): AsyncGenerator<R[]> {
  let after: readonly [string, string] = ['-1', ''];
  for (;;) {
    const rows = await read(after);
    if (rows.length > 0) yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = [last.size, last.source];
  }
}

const ANY = statement(
  { any: 'bool' },
  'select exists (select from anchor_timestamp) or exists (select from anchor_cosignature) as any',
);

async function* findUnchecked(db: Queryable): AsyncGenerator<Finding> {
  if ((await queryRow(db, ANY))?.any !== true) return;
  const detail = 'Timestamps and cosignatures were not checked.';
  yield finding('signatures_unchecked', ANCHOR_LOG, 'attestations', detail);
}
