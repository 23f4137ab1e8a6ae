import { lineageContextOf } from '#shared/lineage/build.ts';
import { derivationKey } from '#shared/lineage/derivation-key.ts';
import type { LineageSources } from '#shared/lineage/of-receipt.ts';
import {
  type Derivations,
  NO_DERIVATIONS,
  type WholeMeasurement,
  wholeMeasurement,
} from '#shared/receipts/derivation.ts';
import { packLineage, type PackedReceipt } from '#shared/lineage/pack-lineage.ts';
import { isContradiction, judgeFigures, type LineageMethodologies } from './figures.ts';
import { readStatements } from './lineage-statements.ts';
import { textOf } from './lines.ts';
import {
  checkDigest,
  type PackBytes,
  type PackedFile,
  readPacked,
  reusedBuffer,
} from './pack-file.ts';

/** What a shard is judged with. */
export interface ShardTools {
  archive: PackBytes;
  /** Asked for when the first receipt with numbers is there. */
  methodologies: () => LineageMethodologies;
}

/** A lineage document, as it is handed to a thread with the shard that has its receipt. */
export interface PackedLineage {
  index: number;
  file: PackedFile;
  /** Hex, from the manifest. */
  sha256: string;
}

export interface LineageFindings {
  /** The ways in which the shard's receipts derive their numbers, in the order of the first receipt of each. */
  derivations: { key: string; firstIndex: number; receipts: number }[];
  /** Documents that were compared with their receipts; `remade` ones byte for byte. */
  documents: { index: number; remade: boolean }[];
  /** The first document that disagrees with its receipt, or receipt whose numbers do not follow from what it names. */
  contradiction?: { path: string; message: string };
}

export interface LineageVerdict {
  /** False when this release does not know the methodology, or this form of documents. */
  remade: boolean;
  /** Address of the context that the document cites. */
  context?: string;
  /** A sentence on where document and receipt disagree. */
  contradiction?: string;
}

/** Compares the lineage documents of a shard with their receipts. */
export class ShardLineage {
  readonly #archive: PackBytes;
  readonly #methodologies: () => LineageMethodologies;
  readonly #log: string;
  readonly #derivation: Derivations;
  readonly #waiting: ReadonlyMap<number, PackedLineage>;
  readonly #derivations = new Map<string, { firstIndex: number; receipts: number }>();
  readonly #documents: LineageFindings['documents'] = [];
  #contradiction: LineageFindings['contradiction'];

  constructor(
    { archive, methodologies }: ShardTools,
    log: string,
    documents: readonly PackedLineage[],
    derivation: Derivations,
  ) {
    this.#archive = archive;
    this.#methodologies = methodologies;
    this.#log = log;
    this.#derivation = derivation;
    this.#waiting = new Map(documents.map((each) => [each.index, each]));
  }

  /**
   * Takes the next receipt that has a measurement. Returns the key of its derivation, and the context that its lineage document cites, if it has one. A document that
   * disagrees with its receipt is reported with the findings, not thrown: a receipt in the wrong place is the graver
   * problem, and the ledger's check of that comes first.
   * @throws PackProblem when the document is not what the manifest says
   */
  take(
    receipt: Omit<PackedReceipt, 'log'>,
    measurement: WholeMeasurement,
  ): { derivation: string; context?: string | undefined } {
    const { index } = receipt;
    const key = derivationKey(measurement);
    const known = this.#derivations.get(key);
    if (known === undefined) this.#derivations.set(key, { firstIndex: index, receipts: 1 });
    else known.receipts += 1;
    const packed = this.#waiting.get(index);
    if (packed === undefined) {
      this.#compute(`entry ${index}`, measurement);
      return { derivation: key };
    }
    const { path } = packed.file;
    const text = textOf(this.#read(packed), path);
    const sources = { ...this.#methodologies(), derivation: this.#derivation };
    const verdict = judgeLineage(sources, text, { ...receipt, log: this.#log });
    const { remade, context, contradiction } = verdict;
    this.#documents.push({ index, remade });
    if (contradiction !== undefined) this.#contradiction ??= { path, message: contradiction };
    return { derivation: key, context };
  }

  /** Do the numbers follow from what the receipt names? Those of a document are compared with that. */
  #compute(path: string, measurement: WholeMeasurement): void {
    if (this.#contradiction !== undefined) return;
    // Those of another release's methodology rest on the document of their derivation.
    const judged = judgeFigures(measurement, this.#methodologies());
    if (judged.kind === 'different') this.#contradiction = { path, message: judged.message };
  }

  findings(): LineageFindings {
    return {
      derivations: [...this.#derivations].map(([key, facts]) => ({ key, ...facts })),
      documents: this.#documents,
      ...(this.#contradiction === undefined ? {} : { contradiction: this.#contradiction }),
    };
  }

  #read({ file, sha256 }: PackedLineage): Uint8Array {
    const bytes = readPacked(this.#archive, file, documentBuffer);
    checkDigest(bytes, sha256, file.path);
    return bytes;
  }
}

/** One for all documents of a thread, which are read as text before the next comes. */
const documentBuffer = reusedBuffer();

/**
 * Does this document say where the numbers of the receipt come from? It is made again from the receipt and the
 * methodology, and must be the same to the last byte. Where the methodology, or the form of the document, is of a
 * release that is not this one, what it repeats of the receipt is compared, and every record with its signed digest.
 */
export function judgeLineage(
  sources: LineageSources,
  text: string,
  receipt: PackedReceipt,
): LineageVerdict {
  const { id, measurement: stated } = receipt.document;
  const measurement = wholeMeasurement(stated!, sources.derivation ?? NO_DERIVATIONS);
  const { name, version } = measurement.hadPlan;
  const own = lineageContextOf(id);
  const known = sources.methodology(name, version) !== undefined;
  try {
    if (known && packLineage(sources, receipt) === text) return { remade: true, context: own };
  } catch (error) {
    if (!isContradiction(error)) throw error;
    return {
      remade: false,
      contradiction: `The methodology does not give what the receipt states: ${error.message}.`,
    };
  }
  const statements = readStatements(text, receipt, measurement);
  if (statements === null) {
    return { remade: false, contradiction: 'It is no lineage document.' };
  }
  const { context, contradiction } = statements;
  if (contradiction === undefined && !(known && context === own)) return { remade: false, context };
  const where = contradiction ?? 'between records and results';
  const message = `It says other things than the receipt and its methodology (${where}).`;
  return { remade: false, contradiction: message };
}
