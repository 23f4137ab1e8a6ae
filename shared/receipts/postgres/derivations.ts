import type { Pool } from 'pg';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { queryRows, statement } from '#shared/kernel/postgres/statement.ts';
import {
  type DerivationDocument,
  derivationDigest,
  type DerivationRecord,
  type Derivations,
  parseDerivation,
} from '../derivation.ts';
import type { ReceiptDocument } from '../document.ts';

const READ = statement(
  { digest: 'text', body: 'text' },
  `SELECT digest, convert_from(body, 'UTF8') AS body FROM derivation WHERE digest = ANY ($1::text[])`,
);

/** Derivation records as they are stored, by digest. */
export async function readDerivations(
  pool: Pool,
  digests: readonly string[],
): Promise<Map<string, string>> {
  if (digests.length === 0) return new Map();
  const rows = await queryRows(pool, READ, [digests]);
  return new Map(rows.map(({ digest, body }) => [digest, body]));
}

/** The records that these receipts name. One that is missing or damaged is left out: it is missed where it is needed. */
export async function derivationsOf(
  pool: Pool,
  documents: readonly ReceiptDocument[],
): Promise<Derivations> {
  const wanted = new Set<string>();
  for (const { measurement } of documents) {
    const digest = measurement && derivationDigest(measurement);
    if (digest !== undefined) wanted.add(digest);
  }
  const known = new Map<string, DerivationDocument>();
  for (const [digest, text] of await readDerivations(pool, [...wanted])) {
    try {
      known.set(digest, parseDerivation(text, digest));
    } catch (error) {
      if (!(error instanceof MalformedData)) throw error;
    }
  }
  return (digest) => known.get(digest);
}

/** How many parameters `addDerivations` takes. */
export const DERIVATION_PARAMETERS = 2;

/**
 * SQL that adds the records given as parameters `first` and the one after it, unless they are there.
 * Two batches that bring the same record wait for each other, so each brings its records in one order.
 */
export const addDerivations = (first: number): string =>
  `INSERT INTO derivation (digest, body)
   SELECT digest, convert_to(body, 'UTF8') FROM unnest($${first}::text[], $${first + 1}::text[]) AS n (digest, body)
   ON CONFLICT DO NOTHING`;

/**
 * Which records a store has been given already: after the first receipt of a deployment naming its record costs nothing.
 * Any failure makes it forget, since the database may be another one afterwards.
 */
export class KnownDerivations {
  readonly #known = new Set<string>();

  /** Those of these rows that are to be written, as the two parameters of `addDerivations`. */
  parameters(rows: readonly { derivation?: DerivationRecord }[]): [string[], string[]] {
    const fresh = new Map<string, string>();
    for (const { derivation } of rows) {
      if (derivation === undefined || this.#known.has(derivation.digest)) continue;
      fresh.set(derivation.digest, derivation.text);
    }
    const digests = [...fresh.keys()].toSorted();
    return [digests, digests.map((digest) => fresh.get(digest)!)];
  }

  committed(digests: readonly string[]): void {
    for (const digest of digests) this.#known.add(digest);
  }

  forget(): void {
    this.#known.clear();
  }
}
