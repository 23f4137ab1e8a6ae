import type { FastifyInstance, FastifyRequest } from 'fastify';
import { codeRow, type ErrorCode } from '#shared/kernel/error-codes.ts';
import { receiptIdOf } from '#shared/kernel/ids.ts';
import { isOpenTo } from '#shared/catalogue/routing.ts';
import { may } from '#shared/persons/roles.ts';
import type { ReceiptDocument } from '#shared/receipts/document.ts';
import type { DashboardDeps } from '../deps.ts';
import { type FramedPage, sendForScript, sendFramed, SESSION } from '../guard.ts';
import { notFound } from '../page-error.ts';
import type { Fields } from './call.ts';
import {
  type Answer,
  noPlaygroundPage,
  playgroundPage,
  type PlaygroundParts,
  type Ran,
} from './page.ts';

/** Models that are offered to be chosen; any other can be typed. */
const MODELS_MAX = 200;

const NOTHING: Fields = {
  model: '',
  region: '',
  system: '',
  prompt: '',
  temperature: '',
  max_tokens: '',
  top_p: '',
  seed: '',
  stop: '',
  tools: '',
  stream: true,
};

/** The playground: its page, and what the page's script asks beside the runs themselves. */
export function playgroundRoutes(app: FastifyInstance, deps: DashboardDeps): void {
  app.get('/playground', SESSION, async (request, reply) => {
    const { membership } = request;
    const { playground: isOn } = await deps.accounts.get(membership.orgId);
    const isOpen =
      isOn && may(membership, 'use the playground') && membership.orgState === 'active';
    if (isOpen) return sendFramed(deps, [request, reply], await playgroundPageOf(deps, request));
    return sendFramed(deps, [request, reply], {
      title: 'Playground',
      section: 'playground',
      body: (frame) => noPlaygroundPage(frame, { isOn }),
    });
  });
  app.get<{ Params: { id: string } }>(
    '/playground/receipts/:id/cost.json',
    SESSION,
    async (request, reply) => {
      const { orgId } = request.membership;
      const { id: receiptId } = request.params;
      const cost = await deps.costOf({ orgId, receiptId });
      if (cost === undefined) throw notFound();
      return sendForScript(reply, { cost });
    },
  );
  app.get<{ Params: { code: string } }>(
    '/playground/errors/:code/advice.json',
    SESSION,
    (request, reply) => {
      const { code } = request.params;
      if (!/^[a-z_]{1,64}$/.test(code)) throw notFound();
      const { advice } = codeRow(code as ErrorCode);
      return sendForScript(reply, { advice: advice.replaceAll('`', '') });
    },
  );
}

/** The page with what was typed, and what became of it. */
export async function playgroundPageOf(
  deps: DashboardDeps,
  request: FastifyRequest,
  { fields, ran }: { fields?: Fields; ran?: Ran } = {},
): Promise<Omit<FramedPage, 'status'>> {
  const { orgId } = request.membership;
  const account = await deps.accounts.get(orgId);
  const asks = { orgId, plan: account.plan };
  const { regions, models, currency } = deps.index();
  const { allowedModels, allowedRegions } = account;
  const offered = [...models.values()]
    .filter(({ model }) => model.kinds.includes('chat') && isOpenTo(model, asks))
    .filter(({ model }) => allowedModels?.includes(model.id) ?? true)
    .slice(0, MODELS_MAX);
  const ids = offered.map(({ model }) => model.id);
  const parts: PlaygroundParts = {
    fields: fields ?? { ...NOTHING, model: ids[0] ?? '' },
    models: ids,
    regions: [...regions.values()]
      .filter((region) => isOpenTo(region, asks) && (allowedRegions?.includes(region.code) ?? true))
      // One without a model, such as a closed one, runs nothing.
      .filter(({ code }) => offered.some(({ byRegion }) => byRegion.has(code)))
      .map(({ code, name }) => [code, `${code}, ${name}`] as const),
    baseUrl: `${new URL(deps.publicUrl).origin}/v1`,
    currency,
    ...(ran === undefined ? {} : { ran: { requestId: request.id, is: ran } }),
  };
  return {
    title: 'Playground',
    section: 'playground',
    body: (frame) => playgroundPage(frame, parts),
  };
}

/** The answer of a run, as the api gives it to programs. */
interface Completion {
  choices?: { message?: { content?: unknown; tool_calls?: unknown } }[];
  usage?: { prompt_tokens?: unknown; completion_tokens?: unknown };
  receipt?: ReceiptDocument;
}

/** What a page without a script shows of an answer. What an upstream has put there may be anything. */
export async function ranOf(
  deps: DashboardDeps,
  request: FastifyRequest,
  text: string,
): Promise<Answer> {
  const { choices, usage, receipt } = JSON.parse(text) as Completion;
  const { orgId } = request.membership;
  const message = choices?.[0]?.message;
  const [input, output] = [usage?.prompt_tokens, usage?.completion_tokens];
  const areCounted = typeof input === 'number' && typeof output === 'number';
  const receiptId = receiptIdOf(request.id);
  return {
    requestId: request.id,
    text: typeof message?.content === 'string' ? message.content : '',
    calls:
      message?.tool_calls === undefined || message.tool_calls === null
        ? undefined
        : JSON.stringify(message.tool_calls, null, 2),
    ms: Math.round(performance.now() - request.arrivedAt),
    tokens: areCounted ? { input, output } : undefined,
    cost: await deps.costOf({ orgId, receiptId }),
    receipt,
  };
}
