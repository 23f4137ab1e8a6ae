import { canonicalJson } from '#shared/kernel/canonical-json.ts';
import { multihashOf } from '#shared/kernel/multihash.ts';
import { NOTHING_CHECKED, VC_CONTEXT_URL } from '#shared/receipts/context.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { shapeOf } from '#shared/kernel/shape.ts';
import { parseStrictJson } from '#shared/kernel/json-reader.ts';
import { QUANTITY_UNITS } from '#shared/methodology/measurement.ts';
import { LACKS_TIMESTAMP } from './attestation.ts';
import { packContextName, packIssuer, type PackIssuer } from './pack-context.ts';
import {
  LINEAGE_DOCUMENTS_MAX,
  PACK_FORMAT,
  type PackFormat,
  PACK_FORMATS,
  packName,
  PAGE_VERSION,
  TAG_FILES,
  type PackRange,
} from './layout.ts';
import { PackProblem } from './problem.ts';
import {
  type AnchorDocument,
  type LineageCounts,
  type RequestedDocument,
  SEAL_FORMAT,
  type SealDocument,
  type SealedFile,
  type SignedSeal,
  type TotalsDocument,
} from './seal-format.ts';
import { logOfTree } from '#shared/ledger/origins.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
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
  signedHeads: number;
  /** Absent where nothing is anchored. */
  anchor?: AnchorDocument;
  /** Absent where no period was asked for. */
  requested?: RequestedDocument;
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
      ...(facts.anchor === undefined ? {} : { anchor: facts.anchor }),
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
      pageVersion: PAGE_VERSION,
      range: {
        firstIndex: range.firstIndex,
        lastIndex: range.lastIndex,
        receipts: range.lastIndex - range.firstIndex + 1,
        revisions: facts.revisions,
        signedHeads: facts.signedHeads,
        superseded: facts.superseded,
        type: 'LedgerRange',
      },
      ...(facts.requested === undefined ? {} : { requested: facts.requested }),
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

function checkContexts(contexts: readonly string[], format: PackFormat, path: string): void {
  const [first, second = '', ...rest] = contexts;
  const isOwn = second.endsWith(`/contexts/${packContextName(format)}`);
  if (first !== VC_CONTEXT_URL || !isOwn || rest.length > 0) {
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
    if (canonicalJson(seal) !== source) {
      throw new MalformedData('wrong_value', '', 'is not in its canonical form');
    }
    const { format } = seal.credentialSubject;
    checkContexts(seal['@context'], format, '@context');
    checkContexts(seal.proof['@context'], format, 'proof.@context');
    agree(seal, place);
    return seal;
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    throw new PackProblem('malformed_seal', place, `The seal cannot be read: ${error.message}.`);
  }
}

/**
 * A pack of a format that this code does not know is not a bad one, with any files and any seal. Anyone can write
 * the number, so the message says that nothing was checked.
 * @throws PackProblem `unknown_format`
 */
export function refuseUnknownFormat(source: string, place: string): void {
  const format = formatIn(source);
  const isKnown = PACK_FORMATS.some((known) => known === format);
  if (typeof format !== 'string' || isKnown || !LATER_FORMAT.test(format)) return;
  const message = `It says that it is of the format ${format}, which this release does not know: ${NOTHING_CHECKED}`;
  throw new PackProblem('unknown_format', place, message);
}

const LATER_FORMAT = /^docket-evidence-pack\/[1-9][0-9]{0,8}$/;

/** The format that a seal names; undefined where it cannot be read. */
function formatIn(source: string): unknown {
  try {
    const value = parseStrictJson(source) as { credentialSubject?: { format?: unknown } } | null;
    return value?.credentialSubject?.format;
  } catch (error) {
    if (!(error instanceof MalformedData)) throw error;
    return undefined;
  }
}

function agree(seal: SignedSeal, place: string): void {
  const { range, checkpoint, totals, file, lineage, anchor, requested } = seal.credentialSubject;
  const { firstIndex, lastIndex, receipts } = range;
  const rules: [boolean, string][] = [
    [
      requested === undefined ||
        (!(requested.from === undefined && requested.to === undefined) &&
          (requested.pending === undefined) === (requested.to === undefined) &&
          (requested.before === undefined) === (firstIndex === 0) &&
          (requested.after === undefined) === (lastIndex === checkpoint.size - 1)),
      'it says of the period what belongs to it',
    ],
    [(anchor?.headSize ?? 0) <= checkpoint.size, 'the anchored head is not beyond the checkpoint'],
    [anchor === undefined || lacksOnce(anchor), 'it names once what its anchor lacks'],
    [firstIndex <= lastIndex && lastIndex < checkpoint.size, 'its range lies in the ledger'],
    [receipts === lastIndex - firstIndex + 1, 'it counts the receipts of its range'],
    [
      totals.covered + totals.uncovered + totals.failed + totals.refused <= receipts,
      'no receipt counts twice',
    ],
    [
      lineage.documents <= LINEAGE_DOCUMENTS_MAX && lineage.documents <= lineage.described,
      'each of its lineage documents is of a receipt',
    ],
    [
      lineage.undescribed === 0 || lineage.documents === LINEAGE_DOCUMENTS_MAX,
      'lineage is left out only where a pack can have no more',
    ],
    [file.map(({ name }) => name).join() === TAG_FILES.join(), 'it names each file once'],
    [isSorted(seal.relatedResource.map(({ id }) => id)), 'it lists each document once, in order'],
    [hasAddresses(seal), 'each of its addresses follows from its context, organisation and range'],
    [
      totals.result.every(({ quantityKind, unit }, i) => {
        return quantityKind === QUANTITIES[i] && unit === QUANTITY_UNITS[quantityKind];
      }),
      'it states each quantity once, in its unit',
    ],
  ];
  const broken = rules.find(([holds]) => !holds);
  if (broken !== undefined) {
    throw new PackProblem('seal_contradiction', place, `The seal breaks this rule: ${broken[1]}.`);
  }
}

/** One that has a timestamp lacks none. */
function lacksOnce({ lacks = [], timestamps }: AnchorDocument): boolean {
  return (
    new Set(lacks).size === lacks.length && !(timestamps > 0 && lacks.includes(LACKS_TIMESTAMP))
  );
}

function isSorted(ids: readonly string[]): boolean {
  return ids.every((id, i) => i === 0 || ids[i - 1]! < id);
}

/** The public address stands in the context; what else is an address is made from it, the organisation and the range. */
function hasAddresses({
  '@context': contexts,
  issuer,
  id,
  credentialSubject,
}: SignedSeal): boolean {
  const { checkpoint, organisation, range, requested, id: subject } = credentialSubject;
  const { log, generation } = logOfTree(checkpoint.log);
  const orgId = log.slice(log.lastIndexOf('/log/') + '/log/'.length);
  const publicUrl = contexts[1]!.slice(0, contexts[1]!.lastIndexOf('/contexts/'));
  if (!URL.canParse(publicUrl)) return false;
  const { did, logs, organisations } = receiptIssuer(publicUrl);
  const { from, to } = requested ?? {};
  const period = {
    ...(from === undefined ? {} : { from: Date.parse(from) }),
    ...(to === undefined ? {} : { to: Date.parse(to) }),
  };
  if (Object.values(period).some(Number.isNaN)) return false;
  const name = packName(orgId, {
    ...range,
    checkpointSize: checkpoint.size,
    generation,
    period: requested && period,
  });
  const pack = packIssuer(publicUrl).packs + name;
  return (
    issuer === did &&
    log === logs + orgId &&
    organisation === organisations + orgId &&
    subject === pack &&
    id === `${pack}#seal`
  );
}
