import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { DERIVATIONS_MAX, derivationPath } from '#shared/packs/layout.ts';
import type { PackSource } from '#shared/packs/postgres/pack-source.ts';
import {
  type DerivationDocument,
  derivationDigest,
  type Derivations,
  parseDerivation,
} from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { PackFailure } from './failure.ts';
import type { PackFile } from './shard.ts';

/** The derivation records that the receipts of a pack name, read when the first receipt names one. */
export class PackDerivations {
  readonly #source: Pick<PackSource, 'derivations'>;
  readonly #known = new Map<string, { text: string; document: DerivationDocument }>();

  constructor(source: Pick<PackSource, 'derivations'>) {
    this.#source = source;
  }

  readonly find: Derivations = (digest) => this.#known.get(digest)?.document;

  /**
   * Reads what these receipts name and no receipt before did.
   * @throws PackFailure when a record is not there, or not what receipts name
   */
  async fetch(documents: readonly ReceiptDocument[]): Promise<void> {
    const wanted = new Set<string>();
    for (const { measurement } of documents) {
      const digest = measurement && derivationDigest(measurement);
      if (digest !== undefined && !this.#known.has(digest)) wanted.add(digest);
    }
    if (wanted.size === 0) return;
    if (this.#known.size + wanted.size > DERIVATIONS_MAX) {
      const what = `The receipts name more than ${DERIVATIONS_MAX} derivation records. Ask for a smaller range.`;
      throw new PackFailure('derivation_unknown', what);
    }
    const stored = await this.#source.derivations([...wanted]);
    for (const digest of wanted) this.#known.set(digest, read(digest, stored.get(digest)));
  }

  documents(): DerivationDocument[] {
    return [...this.#known.values()].map(({ document }) => document);
  }

  /** By name. */
  files(): PackFile[] {
    return [...this.#known]
      .map(([digest, { text }]) => ({ path: derivationPath(digest), bytes: Buffer.from(text) }))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }
}

function read(digest: string, text: string | undefined) {
  const problem = (what: string): PackFailure =>
    new PackFailure('derivation_unknown', `The derivation record ${digest} ${what}.`);
  if (text === undefined) throw problem('that a receipt names is not stored');
  try {
    return { text, document: parseDerivation(text, digest) };
  } catch (error) {
    if (error instanceof MalformedData) throw problem(`is damaged: ${error.message}`);
    throw error;
  }
}
