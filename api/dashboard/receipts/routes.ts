import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { receiptDoor } from '#api/front/receipt-door.ts';
import { recordedFacts } from '#api/routes/lineage.ts';
import type { ProofFiles } from '#cli/verify/proof-steps.ts';
import { REASON_LENGTH_MAX } from '#shared/accounts/audit/entry.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { receiptIdNamed } from '#shared/kernel/answer-ids.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import type { Page } from '#shared/kernel/page.ts';
import { planCovers } from '#shared/kernel/plan.ts';
import { OUTCOMES } from '#shared/kernel/inference.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import type { ReceiptPageRequest, StoredReceipt } from '#shared/ledger/postgres/receipt-list.ts';
import { formatAnchorProof } from '#shared/ledger/anchor-proof.ts';
import { parseCheckpoint } from '#shared/ledger/checkpoints.ts';
import { LINEAGE_TYPE, lineageOf } from '#shared/lineage/of-receipt.ts';
import { MethodologyFailure } from '#shared/methodology/measurement.ts';
import { rebuildInput } from '#shared/methodology/rebuild.ts';
import { wholeMeasurement } from '#shared/receipts/derivation.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import { statedInputs } from '#shared/receipts/reread.ts';
import { verifyReceipt } from '#shared/receipts/verify.ts';
import type { DashboardDeps } from '../deps.ts';
import { keyNames } from '../keys/names.ts';
import { askedAfter, askedFor, askedForDay, doneOf } from '../forms.ts';
import {
  actorOf,
  CSV_TYPE,
  demandRight,
  membershipsOf,
  type PageExchange,
  seeOther,
  sendFile,
  sendForScript,
  sendFramed,
  sendPage,
  SESSION,
  sessionForm,
  visitorOf,
  wayInto,
} from '../guard.ts';
import { notFound, PageError } from '../page-error.ts';
import { ListFiles } from '../parts/list-files.ts';
import { type Explained, receiptPage, type ReceiptParts } from './receipt.ts';
import {
  CSV_RECEIPTS_MAX,
  documentIn,
  listed,
  type ReceiptSearch,
  receiptsPage,
  SORTS,
  TIERS,
} from './page.ts';
import { receiptsCsv } from './receipts-csv.ts';

/** Each row is a whole receipt that is read. */
const PAGE_LENGTH = 25;
/** More than a person compares. */
const RANKED_LENGTH = 50;
/** Addresses may be long. */
const NAME_LENGTH_MAX = 512;

const DONE: Readonly<Record<string, string>> = {
  flagged:
    'Receipt flagged. It will be estimated again within a minute; if that succeeds, a revision appears here.',
};

type ReceiptFiles = ListFiles<ReceiptPageRequest, StoredReceipt>;
type OfReceipt = { Params: { org: string; id: string } };

/** Receipts of an organisation: searched, read, downloaded, flagged. */
export function receiptPageRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const files: ReceiptFiles = new ListFiles((asked) => deps.ledger.listReceipts(asked));
  app.get('/receipts', SESSION, (request, reply) => list(deps, request, reply));
  app.get('/receipts.csv', SESSION, (request, reply) => csv(files, request, reply));
  app.get<OfReceipt>('/receipts/:id', SESSION, (request, reply) => {
    const { id: name } = request.params;
    const id = receiptIdNamed(name);
    return id === undefined || id === name
      ? show(deps, [request, reply], doneOf(request, DONE))
      : seeOther(reply, `/dashboard/${request.membership.orgId}/receipts/${id}`);
  });
  downloads(app, deps);
  app.post<OfReceipt>('/receipts/:id/flag', SESSION, async (request, reply) => {
    demandRight(request.membership, 'flag receipts');
    const form = await sessionForm(deps, request);
    const { orgId } = request.membership;
    const { id } = request.params;
    const reason = form.note('reason', REASON_LENGTH_MAX);
    const outcome = await deps.recalculations.flag(orgId, id, {
      actor: actorOf(request),
      ...(reason === '' ? {} : { reason }),
    });
    if (outcome === 'unknown') throw notFound();
    if (outcome === 'flagged')
      return seeOther(reply, `/dashboard/${orgId}/receipts/${id}?done=flagged`);
    const problem =
      outcome === 'pending'
        ? 'It is already flagged and has not been retried yet. Look again in a minute.'
        : 'There is nothing to estimate again: the receipt has an estimate, has been revised, or its tokens are not known.';
    return show(deps, [request, reply], { problem }, 409);
  });
}

