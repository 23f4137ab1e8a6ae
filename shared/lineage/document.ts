import type { JsonObject } from '#shared/kernel/canonical-json.ts';

/** Links, classes and texts of a lineage document; all terms are in its context. Optional parts are absent, never null. */
export interface LineageDocument {
  readonly '@context': string;
  /** The receipt's address + `/lineage`. */
  readonly id: string;
  readonly type: readonly ['Lineage', 'Entity'];
  readonly about: ReceiptNode;
  readonly inference: JsonObject;
  readonly measurement?: MeasurementNode;
  readonly degradation?: JsonObject;
  /** The chain that the receipt belongs to, oldest first: whole, or in a pack as far as the receipt pins it. */
  readonly revisions: readonly RevisionNode[];
  readonly ledger?: LedgerNode;
  /** Every source that figures and constants cite. */
  readonly bibliography: readonly SourceNode[];
}

interface ReceiptNode {
  readonly id: string;
  readonly type: readonly string[];
  /** Multihash of the receipt's exact bytes. */
  readonly digest: string;
  readonly issuer: string;
  readonly tier: string;
  readonly generatedAt: string;
}

export interface RevisionNode {
  readonly id: string;
  readonly type: readonly ['Entity'];
  readonly kind?: string;
  readonly digest: string;
  readonly leafIndex?: number;
  readonly wasRevisionOf?: string;
}

export interface LedgerNode {
  readonly type: 'LedgerPosition';
  readonly log: string;
  readonly leafIndex: number;
  /** Multihash of SHA-256(0x00 || bytes), RFC 6962. */
  readonly leafHash: string;
  readonly generatedAt?: string;
}

export interface SourceNode {
  readonly id: string;
  readonly type: 'CreativeWork';
  readonly name: string;
  readonly text: string;
  readonly license: string;
}

/** One number, as a `qudt:QuantityValue` with the shortest decimal that reads back as the same binary64. */
export interface FigureNode {
  readonly id: string;
  readonly type: readonly string[];
  readonly symbol: string;
  readonly name: string;
  readonly value: string;
  readonly unit: string;
  readonly year?: string;
  readonly meaning?: string;
  readonly sources?: readonly string[];
}

/** A number that was computed: its formula, what it read, and where that came from. */
export interface StepNode extends FigureNode {
  readonly formula: string;
  readonly reads: readonly {
    readonly symbol: string;
    readonly value: string;
    readonly unit: string;
  }[];
  readonly wasDerivedFrom: readonly string[];
}

export interface InputNode {
  readonly id: string;
  readonly type: readonly string[];
  readonly name: string;
  readonly digest: string;
  /** The record in full: its canonical JSON (RFC 8785) hashes to `digest`. */
  readonly record: JsonObject;
  /** True when the receipt carries the record, because no published factor set has it. */
  readonly carried: boolean;
  readonly figures: readonly FigureNode[];
  readonly warnings: readonly WarningNode[];
}

export interface WarningNode {
  readonly type: 'Warning';
  readonly code: string;
  readonly message: string;
}

export interface BoundNode {
  readonly id: string;
  readonly type: 'Bound';
  readonly share: string;
  readonly combined: string;
  readonly factors: readonly {
    readonly name: string;
    readonly value: string;
    readonly basis: string;
    readonly sources: readonly string[];
  }[];
}

export interface MeasurementNode {
  readonly id: string;
  readonly type: readonly ['Activity', 'Measurement'];
  readonly dataQuality: string;
  readonly wasInformedBy: string;
  readonly software: {
    readonly type: 'SoftwareApplication';
    readonly name: string;
    readonly version: string;
  };
  readonly hadPlan: {
    readonly id: string;
    readonly type: 'Plan';
    readonly name: string;
    readonly version: string;
    readonly digest: string;
    readonly constants: readonly FigureNode[];
  };
  /** The interval over which energy was metered, by digest alone. */
  readonly metered?: { readonly digest: string; readonly from: string; readonly to: string };
  readonly used: readonly InputNode[];
  readonly steps: readonly StepNode[];
  readonly bounds: readonly BoundNode[];
  readonly generated: readonly JsonObject[];
  readonly warnings: readonly WarningNode[];
}
