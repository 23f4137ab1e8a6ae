import type { ReceiptIssuer } from '#shared/receipts/issuer.ts';
import type { PackRange } from '#shared/packs/layout.ts';
import type { ManifestLine } from '#shared/packs/manifest.ts';
import { PackTotals } from '#shared/packs/totals.ts';
import type { AskedAttestation } from '#shared/packs/attestation.ts';
import type { PackCheckpoint, PackLoss, PackSource } from '#shared/packs/postgres/pack-source.ts';
import type { CredentialSigner } from '#shared/receipts/signing/signer.ts';
import { RevisionLinks } from '#shared/packs/revision-links.ts';
import { ArchiveWriter, type ByteSink } from './archive.ts';
import { Citations } from './citations.ts';
import { PackDerivations } from './derivations.ts';
import { ExportLost } from './failure.ts';
import { LineageSection } from './lineage-section.ts';
import type { PackFile } from './shard.ts';
import type { OperatorStatement } from './operator-statement.ts';
import { ReportFacts } from '#shared/packs/report/facts.ts';
import type { PackDocuments } from './documents.ts';

export interface PackBuild extends PackRange {
  orgId: string;
  /** When it was asked for, in epoch milliseconds: packs that are sealed later are none of before. */
  createdAt?: number;
  source: PackSource;
  documents: PackDocuments;
  /** What the operator states of itself. */
  operator: OperatorStatement;
  issuer: ReceiptIssuer;
  /** Signs the seal. */
  signer: CredentialSigner;
  /** What others are asked to attest of the anchor. */
  asked: AskedAttestation;
  sink: ByteSink;
  /** Told how many receipts are written, often; false ends the work. */
  onProgress: (done: number) => Promise<boolean>;
  signal: AbortSignal;
}

/** A pack while it is being written: what its sections share. */
export class PackInProgress {
  readonly build: PackBuild;
  readonly archive: ArchiveWriter;
  readonly checkpoint: PackCheckpoint;
  /** Of the checkpoint: the name of a tree of the log. */
  readonly origin: string;
  /** Of the pack. */
  readonly name: string;
  /** What was declared lost of the log, oldest first. */
  readonly losses: readonly PackLoss[];
  readonly links: RevisionLinks;
  readonly totals = new PackTotals();
  readonly report = new ReportFacts();
  readonly citations: Citations;
  readonly derivations: PackDerivations;
  readonly lineage: LineageSection;
  /** Of the payload, in the order of the archive. */
  readonly manifest: ManifestLine[] = [];
  payloadBytes = 0;
  supersededCount = 0;
  revisionCount = 0;
  /** Within the range. */
  signedHeads = 0;
  #done = 0;

  constructor(
    build: PackBuild,
    archive: ArchiveWriter,
    led: Pick<PackInProgress, 'checkpoint' | 'origin' | 'name' | 'losses'>,
  ) {
    this.build = build;
    this.archive = archive;
    this.checkpoint = led.checkpoint;
    this.origin = led.origin;
    this.name = led.name;
    this.losses = led.losses;
    this.citations = new Citations(build.documents);
    this.derivations = new PackDerivations(build.source);
    const log = build.issuer.logs + build.orgId;
    this.lineage = new LineageSection(log, (receipt) =>
      build.documents.lineage(receipt, this.derivations.find),
    );
    this.links = new RevisionLinks({
      first: build.firstIndex,
      end: build.lastIndex + 1,
      size: build.checkpointSize,
    });
  }

  /** Adds a file of the payload. */
  async add({ path, bytes }: PackFile): Promise<void> {
    const { size, ...line } = await this.archive.add(path, bytes);
    this.manifest.push(line);
    this.payloadBytes += size;
  }

  /** Between two pages: says how far it is, and stops where that is asked for. */
  async advance(receipts: number): Promise<void> {
    this.#done += receipts;
    this.build.signal.throwIfAborted();
    if (!(await this.build.onProgress(this.#done))) throw new ExportLost();
  }
}