/**
 * The page of a receipt for those who have its address alone, which does not say whose it is. Without a session it is the
 * page of the ways to it, and 401.
 */
export function receiptByAddress(app: FastifyInstance, deps: DashboardDeps): void {
  const { origin } = new URL(deps.publicUrl);
  app.get<{ Params: { id: string } }>('/receipts/:id', SESSION, async (request, reply) => {
    const id = receiptIdNamed(request.params.id);
    if (id === undefined) throw notFound();
    const signedIn = await (await deps.signIn()).session(visitorOf(request));
    if (signedIn === null) {
      return sendPage(reply, receiptDoor({ id, origin, hasDashboard: true }), 401);
    }
    for (const { orgId } of await membershipsOf(deps, signedIn)) {
      if ((await deps.ledger.receipt(orgId, id)) === null) continue;
      return seeOther(reply, `/dashboard/${orgId}/receipts/${id}`);
    }
    throw notFound();
  });
}

/** The exact bytes of a receipt by any id that a person may have of it, for the verifier's page. */
export function receiptByAnyId(app: FastifyInstance, deps: DashboardDeps): void {
  app.get<{ Params: { id: string } }>(
    '/receipts/:id/receipt.json',
    SESSION,
    async (request, reply) => {
      const signedIn = await (await deps.signIn()).session(visitorOf(request));
      if (signedIn === null) {
        throw new PageError(
          401,
          'Sign in first',
          'Only members of the organisation can see its receipts.',
        );
      }
      const id = receiptIdNamed(request.params.id);
      for (const membership of await membershipsOf(deps, signedIn)) {
        if (id === undefined || wayInto(membership, signedIn) !== undefined) continue;
        const stored = await deps.ledger.receipt(membership.orgId, id);
        if (stored !== null) return sendReceipt(reply, id, stored);
      }
      throw notFound();
    },
  );
}

function sendReceipt(reply: FastifyReply, id: string, stored: { body: Uint8Array }): FastifyReply {
  const content = Buffer.from(stored.body);
  return sendFile(reply, { name: `${id}.json`, type: 'application/json', content });
}

/** The list; or, where an id was typed, the receipt that has it. */
async function list(
  deps: DashboardDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { orgId } = request.membership;
  const find = askedFor(request, 'find').slice(0, NAME_LENGTH_MAX);
  const found = find === '' ? null : await idOf(deps, orgId, find);
  if (found !== null) return seeOther(reply, `/dashboard/${orgId}/receipts/${found}`);
  const search = { ...searchOf(request), find };
  const { sort } = search;
  const asked = askedAfter(request, 'rcpt');
  const isReceipt = asked !== undefined && (await deps.ledger.receipt(orgId, asked)) !== null;
  const after = isReceipt ? asked : undefined;
  const wanted = { ...wantedOf(orgId, search), limit: PAGE_LENGTH };
  const page =
    sort === '' || sort === 'oldest'
      ? {
          ...(await deps.ledger.listReceipts({ ...wanted, after })),
          isWhole: true,
        }
      : await ranked(deps, { ...wanted, by: sort });
  const parts = {
    page: { hasMore: page.hasMore, items: page.items.map(listed) },
    isWhole: page.isWhole,
    search,
    after,
    keys: await keyNames(deps, orgId),
    notFound: find !== '',
  };
  return sendFramed(deps, [request, reply], {
    title: 'Receipts',
    section: 'receipts',
    body: (frame) => receiptsPage(frame, parts),
  });
}

