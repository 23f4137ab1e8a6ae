import { multihashOf } from '#shared/kernel/multihash.ts';
import type { ProofDocument } from '#shared/receipts/document.ts';
import { VC_CONTEXT_URL } from '#shared/receipts/context.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import {
  type Check,
  dateTime,
  decimal,
  exactly,
  fields,
  iri,
  list,
  multihash,
  oneOf,
  text,
  wholeNumber,
} from '#shared/receipts/shape.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { QUANTITY_UNITS } from '#shared/receipts/document.ts';
import { knownPackContextDigest, type PackIssuer } from './pack-context.ts';
import {
  LINEAGE_DOCUMENTS_MAX,
  PACK_FORMAT,
  packName,
  type PackRange,
  TAG_FILES,
} from './layout.ts';
import type { LineageDocumentCounts } from './lineage-coverage.ts';
import { PackProblem } from './problem.ts';
import { QUANTITIES, type TotalsDocument } from './totals.ts';

/** A document that the pack's meaning rests on, under its address, with the digest of its bytes. */
interface RelatedResource {
  digestMultibase: string;
  id: string;
  type?: string;
}

/** What a seal says. */
export interface SealDocument {
  '@context': readonly string[];
  credentialSubject: {
    checkpoint: { log: string; root: string; size: number; type: 'Checkpoint' };
    file: { digest: string; name: string; type: 'PackFile' }[];
    format: string;
    id: string;
    lineage: LineageDocumentCounts;
    organisation: string;
    range: {
      firstIndex: number;
      lastIndex: number;
      receipts: number;
      revisions: number;
      superseded: number;
      type: 'LedgerRange';
    };
    totals: TotalsDocument;
    type: 'EvidencePack';
  };
  id: string;
  issuer: string;
  /** Contexts and methodologies. */
  relatedResource: RelatedResource[];
  type: readonly string[];
  validFrom: string;
}

export interface SignedSeal extends SealDocument {
  proof: ProofDocument;
}

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
  lineage: LineageDocumentCounts;
  /** base64url SHA-256 by name, of each of `TAG_FILES`. */
  files: ReadonlyMap<string, string>;
  /** base64url SHA-256 by address. */
  resources: ReadonlyMap<string, string>;
}

const SEAL_TYPE = ['VerifiableCredential', 'EvidencePackCredential'] as const;

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
        name: file,
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
    type: SEAL_TYPE,
    validFrom: facts.at,
  };
}

/** A seal of a pack with every methodology and context there ever was stays far below. */
export const SEAL_BYTES_MAX = 262_144;

const QUANTITY = fields({
  quantityKind: oneOf(...QUANTITIES),
  type: oneOf('QuantityValue'),
  unit: oneOf(...Object.values(QUANTITY_UNITS)),
  value: decimal,
});

const SUBJECT = fields({
  checkpoint: fields({
    log: text(),
    root: multihash,
    size: wholeNumber,
    type: oneOf('Checkpoint'),
  }),
  file: list(
    fields({ digest: multihash, name: oneOf(...TAG_FILES), type: oneOf('PackFile') }),
    TAG_FILES.length,
    TAG_FILES.length,
  ),
  format: oneOf(PACK_FORMAT),
  id: iri,
  lineage: fields({
    described: wholeNumber,
    documents: wholeNumber,
    type: oneOf('PackLineage'),
    undescribed: wholeNumber,
  }),
  organisation: iri,
  range: fields({
    firstIndex: wholeNumber,
    lastIndex: wholeNumber,
    receipts: wholeNumber,
    revisions: wholeNumber,
    superseded: wholeNumber,
    type: oneOf('LedgerRange'),
  }),
  totals: fields({
    cachedInputTokens: wholeNumber,
    covered: wholeNumber,
    inputTokens: wholeNumber,
    outputTokens: wholeNumber,
    refused: wholeNumber,
    result: list(QUANTITY, QUANTITIES.length, QUANTITIES.length),
    type: oneOf('PackTotals'),
    uncovered: wholeNumber,
  }),
  type: oneOf('EvidencePack'),
});

const CONTEXT_LIST: Check = (value, path) => {
  list(iri, 2, 2)(value, path);
  const [first, second] = value as string[];
  if (first === VC_CONTEXT_URL && knownPackContextDigest(second!) !== undefined) return;
  throw new MalformedData('wrong_value', path, 'are not the contexts of a seal');
};

const SEAL = fields({
  '@context': CONTEXT_LIST,
  credentialSubject: SUBJECT,
  id: iri,
  issuer: iri,
  proof: fields({
    '@context': CONTEXT_LIST,
    created: dateTime,
    cryptosuite: oneOf('eddsa-jcs-2022'),
    proofPurpose: oneOf('assertionMethod'),
    proofValue: text(/^z[1-9A-HJ-NP-Za-km-z]{60,88}$/, 'a base58btc Ed25519 signature'),
    type: oneOf('DataIntegrityProof'),
    verificationMethod: iri,
  }),
  relatedResource: list(fields({ digestMultibase: multihash, id: iri }), 1, 256),
  type: exactly(...SEAL_TYPE),
  validFrom: dateTime,
});

/**
 * Reads a seal from anyone. Its signature is another question.
 * @throws PackProblem `malformed_seal`, or `seal_contradiction` when its numbers do not fit each other
 */
export function parseSeal(source: string, place: string): SignedSeal {
  try {
    const value = parseStrictJson(source);
    SEAL(value, '');
    const seal = value as unknown as SignedSeal;
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
