import { Document, parseDocument, type Node } from 'yaml';
import type { Plan } from '#shared/kernel/plan.ts';
import type { Offer, OfferedModel } from './offer.ts';

/** Where the window is not known, the provider decides what is too long: no model has a larger one. */
const WINDOW_UNKNOWN = 10_000_000;
const WINDOW_MAX = 100_000_000;
const LINE_WIDTH = 120;

const HEAD = ` A provider is a region of its own, so that a request can be pinned to it. No provider says where it computes: the
 grid is the world's average (WOR). Where your contract names a place, name its zone.
 A footprint of the form class:… is the closest class of the factor set, for a model that it does not know.`;

export interface CatalogueTextOptions {
  /** A catalogue to which the models are added; its own keep their names. */
  base?: string;
  /** Plans that may use the models; all when absent. */
  plans?: readonly Plan[];
  /** The comment that the text begins with. */
  title: string;
}

/** A catalogue of what the providers offer, as YAML. */
export function catalogueText(offers: readonly Offer[], options: CatalogueTextOptions): string {
  const { base, plans, title } = options;
  const document =
    base === undefined
      ? new Document({ version: 1, regions: [], endpoints: [], models: [] })
      : parseDocument(base);
  const taken = new Set(idsIn(document));
  const flow = (value: unknown): Node => document.createNode(value, { flow: true });
  document.commentBefore = ` ${title}\n\n${HEAD}`;
  for (const offer of offers) {
    const { row, baseUrl, keyVariable } = offer;
    const ownAddress = row.baseUrl === undefined || row.baseUrl === baseUrl;
    const region = {
      code: row.name,
      name: ownAddress ? row.title : `A server of its own in place of ${row.title}`,
      zone: 'WOR',
      operator: flow({ name: ownAddress ? row.operator : 'unknown' }),
    };
    const endpoint = {
      name: row.name,
      adapter: row.adapter,
      ...(row.provider === undefined ? {} : { provider: row.provider }),
      base_url: baseUrl,
      ...(keyVariable === undefined ? {} : { api_key_env: keyVariable }),
      regions: flow([row.name]),
      // Of its own address only: what stands elsewhere may not have it.
      ...(row.responses === true && ownAddress ? { responses: true } : {}),
      ...(row.messages === true && ownAddress ? { messages: true } : {}),
    };
    document.addIn(['regions'], document.createNode(region));
    document.addIn(['endpoints'], document.createNode(endpoint));
    for (const model of offer.models) {
      const id = taken.has(model.id) ? `${row.name}/${model.id}` : model.id;
      taken.add(id);
      document.addIn(
        ['models'],
        modelNode(document, { ...model, upstream: model.id, id }, offer, plans),
      );
    }
  }
  return document.toString({ lineWidth: LINE_WIDTH });
}

function idsIn(document: Pick<Document, 'toJS'>): string[] {
  const { models } = document.toJS() as { models: { id: string }[] };
  return models.map(({ id }) => id);
}

function modelNode(
  document: Pick<Document, 'createNode'>,
  model: OfferedModel & { upstream: string },
  { row }: Offer,
  plans: readonly Plan[] | undefined,
): Node {
  const { id, upstream, kinds, contextWindow, footprint } = model;
  const flow = (value: unknown): Node => document.createNode(value, { flow: true });
  const window: Node = document.createNode(Math.min(contextWindow ?? WINDOW_UNKNOWN, WINDOW_MAX));
  if (contextWindow === undefined)
    window.comment = ' not known: the provider refuses what is too long';
  const size = flow({ ref: footprint.ref });
  if (footprint.basis !== 'record') size.comment = BASES[footprint.basis];
  return document.createNode({
    id,
    kinds: flow(kinds),
    context_window: window,
    ...(kinds.includes('embedding') || row.maxN === 1 ? {} : { max_n: row.maxN }),
    owned_by: row.name,
    ...(plans === undefined ? {} : { plans: flow(plans) }),
    endpoints: [flow({ name: row.name, model: upstream })],
    footprint: size,
  });
}

const BASES = {
  'size-in-name': ' the class of the size in its name',
  'size-unknown': ' its size is not known: the closest class',
};