/** The first of the receipts by something else than their time. They have no second page: what is beyond the first is asked for by fewer days. */
async function ranked(
  { ledger }: DashboardDeps,
  asked: Parameters<DashboardDeps['ledger']['largestReceipts']>[0],
): Promise<Page<StoredReceipt> & { isWhole: boolean }> {
  const { items, isWhole } = await ledger.largestReceipts({ ...asked, limit: RANKED_LENGTH + 1 });
  return { items: items.slice(0, RANKED_LENGTH), hasMore: items.length > RANKED_LENGTH, isWhole };
}

/** What the list is asked for; a filter that was changed by hand to what it cannot be asks for nothing. */
function searchOf(request: FastifyRequest): Omit<ReceiptSearch, 'find'> {
  const oneOf = <T extends string>(name: string, all: readonly T[]): T | '' =>
    all.find((one) => one === askedFor(request, name)) ?? '';
  const day = (name: string): string => {
    const text = askedFor(request, name);
    return askedForDay(text) === undefined ? '' : text;
  };
  return {
    model: askedFor(request, 'model').slice(0, 300),
    region: askedFor(request, 'region').slice(0, 64),
    from: day('from'),
    to: day('to'),
    tier: oneOf('tier', TIERS),
    outcome: oneOf('outcome', OUTCOMES),
    key: askedFor(request, 'key').slice(0, 64),
    sort: oneOf('sort', SORTS),
  };
}

function wantedOf(orgId: string, search: Omit<ReceiptSearch, 'find'>) {
  const { model, region, tier, outcome, key, sort } = search;
  const [from, last] = [askedForDay(search.from), askedForDay(search.to)];
  return {
    orgId,
    order: sort === 'oldest' ? ('asc' as const) : ('desc' as const),
    ...(model && { model }),
    ...(region && { region }),
    ...(tier && { tier }),
    ...(outcome && { outcome }),
    ...(key && { key }),
    ...(from === undefined ? {} : { from }),
    ...(last === undefined ? {} : { to: last + DAY_MS }),
  };
}

/** The receipts that the list is asked for as a file, in which a filter that cannot be would be an answer to another question. */
async function csv(
  files: ReceiptFiles,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const search = searchOf(request);
  for (const [name, read] of Object.entries(search)) {
    if (askedFor(request, name) === read) continue;
    throw invalidParam(
      name,
      `The filter ${name} cannot have this value. Choose one on the page of receipts.`,
    );
  }
  const asked = wantedOf(request.membership.orgId, search);
  const wanted = { rowsMax: CSV_RECEIPTS_MAX, asked };
  const content = await files.text(reply.raw, wanted, receiptsCsv);
  return sendFile(reply, { name: 'receipts.csv', type: CSV_TYPE, content });
}

/** The receipt of this organisation that an id leads to: its own, its request's, its answer's, or its address. */
async function idOf(deps: DashboardDeps, orgId: string, name: string): Promise<string | null> {
  const id = receiptIdNamed(name);
  if (id === undefined) return null;
  return (await deps.ledger.receipt(orgId, id)) === null ? null : id;
}

type Told = Pick<ReceiptParts, 'problem' | 'done'>;

async function show(
  deps: DashboardDeps,
  [request, reply]: PageExchange,
  told: Told,
  status = 200,
): Promise<FastifyReply> {
  const { orgId } = request.membership;
  const { id } = request.params as OfReceipt['Params'];
  const stored = await deps.ledger.receipt(orgId, id);
  if (stored === null) throw notFound();
  const text = Buffer.from(stored.body).toString();
  const document = documentIn(stored.body);
  const parts = {
    id,
    document,
    text,
    verdict: verifyReceipt(text, deps.trustedKeys(), deps.now()),
    entry: await deps.ledger.entry(orgId, id),
    revisions: await deps.ledger.revisions(orgId, id),
    key: stored.keyId === null ? undefined : await keyOf(deps, orgId, stored.keyId),
    explained: await explain(deps, orgId, document),
    ...told,
  };
  return sendFramed(deps, [request, reply], {
    title: `Receipt ${id}`,
    section: 'receipts',
    status,
    body: (frame) => receiptPage(frame, parts),
  });
}

