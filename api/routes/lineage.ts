import { digestIn } from '#shared/kernel/multihash.ts';
import { hash } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { RECEIPT_ID } from '#api/docs/examples/receipts.ts';
import { exact } from '#api/docs/operation.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { ChainMember, RecordedFacts } from '#shared/lineage/facts.ts';
import type { Derivations } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { LINEAGE_TYPE, lineageOf } from '#shared/lineage/of-receipt.ts';
import type { Methodologies } from '#shared/methodology/releases.ts';
import type { LedgerReader } from '#shared/ledger/postgres/reader.ts';
import { anyObject, pathId } from './fields.ts';

const RECEIPT = `https://gateway.example/receipts/${RECEIPT_ID}`;
const LINEAGE = {
  id: `${RECEIPT}/lineage`,
  type: ['Lineage', 'Entity'],
  about: { id: RECEIPT, type: ['Entity', 'InferenceReceipt'] },
};

export interface LineageRoutesOptions {
  ledger: Pick<LedgerReader, 'receipt' | 'revisions' | 'entry'>;
  methodologies: Pick<Methodologies, 'methodology'>;
  /** The derivation records that these receipts name. */
  derivationsOf: (documents: readonly ReceiptDocument[]) => Promise<Derivations>;
  /** Origin of an organisation's log. */
  originOf: (orgId: string) => string;
}

/** The sources of a receipt's numbers, in full for every tier: the scope is what it takes. */
export const lineageRoutes: FastifyPluginAsyncTypebox<LineageRoutesOptions> = async (
  app,
  options,
) => {
  app.get(
    '/receipts/:id/lineage',
    {
      config: { scope: 'service:lineage' },
      schema: {
        operationId: 'retrieveReceiptLineage',
        tag: 'Receipts',
        summary: 'Read a receipt’s lineage',
        description:
          'What the receipt pins by digest, in full: every input record with value, unit, source, year and licence, every step of the computation with its formula and number, the methodology, the software, the revisions, the place in the ledger. PROV-O, QUDT and schema.org in JSON-LD. For every receipt of the organisation; the scope `service:lineage` is part of the plans Audit Plus and Enterprise.',
        params: pathId('Id of the receipt', RECEIPT_ID),
        response: {
          200: exact(LINEAGE_TYPE, 'The lineage.', anyObject('A lineage document'), {
            lineage: LINEAGE,
          }),
        },
        errors: ['receipt_not_found'],
      },
    },
    async (request, reply) => {
      const { orgId } = request.credential;
      const { id } = request.params;
      const receipt = await options.ledger.receipt(orgId, id);
      if (receipt === null) throw new Fault('receipt_not_found');
      const bytes = Buffer.from(receipt.body);
      const facts = await recordedFacts(options, orgId, id);
      const derivation = await options.derivationsOf([parseReceipt(bytes).document]);
      const sources = { methodology: options.methodologies.methodology, derivation };
      return reply.type(LINEAGE_TYPE).send(lineageOf(sources, bytes, facts));
    },
  );
};

/** A receipt's place in the ledger and its chain of revisions. */
export async function recordedFacts(
  { ledger, originOf }: Pick<LineageRoutesOptions, 'ledger' | 'originOf'>,
  orgId: string,
  id: string,
): Promise<RecordedFacts> {
  const ids = await ledger.revisions(orgId, id);
  const chain: ChainMember[] = [];
  let revised = '';
  // From the newest: what retention has dropped is still pinned by the receipt that revises it.
  for (const receiptId of ids.toReversed()) {
    const receipt = await ledger.receipt(orgId, receiptId);
    const entry = await ledger.entry(orgId, receiptId);
    chain.unshift({
      receiptId,
      digest: receipt === null ? revised : hash('sha256', receipt.body, 'base64url'),
      ...(entry === null ? {} : { leafIndex: entry.index, kind: entry.kind }),
    });
    const before = receipt && parseReceipt(receipt.body).document.wasRevisionOf;
    revised = before ? digestIn(before.digest) : '';
  }
  const entry = await ledger.entry(orgId, id);
  if (entry === null) return { chain };
  const { index: leafIndex, leafHash, integratedAt } = entry;
  const log = originOf(orgId);
  return { chain, ledger: { log, leafIndex, leafHash, integratedAt } };
}
