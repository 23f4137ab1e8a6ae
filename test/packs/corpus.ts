import { chmodSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LedgerKind } from '#shared/ledger/entries.ts';
import { packLineage } from '#shared/lineage/pack-lineage.ts';
import { shippedMethodologies } from '#shared/methodology/files/methodologies.ts';
import { createPackSource } from '#shared/packs/postgres/pack-source.ts';
import { parseStatement } from '#shared/packs/report/statement.ts';
import {
  derivationDigest,
  type Derivations,
  parseDerivation,
} from '#shared/receipts/derivation.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { createTestDatabase } from '#test/support/database.ts';
import { submitReceipts } from '#test/support/ledger.ts';
import { PackLab } from '#test/support/packs.ts';

export const METHODOLOGIES = shippedMethodologies();

export interface ExpectedReceipt {
  name: string;
  id: string;
  kind: LedgerKind;
  index: number;
  supersedes: string | null;
  sha256: string;
  lineageSha256: string;
  verdict: string;
  recomputed: 'reproduced' | 'no_measurement';
}

interface Expected {
  organisation: string;
  receipts: ExpectedReceipt[];
  packs: { name: string; firstIndex: number; lastIndex: number; verdict: string }[];
}

const COMPATIBILITY = join(import.meta.dirname, '../../docs/compatibility.md');

/** @throws once a commit is named with which the formats are frozen: what was issued is not made anew after it */
export function refuseFrozen(): void {
  if (readFileSync(COMPATIBILITY, 'utf8').includes('**Frozen with commit:** none yet.')) return;
  throw new Error(
    'The formats are frozen (docs/compatibility.md): another form takes another number.',
  );
}

/** The files of what was issued in one format. */
export class Corpus {
  readonly #folder: string;
  readonly expected: Expected;

  constructor(format: string) {
    this.#folder = join(import.meta.dirname, '../vectors', format);
    this.expected = JSON.parse(this.read('expected.json').toString()) as Expected;
  }

  get didJson(): string {
    return this.read('did.json').toString();
  }

  path(...parts: string[]): string {
    return join(this.#folder, ...parts);
  }

  read(...parts: string[]): Buffer {
    return readFileSync(this.path(...parts));
  }

  bytesOf(receipt: string): Buffer {
    return this.read('receipts', `${receipt}.json`);
  }

  readonly derivation: Derivations = (digest) => {
    const path = this.path('derivations', `${digest}.json`);
    return existsSync(path) ? parseDerivation(readFileSync(path, 'utf8'), digest) : undefined;
  };

  /** The lineage of a receipt as packs have it. */
  lineageOf({ name, index }: ExpectedReceipt): string {
    const bytes = this.bytesOf(name);
    const { document } = parseReceipt(bytes);
    const log = `gateway.example/log/${this.expected.organisation}`;
    const sources = { ...METHODOLOGIES, derivation: this.derivation };
    return packLineage(sources, { bytes, document, log, index });
  }

  /** A deployment with the keys of the corpus and an empty ledger. @param directory of its own */
  async lab(directory = mkdtempSync(join(tmpdir(), 'docket-corpus-'))): Promise<PackLab> {
    const { pool } = await createTestDatabase();
    this.takeKeys(directory);
    return new PackLab(pool, directory);
  }

  /** Its keys, in `keys` of a directory and readable by their owner alone. */
  takeKeys(directory: string): void {
    cpSync(this.path('keys'), join(directory, 'keys'), { recursive: true });
    for (const purpose of readdirSync(this.path('keys'))) {
      chmodSync(join(directory, 'keys', purpose), 0o700);
      chmodSync(join(directory, 'keys', purpose, 'active.pem'), 0o600);
    }
  }

  /** Brings its receipts into a ledger, one after the other. */
  async integrate(lab: PackLab): Promise<void> {
    const { organisation: orgId, receipts } = this.expected;
    for (const { name, id, kind, supersedes } of receipts) {
      const body = this.bytesOf(name);
      const { measurement } = parseReceipt(body).document;
      const digest = measurement && derivationDigest(measurement);
      const text = digest && this.read('derivations', `${digest}.json`).toString();
      await submitReceipts(lab.pool, [
        {
          id,
          orgId,
          kind,
          body,
          ...(digest === undefined ? {} : { derivation: { digest, text: text! } }),
          ...(supersedes === null ? {} : { supersedes }),
        },
      ]);
      if (supersedes !== null) {
        await lab.pool.query(
          'insert into receipt_revision (original_id, revision_id, org_id) values ($1, $2, $3)',
          [supersedes, id, orgId],
        );
      }
      await lab.integrate();
    }
  }

  /** Writes a pack of a ledger in which its receipts are, with the names and contracts of the corpus. */
  async pack(
    lab: PackLab,
    file: string,
    range: { firstIndex: number; lastIndex: number },
  ): Promise<void> {
    const stated = parseStatement(this.read('stated.json').toString());
    const { name = '', identifier = null } = stated.organisation;
    const source = {
      ...createPackSource(lab.pool),
      organisation: async () => ({ name, identifier }),
    };
    const { earlier: _, operator: named, organisation: __, ...states } = stated;
    const operator = { ...named, ...states };
    const checkpointSize = this.expected.receipts.length;
    await lab.pack(file, { ...range, checkpointSize }, { source, operator });
  }
}
