import { multihashOf } from '#shared/kernel/multihash.ts';
import { sha256Text, encodeBytes } from '#primitives';
import type { JsonObject } from '#shared/kernel/canonical-json.ts';
import type { WholeMeasurement } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { idInAddress } from '#shared/receipts/reread.ts';
import { timeText } from '#shared/kernel/time.ts';
import { checkFacts } from './check.ts';
import { LINEAGE_CONTEXT_NAME } from './context.ts';
import { derivationNodes, type DerivationNodes } from './derivation-nodes.ts';
import type { LedgerNode, LineageDocument, MeasurementNode, RevisionNode } from './document.ts';
import type { LedgerPosition, LineageFacts } from './facts.ts';

/** `<address>/receipts/rcpt_…`: what stands before is the service's address. */
const RECEIPT_PATH = /\/receipts\/[^/]+$/;

/** Address of the context that a receipt's lineage cites. @param receipt address of the receipt */
export function lineageContextOf(receipt: string): string {
  return `${receipt.replace(RECEIPT_PATH, '')}/contexts/${LINEAGE_CONTEXT_NAME}`;
}

/**
 * The lineage of a receipt: all that its signature pins by digest, in full. It holds nothing of the time at which it is
 * made, so the same facts always give the same document.
 * @throws LineageContradiction when a fact is not what the receipt pins
 */
export function buildLineage(facts: LineageFacts): LineageDocument {
  checkFacts(facts);
  const { document, bytes, derivation, measurement: whole, ledger } = facts;
  const id = `${document.id}/lineage`;
  const nodes =
    derivation === undefined || whole === undefined
      ? undefined
      : derivationNodes(derivation, id, whole.hadPlan.id);
  return {
    '@context': lineageContextOf(document.id),
    id,
    type: ['Lineage', 'Entity'],
    about: {
      id: document.id,
      type: ['Entity', ...document.type.filter((type) => type !== 'VerifiableCredential')],
      digest: multihashOf(sha256Text(bytes, 'base64url'), 'about.digest'),
      issuer: document.issuer,
      tier: document.tier,
      generatedAt: document.validFrom,
    },
    inference: inferenceNode(document),
    ...(nodes === undefined ? {} : { measurement: measurementNode(document, whole!, nodes) }),
    ...(document.degradation === undefined ? {} : { degradation: { ...document.degradation } }),
    revisions: revisionNodes(facts),
    ...(ledger === undefined ? {} : { ledger: ledgerNode(ledger) }),
    bibliography: nodes?.bibliography ?? [],
  };
}

/** The inference in the terms of PROV-O; everything else about it stands on the receipt. */
function inferenceNode({ credentialSubject: subject }: ReceiptDocument): JsonObject {
  const { id, model, region, route, gridZone, outcome, organisation, startedAt, endedAt } = subject;
  return {
    id,
    type: ['Activity', 'Inference'],
    organisation,
    model,
    region,
    route,
    startedAt,
    endedAt,
    ...(gridZone === undefined ? {} : { gridZone }),
    outcome,
  };
}

function measurementNode(
  document: ReceiptDocument,
  { stated, hadPlan }: WholeMeasurement,
  nodes: DerivationNodes,
): MeasurementNode {
  const [name = '', version = ''] = stated.software.split('/');
  const { constants, used, steps, bounds, warnings } = nodes;
  return {
    id: stated.id,
    type: ['Activity', 'Measurement'],
    dataQuality: stated.dataQuality,
    wasInformedBy: document.credentialSubject.id,
    software: { type: 'SoftwareApplication', name, version },
    hadPlan: { ...hadPlan, constants },
    ...(stated.metered === undefined ? {} : { metered: { ...stated.metered } }),
    used,
    steps,
    bounds,
    generated: stated.result.map(({ type, quantityKind, unit, value, lower, upper }) => ({
      type: [type],
      quantityKind,
      unit,
      value,
      lower,
      upper,
    })),
    warnings,
  };
}

function revisionNodes({ document, chain }: LineageFacts): readonly RevisionNode[] {
  const root = document.id.slice(0, -idInAddress(document.id).length);
  return chain.map(({ receiptId, kind, digest, leafIndex }, i) => ({
    id: root + receiptId,
    type: ['Entity'],
    ...(kind === undefined ? {} : { kind }),
    digest: multihashOf(digest, `revisions.${receiptId}`),
    ...(leafIndex === undefined ? {} : { leafIndex }),
    ...(i === 0 ? {} : { wasRevisionOf: root + chain[i - 1]!.receiptId }),
  }));
}

function ledgerNode({ log, leafIndex, leafHash, integratedAt }: LedgerPosition): LedgerNode {
  const digest = encodeBytes(leafHash, 'base64url');
  return {
    type: 'LedgerPosition',
    log,
    leafIndex,
    leafHash: multihashOf(digest, 'ledger.leafHash'),
    ...(integratedAt === undefined
      ? {}
      : { generatedAt: timeText(integratedAt, 'ledger.integratedAt') }),
  };
}
