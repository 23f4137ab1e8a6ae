import type { TSchema } from 'typebox';
import type { DocumentedCode } from '#shared/kernel/error-codes.ts';
import type { HeaderName } from './headers.ts';

export interface AnswerNote {
  description: string;
  /** By media type. `schema` where the route declares none; `examples` by a name for people. */
  content?: Record<string, { schema?: TSchema; examples: Record<string, unknown> }>;
  headers?: readonly HeaderName[];
}

/** What people want to know of an operation, beside what its route and schemas already say. */
export interface OperationNotes {
  operationId: string;
  tag: Tag;
  summary: string;
  description: string;
  /** Where the route reads its body by itself. */
  body?: TSchema;
  /** A request without a body is complete. */
  bodyOptional?: boolean;
  requests?: Record<string, unknown>;
  /** Header parameters, beside Authorization. */
  headers?: readonly ('Idempotency-Key' | 'x-region' | 'Range')[];
  /** What a path's parts are: `{ id: 'Id of the key' }`, each with an example. */
  path?: Record<string, { description: string; example: string }>;
  answers: Record<number, AnswerNote>;
  /** Beyond those that follow from scope, body and query. */
  errors?: readonly DocumentedCode[];
}

/** In the order of the page. */
export const TAGS = {
  Inference: 'What reaches a model. Every answer carries a signed receipt.',
  Models: 'The models of your account.',
  Receipts: 'Receipts as they were signed, their proofs, revisions and lineage.',
  Ledger: 'The append-only log of your receipts.',
  Exports: 'Evidence packs: receipts, proofs and keys of a range in one verifiable archive.',
  Usage: 'What your organisation has used, and its footprint.',
  Keys: 'API keys and the audit log. These need an administrator’s key.',
  Account: 'Your account.',
  Public: 'What anybody may read in order to check a receipt. No key.',
} as const;
type Tag = keyof typeof TAGS;
