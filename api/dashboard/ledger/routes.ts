import { DAY_MS } from '#shared/kernel/time.ts';
import type { FastifyInstance } from 'fastify';
import type { DashboardDeps } from '../deps.ts';
import { askedAfter, askedFor } from '../forms.ts';
import { sendFile, sendFramed, SESSION } from '../guard.ts';
import { ledgerPage, type LedgerParts } from './page.ts';
import { notFound } from '../page-error.ts';
import { headOf } from '../parts/signed-head.ts';

const PAGE_LENGTH = 25;
const GROWTH_DAYS = [1, 7, 30] as const;

/** The log of an organisation's receipts. */
export function ledgerPageRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/ledger', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const { ledger } = deps;
    const signed = await ledger.checkpoint(orgId);
    const checkpoint = signed === null ? undefined : headOf(signed);
    const losses = (await ledger.losses(orgId)).map(({ statement }) => statement);
    const asked = askedAfter(request, 'rcpt');
    const isEntry = asked !== undefined && (await ledger.entry(orgId, asked)) !== null;
    const after = isEntry ? asked : undefined;
    const page = await ledger.listEntries({ orgId, limit: PAGE_LENGTH, order: 'desc', after });
    const [newest] = await ledger
      .listEntries({ orgId, limit: 1, order: 'desc' })
      .then(({ items }) => items);
    const size = newest === undefined ? 0 : newest.index + 1;
    const growth = await Promise.all(
      GROWTH_DAYS.map(async (days) => ({
        days,
        added: size - (await ledger.indexAt(orgId, deps.now() - days * DAY_MS)),
      })),
    );
    const from = askedFor(request, 'from');
    const proof =
      from === '' || checkpoint === undefined
        ? undefined
        : await prove(orgId, from, checkpoint.size);
    return sendFramed(deps, [request, reply], {
      title: 'Ledger',
      section: 'ledger',
      body: (frame) => ledgerPage(frame, { checkpoint, losses, growth, page, after, proof }),
    });
  });
  app.get('/ledger/checkpoint.txt', SESSION, async (request, reply) => {
    const signed = await deps.ledger.checkpoint(request.membership.orgId);
    if (signed === null) throw notFound();
    return sendFile(reply, {
      name: 'checkpoint.txt',
      type: 'text/plain; charset=utf-8',
      content: signed,
    });
  });

  async function prove(orgId: string, from: string, size: number): Promise<LedgerParts['proof']> {
    const old = /^\d{1,15}$/.test(from) ? Number(from) : Number.NaN;
    if (!(old <= size)) return { from, hashes: undefined };
    const hashes = old === 0 ? [] : await deps.ledger.consistency(orgId, old, size);
    return { from, hashes: hashes?.map((hash) => Buffer.from(hash).toString('base64')) };
  }
}
