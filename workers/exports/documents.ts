import type { PackedReceipt } from '#shared/lineage/pack-lineage.ts';
import type { Derivations } from '#shared/receipts/derivation.ts';

/** The documents of a pack that no receipt decides: what it takes to read and to check the others. */
export interface PackDocuments {
  /** Bytes by file name, in the order in which they are packed. */
  contexts: ReadonlyMap<string, Uint8Array>;
  /** SHACL shapes of receipts. */
  shapes: Uint8Array;
  /** VERIFY.md, with its blanks. */
  instructions: string;
  /** verify.py */
  script: Uint8Array;
  /** `digest` is the base64url SHA-256 of `text`. */
  methodology(name: string, version: string): { digest: string; text: string } | undefined;
  /** @throws LineageContradiction, MalformedData when the receipt contradicts its methodology */
  lineage(receipt: PackedReceipt, derivation: Derivations): string;
  /** `/.well-known/did.json` and `jwks.json` as they are now. */
  didDocument(): string;
  jwks(): string;
}
