import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from '#api/html.ts';
import { receiptIdNamed, requestIdNamed } from '#shared/kernel/answer-ids.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { displayText } from '#shared/keys/describe.ts';
import { hashOfReport, holdsWholeKey, withoutKeys } from '#shared/keys/format.ts';
import type { DashboardDeps } from '../deps.ts';
import { askedFor } from '../forms.ts';
import { sendFramed, SESSION, sessionForm, staffActorOf } from '../guard.ts';
import { lookUpPage, type LookUpParts } from './page.ts';

const IDS = /^(req|rcpt)_/;
/** An address of a receipt is longer than any id. */
const ASKED_LENGTH_MAX = 512;

/** Where another page leads that was sent a whole key. */
export const WHOLE_KEY_ADDRESS = '/dashboard/service/look-up?refused=key';
const WHOLE_KEY =
  'That is a whole key, so nothing was looked up: enter its first eight characters instead. A key that has reached you has leaked; the form below revokes it.';

/** What support is asked about a request or a key, and the revocation of a key that has leaked. */
export function lookUpRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    parts: LookUpParts,
    status = 200,
  ): Promise<FastifyReply> => {
    return sendFramed(deps, [request, reply], {
      title: 'Look up',
      section: 'look-up',
      status,
      body: (frame) => lookUpPage(frame, parts),
    });
  };
  // An address names ids alone: what is known of a key comes by the form.
  app.get('/look-up', SESSION, async (request, reply) => {
    const asked = askedFor(request, 'q');
    const problem = askedFor(request, 'refused') === 'key' ? { problem: WHOLE_KEY } : {};
    return show(request, reply, {
      ...(await found(deps, IDS.test(asked) ? asked : '')),
      ...problem,
    });
  });
  app.post('/look-up', SESSION, async (request, reply) => {
    const asked = (await sessionForm(deps, request)).text('q');
    if (holdsWholeKey(asked)) return show(request, reply, { asked: '', problem: WHOLE_KEY }, 400);
    return show(request, reply, await found(deps, asked));
  });
  app.post('/look-up/leaked', SESSION, async (request, reply) => {
    const form = await sessionForm(deps, request);
    const hash = hashOfReport(form.exact('leaked'));
    if (hash === null) {
      const problem =
        'That is neither a key nor a SHA-256, so nothing was done. A key has 42 characters and begins with dkt_.';
      return show(request, reply, { asked: '', problem }, 400);
    }
    const key = await deps.keys.findByHash(hash);
    if (key === null) {
      const problem =
        'None of our keys has this SHA-256: it was made up, or its record has been deleted. Nothing was done.';
      return show(request, reply, { asked: '', problem }, 404);
    }
    const reason = form.note('note') || undefined;
    try {
      const why = { reason, leaked: true };
      await deps.keys.revoke(key.orgId, key.id, staffActorOf(request), why);
    } catch (error) {
      if (!(error instanceof Fault) || error.status >= 500) throw error;
      const problem = `Nothing was done to ${displayText(key.display)}: ${error.message}`;
      return show(request, reply, { asked: '', problem }, error.status);
    }
    const { name } = await deps.accounts.get(key.orgId);
    const done = html`<p>
      The key <code>${displayText(key.display)}</code> of
      <a href="/dashboard/service/accounts/${key.orgId}">${name}</a> is marked as leaked: it is
      refused everywhere within a second, and support alone can restore it.
    </p>`;
    return show(request, reply, { asked: '', done });
  });
}

async function found(deps: DashboardDeps, asked: string): Promise<LookUpParts> {
  if (asked === '') return { asked };
  const shown = withoutKeys(asked).slice(0, ASKED_LENGTH_MAX);
  const receiptId = receiptIdNamed(shown);
  if (receiptId !== undefined || IDS.test(asked)) {
    const request = await deps.findRequest(receiptId ?? shown);
    const row = await deps.findRequestRow(requestIdNamed(shown));
    const orgId = request?.orgId ?? row?.orgId;
    const organisations =
      orgId === undefined ? [] : [[orgId, (await deps.accounts.get(orgId)).name] as const];
    return { asked: shown, request, row, organisations: new Map(organisations) };
  }
  const keys = await deps.keys.findByHead(shown);
  const organisations = new Map<string, string>();
  for (const id of new Set(keys.map(({ orgId }) => orgId))) {
    organisations.set(id, (await deps.accounts.get(id)).name);
  }
  return { asked: shown, keys, organisations };
}
