import type { FastifyInstance, FastifySchema } from 'fastify';
import type { Static, TSchema } from 'typebox';
import type { RouteScope } from '#api/plugins/authenticate.ts';
import type { DocumentedCode, PatternedCode } from '#shared/kernel/error-codes.ts';
import type { Method } from './document-shape.ts';
import type { HeaderName, RequestHeaderName } from './headers.ts';

/** A route's words about its operation, beside the schemas of Fastify. The description is made of nothing else. */
declare module 'fastify' {
  interface FastifySchema {
    /** The name of the operation in clients that are generated from the description. */
    operationId?: string;
    tag?: Tag;
    summary?: string;
    description?: string;
    /** The name that the description gives to the rest of a path, where the router has `*`. */
    wildcard?: string;
    /** A JSON body that the handler parses by itself: it is given `{ rawBody }`, the bytes as they came. */
    rawBody?: TSchema;
    /** A request without a body is read as one with `{}`. */
    bodyOptional?: boolean;
    /** Bodies to show, by a name for people. */
    requests?: Examples;
    /** Header parameters, beside Authorization. */
    requestHeaders?: readonly RequestHeaderName[];
    /** Codes beyond those that follow from scope, body and path. */
    errors?: readonly DocumentedCode[];
    /** The same for codes that follow a pattern and have no row of their own: those of operators. */
    patternedErrors?: readonly PatternedCode[];
    /** Not in the description: pages, and second addresses of the same. */
    hide?: boolean;
  }
}

/** Values to show, by a name for people. Where their schema is known, one that it does not allow does not compile. */
export type Examples<S extends TSchema = TSchema> = Readonly<Record<string, Static<S>>>;

/** What stands in `response` for a status. Fastify writes objects by the schema of their media type. */
export interface Answer {
  description: string;
  headers?: readonly HeaderName[];
  content?: Readonly<Record<string, AnswerContent>>;
}

export interface AnswerContent<S extends TSchema = TSchema> {
  schema: S;
  examples: Examples<S>;
}

/** A schema, and values of it to show. */
export function withExamples<S extends TSchema>(
  schema: S,
  examples: Examples<S>,
): AnswerContent<S> {
  return { schema, examples };
}

/** An answer that the handler returns as an object. */
export function json<S extends TSchema>(
  description: string,
  schema: S,
  examples: Examples<S>,
): { description: string; content: { 'application/json': AnswerContent<S> } } {
  return { description, content: { 'application/json': withExamples(schema, examples) } };
}

/** An answer that the handler sends as exact text or bytes; the schema describes it and is not run. */
export function exact<S extends TSchema>(
  mediaType: string,
  description: string,
  schema: S,
  examples: Examples<S>,
): { description: string; content: Record<string, AnswerContent> } {
  return { description, content: { [mediaType]: withExamples(schema, examples) } };
}

/** A body that Fastify reads by its schema, and bodies to show. */
export function jsonBody<S extends TSchema>(
  schema: S,
  requests: Examples<S>,
): { body: S; requests: Examples<S> } {
  return { body: schema, requests };
}

/** A body that the handler parses by itself, and bodies to show. */
export function rawBody<S extends TSchema>(
  schema: S,
  requests: Examples<S>,
): { rawBody: S; requests: Examples<S> } {
  return { rawBody: schema, requests };
}

/** In the order of the page. */
export const TAGS = {
  Inference: 'What reaches a model. Every answer carries a signed receipt.',
  Models: 'The models of your account.',
  Receipts: 'Receipts as they were signed, their proofs, revisions and lineage.',
  Requests: 'What became of every request: refused and failed ones too, without texts.',
  Ledger: 'The append-only log of your receipts.',
  Exports: 'Evidence packs: receipts, proofs and keys of a range in one verifiable archive.',
  Usage: 'What your organisation has used, and its footprint.',
  Keys: 'API keys and the audit log. These need an administrator’s key.',
  Account: 'Your account.',
  Organisations: 'Organisations, from their application to their closing.',
  Reviews: 'What the screening of applicants has left to a person.',
  Regions: 'Which regions take requests.',
  Public:
    'What anyone may read: whether the service answers, and what receipts are checked with. No key.',
} as const;
type Tag = keyof typeof TAGS;

/** An operation as its route declares it. */
export interface DeclaredOperation {
  method: Method;
  /** As the router has it: `/v1/keys/:id`. */
  url: string;
  scope: RouteScope;
  asksNoStore: boolean;
  takesApiKeyHeader: boolean;
  /** It reaches a model, and is counted at admission. */
  isInference: boolean;
  /** Whether a rate counts it. */
  isCounted: boolean;
  schema: FastifySchema & Required<Pick<FastifySchema, (typeof DEMANDED)[number]>>;
}

const DEMANDED = ['operationId', 'tag', 'summary', 'description', 'response'] as const;
const METHODS: ReadonlySet<string> = new Set(['get', 'post', 'put', 'patch', 'delete']);

/**
 * Collects the operation of every route that is added from now on and is meant for programs: all but those that are
 * hidden and the dashboard's pages. A route that does not say what it is stops the start.
 */
export function collectOperations(app: FastifyInstance): readonly DeclaredOperation[] {
  const operations: DeclaredOperation[] = [];
  app.addHook('onRoute', ({ method, url, schema, config }) => {
    const scope = config?.scope;
    if (scope === undefined || scope === 'session' || schema?.hide === true) return;
    const lacking = DEMANDED.filter((name) => schema?.[name] === undefined);
    if (lacking.length > 0) {
      throw new Error(`The route ${String(method)} ${url} declares no ${lacking.join(', ')}.`);
    }
    for (const one of [method].flat().map((name) => name.toLowerCase())) {
      // HEAD goes with each GET.
      if (!METHODS.has(one)) continue;
      operations.push({
        method: one as Method,
        url,
        scope,
        asksNoStore: config?.asksNoStore === true,
        takesApiKeyHeader: config?.takesApiKeyHeader === true,
        isInference: schema?.rawBody !== undefined && config?.bucket === undefined,
        isCounted: config?.bucket !== 'none',
        schema: schema as DeclaredOperation['schema'],
      });
    }
  });
  return operations;
}
