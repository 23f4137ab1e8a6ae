import { multihashOf } from '#shared/kernel/multihash.ts';
import { VC_CONTEXT_URL } from '#shared/receipts/context.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import { knownPackContextDigest, type PackIssuer } from './pack-context.ts';
import { LINEAGE_DOCUMENTS_MAX, PACK_FORMAT, packName, type PackRange } from './layout.ts';
import { PackProblem } from './problem.ts';
import {
  type LineageCounts,
  SEAL_FORMAT,
  type SealDocument,
  type SealedFile,
  type SignedSeal,
  type TotalsDocument,
} from './seal-format.ts';
import { QUANTITIES } from './totals.ts';

export interface SealFacts {
  issuer: PackIssuer;
  orgId: string;
  /** IRI of the organisation, as receipts state it. */
  organisation: string;
  log: string;
  range: PackRange;
  /** base64url SHA-256. */
  root: string;
  /** When the checkpoint was signed: equal packs are sealed at equal times. */
  at: string;
  revisions: number;
  superseded: number;
  totals: TotalsDocument;
  lineage: LineageCounts;
  /** base64url SHA-256 by name, of each of `TAG_FILES`. */
  files: ReadonlyMap<string, string>;
  /** base64url SHA-256 by address. */
  resources: ReadonlyMap<string, string>;
}

/** The seal of a pack, unsigned. */
export function sealDocument(facts: SealFacts): SealDocument {
  const { issuer, range } = facts;
  const name = packName(facts.orgId, range);
  return {
    '@context': issuer.contexts,
    credentialSubject: {
      checkpoint: {
        log: facts.log,
        root: multihashOf(facts.root, 'checkpoint.root'),
        size: range.checkpointSize,
        type: 'Checkpoint',
      },
      file: [...facts.files].map(([file, digest]) => ({
        digest: multihashOf(digest, 'file.digest'),
        name: file as SealedFile,
        type: 'PackFile',
      })),
      format: PACK_FORMAT,
      id: `${issuer.packs}${name}`,
      lineage: facts.lineage,
      organisation: facts.organisation,
      range: {
        firstIndex: range.firstIndex,
        lastIndex: range.lastIndex,
        receipts: range.lastIndex - range.firstIndex + 1,
        revisions: facts.revisions,
        superseded: facts.superseded,
        type: 'LedgerRange',
      },
      totals: facts.totals,
      type: 'EvidencePack',
    },
    id: `${issuer.packs}${name}#seal`,
    issuer: issuer.did,
    relatedResource: [...facts.resources].map(([id, digest]) => ({
      digestMultibase: multihashOf(digest, 'relatedResource'),
      id,
    })),
    type: ['VerifiableCredential', 'EvidencePackCredential'],
    validFrom: facts.at,
  };
}

/** A seal of a pack with every methodology and context there ever was stays far below. */
export const SEAL_BYTES_MAX = 262_144;

const sealOf = shapeOf(SEAL_FORMAT);

function checkContexts(contexts: readonly string[], path: string): void {
  const [first, second = '', ...rest] = contexts;
  if (first !== VC_CONTEXT_URL || knownPackContextDigest(second) === undefined || rest.length > 0) {
    throw new MalformedData('wrong_value', path, 'are not the contexts of a seal');
  }
}

/**
 * Reads a seal from anyone. Its signature is another question.
 * @throws PackProblem `malformed_seal`, or `seal_contradiction` when its numbers do not fit each other
 */
export function parseSeal(source: string, place: string): SignedSeal {
  try {
    const seal = sealOf(parseStrictJson(source));
    checkContexts(seal['@context'], '@context');
    checkContexts(seal.proof['@context'], 'proof.@context');
    agree(seal, place);
    return seal;
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    throw new PackProblem('malformed_seal', place, `The seal cannot be read: ${error.message}.`);
  }
}

function agree(seal: SignedSeal, place: string): void {
  const { range, checkpoint, totals, file, lineage } = seal.credentialSubject;
  const { firstIndex, lastIndex, receipts } = range;
  const rules: [boolean, string][] = [
    [firstIndex <= lastIndex && lastIndex < checkpoint.size, 'its range lies in the ledger'],
    [receipts === lastIndex - firstIndex + 1, 'it counts the receipts of its range'],
    [totals.covered + totals.uncovered + totals.refused <= receipts, 'no receipt counts twice'],
    [
      lineage.documents <= LINEAGE_DOCUMENTS_MAX && lineage.documents <= lineage.described,
      'each of its lineage documents is of a receipt',
    ],
    [
      lineage.undescribed === 0 || lineage.documents === LINEAGE_DOCUMENTS_MAX,
      'lineage is left out only where a pack can have no more',
    ],
    [new Set(file.map(({ name }) => name)).size === file.length, 'it names each file once'],
    [
      totals.result.every(({ quantityKind, unit }, i) => {
        return quantityKind === QUANTITIES[i] && unit === QUANTITY_UNITS[quantityKind];
      }),
      'it states each quantity once, in its unit',
    ],
  ];
  const broken = rules.find(([holds]) => !holds);
  if (broken !== undefined) {
    throw new PackProblem('seal_contradiction', place, `It does not hold that ${broken[1]}.`);
  }
}
