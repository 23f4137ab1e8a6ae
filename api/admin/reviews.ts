import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { json } from '#api/docs/operation.ts';
import { Nullable, pathId, Time } from '#api/routes/fields.ts';
import { listOf, Listing, listSchema } from '#api/routes/lists.ts';
import { describeReview } from '#shared/accounts/describe.ts';
import type { Vettings } from '#shared/accounts/postgres/vetting.ts';
import { ORG_ID, STAFF } from './fields.ts';

const Review = Type.Object(
  {
    id: Type.String(),
    org_id: Type.String(),
    organisation_name: Type.String(),
    screening_id: Nullable(Type.String({ description: 'What a decision names' })),
    risk: Type.String({ enum: ['normal', 'high'] }),
    approvals: Type.Array(Type.Object({ by: Type.String(), at: Time, note: Type.String() })),
    reason: Type.String(),
    opened_at: Time,
    decision: Nullable(Type.String({ enum: ['approved', 'rejected'] })),
    decided_by: Nullable(Type.String()),
    decided_at: Nullable(Time),
    note: Nullable(Type.String()),
  },
  { title: 'Review' },
);
const REVIEW_ID = 'rev_01JD0A8N5K3M7Q2T9VXB4C6DEF';
const SHOWN: Static<typeof Review> = {
  id: REVIEW_ID,
  org_id: ORG_ID,
  organisation_name: 'Harmless Bakery',
  screening_id: 'scr_01JD0A8N5K3M7Q2T9VXB4C6DEF',
  risk: 'normal',
  approvals: [],
  reason: 'A name is like that of a listed party.',
  opened_at: '2026-11-20T10:00:00.000Z',
  decision: null,
  decided_by: null,
  decided_at: null,
  note: null,
};

/** What the screening of applicants has left to a person; `approve` and `reject` of an organisation decide it. */
export const reviewRoutes: FastifyPluginAsyncTypebox<{
  vettings: Pick<Vettings, 'reviews' | 'review'>;
}> = async (app, { vettings }) => {
  app.get(
    '/reviews',
    {
      config: STAFF,
      schema: {
        operationId: 'listReviews',
        tag: 'Reviews',
        summary: 'List reviews',
        description: 'Newest first.',
        querystring: Type.Object({
          ...Listing.properties,
          open: Type.Optional(Type.Boolean({ description: 'Those that wait, or those decided' })),
        }),
        response: {
          200: json('A page.', listSchema(Review), {
            page: listOf({ items: [SHOWN], hasMore: false }),
          }),
        },
        errors: ['invalid_limit', 'invalid_after'],
      },
    },
    async ({ query: { open, ...page } }) => {
      const found = await vettings.reviews({ ...page, ...(open !== undefined && { open }) });
      return listOf({ ...found, items: found.items.map(describeReview) });
    },
  );
  app.get(
    '/reviews/:id',
    {
      config: STAFF,
      schema: {
        operationId: 'retrieveReview',
        tag: 'Reviews',
        summary: 'Read a review',
        description: 'Why it was opened, and how it was decided.',
        params: pathId('Id of the review', REVIEW_ID),
        response: { 200: json('The review.', Review, { shown: SHOWN }) },
        patternedErrors: ['review_not_found'],
      },
    },
    async ({ params }) => describeReview(await vettings.review(params.id)),
  );
};