/** Undefined for a key whose record was purged. */
async function keyOf(
  deps: DashboardDeps,
  orgId: string,
  keyId: string,
): Promise<ReceiptParts['key']> {
  return deps.keys.get(orgId, keyId).catch((error: unknown) => {
    if (error instanceof Fault && error.code === 'key_not_found') return undefined;
    throw error;
  });
}

/** Computes the receipt's numbers again, with every step. */
async function explain(
  deps: DashboardDeps,
  orgId: string,
  document: ReceiptDocument,
): Promise<Explained> {
  const { measurement } = document;
  if (measurement === undefined) return 'not estimated';
  if (!planCovers((await deps.accounts.get(orgId)).plan, 'audit_plus')) return 'not on the plan';
  try {
    const whole = wholeMeasurement(measurement, await deps.derivationsOf([document]));
    const { name, version } = whole.hadPlan;
    const methodology = deps.methodologies.methodology(name, version);
    return methodology?.explain(rebuildInput(statedInputs(whole))) ?? 'not readable';
  } catch (error) {
    // What is missing or cannot be computed any more takes nothing from the receipt.
    if (!(error instanceof MalformedData || error instanceof MethodologyFailure)) throw error;
    deps.onError(error);
    return 'not readable';
  }
}

/**
 * What a page follows the proof of a receipt through: to the head of the ledger that is anchored, or to the newest where that
 * is older than the receipt.
 */
async function proofFiles(
  { ledger, ledgerAnchor }: DashboardDeps,
  orgId: string,
  id: string,
): Promise<ProofFiles | null> {
  const stored = await ledger.receipt(orgId, id);
  if (stored === null) return null;
  const receipt = Buffer.from(stored.body).toString();
  const anchor = await ledgerAnchor(orgId);
  const anchored =
    anchor === null
      ? null
      : await ledger.proof(orgId, id, parseCheckpoint(anchor.checkpoint).checkpoint.size);
  if (anchor !== null && anchored !== null)
    return { receipt, proof: anchored, anchor: formatAnchorProof(anchor) };
  const proof = await ledger.proof(orgId, id);
  return proof === null ? null : { receipt, proof };
}

/** Files are the exact bytes, for programs. */
function downloads(app: FastifyInstance, deps: DashboardDeps): void {
  app.get<OfReceipt>('/receipts/:id/receipt.json', SESSION, async (request, reply) => {
    const { id } = request.params;
    const stored = await deps.ledger.receipt(request.membership.orgId, id);
    if (stored === null) throw notFound();
    return sendReceipt(reply, id, stored);
  });
  app.get<OfReceipt>('/receipts/:id/proof.txt', SESSION, async (request, reply) => {
    const { id } = request.params;
    const proof = await deps.ledger.proof(request.membership.orgId, id);
    if (proof === null) throw notFound();
    return sendFile(reply, {
      name: `${id}.tlog-proof`,
      type: 'text/plain; charset=utf-8',
      content: proof,
    });
  });
  app.get<OfReceipt>('/receipts/:id/proof.json', SESSION, async (request, reply) => {
    const steps = await proofFiles(deps, request.membership.orgId, request.params.id);
    if (steps === null) throw notFound();
    return sendForScript(reply, steps);
  });
  app.get<OfReceipt>('/receipts/:id/lineage.json', SESSION, async (request, reply) => {
    const { orgId } = request.membership;
    const { id } = request.params;
    const stored = await deps.ledger.receipt(orgId, id);
    if (stored === null || !planCovers((await deps.accounts.get(orgId)).plan, 'audit_plus')) {
      throw notFound();
    }
    const bytes = Buffer.from(stored.body);
    const facts = await recordedFacts(deps, orgId, id);
    const derivation = await deps.derivationsOf([documentIn(bytes)]);
    const { methodologies } = deps;
    const methodology = (...asked: Parameters<typeof methodologies.methodology>) =>
      methodologies.methodology(...asked);
    const lineage = lineageOf({ methodology, derivation }, bytes, facts);
    return sendFile(reply, { name: `${id}.lineage.jsonld`, type: LINEAGE_TYPE, content: lineage });
  });
}
