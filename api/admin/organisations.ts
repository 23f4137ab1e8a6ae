import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Static, Type } from 'typebox';
import { json, jsonBody } from '#api/docs/operation.ts';
import { ACCOUNT_SHOWN, accountFields } from '#api/routes/account.ts';
import { lineOfText } from '#api/routes/fields.ts';
import { listOf, Listing, listSchema } from '#api/routes/lists.ts';
import { type Account, ACCOUNT_STATES } from '#shared/accounts/account.ts';
import { DECLARATION_VERSION, STATEMENTS } from '#shared/accounts/declaration.ts';
import { describeAccount } from '#shared/accounts/describe.ts';
import type { AccountRegistry } from '#shared/accounts/postgres/accounts.ts';
import type { Vettings } from '#shared/accounts/postgres/vetting.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { PLANS } from '#shared/kernel/plan.ts';
import { parseTimeOrDay } from '#shared/kernel/time.ts';
import {
  OfOrganisation,
  OPERATOR,
  operatorOf,
  REASONED,
  ReasonBody,
  REVIEWER,
  WORDS,
  WordsBody,
} from './fields.ts';

const Organisation = Type.Object(
  {
    ...accountFields,
    legal_hold: Type.Boolean({
      description: 'Whether the bodies of its receipts stay where they are',
    }),
  },
  { title: 'Organisation' },
);
const SHOWN: Static<typeof Organisation> = { ...ACCOUNT_SHOWN, legal_hold: false };

const closed = { additionalProperties: false } as const;
const Plan = Type.Enum([...PLANS]);
const Name = lineOfText(200);
const Contact = Type.Object({ name: Name, email: lineOfText(254) }, closed);
const CONTACT = { name: 'Tess Example', email: 'tess@bakery.example' };

const NewBody = Type.Object(
  { name: Name, plan: Plan, billing_contact: Contact, technical_contact: Contact, ...WORDS },
  closed,
);
const Party = Type.Object(
  {
    role: Type.Union([Type.Literal('owner'), Type.Literal('director')]),
    name: Name,
    country: Type.String({ pattern: '^[A-Z]{2}$', description: 'ISO 3166-1, two letters' }),
  },
  closed,
);
/** An organisation is owned and led by fewer; the rules of declarations say how many are taken. */
const PARTIES_MAX = 200;
const DeclareBody = Type.Object(
  {
    country: Type.String({ pattern: '^[A-Z]{2}$', description: 'ISO 3166-1, two letters' }),
    industry: lineOfText(100, 'As docs/accounts.md has them'),
    trading_names: Type.Optional(Type.Array(Name, { maxItems: 50 })),
    parties: Type.Array(Party, { maxItems: PARTIES_MAX }),
    answers: Type.Record(Type.String({ maxLength: 64 }), Type.Boolean(), {
      description: `To each statement of ${DECLARATION_VERSION}: ${STATEMENTS[DECLARATION_VERSION]!.map(({ id }) => `\`${id}\``).join(', ')}`,
    }),
    declared_by: Name,
    ...WORDS,
  },
  closed,
);
const SignBody = Type.Object(
  {
    kind: Type.Union([Type.Literal('pilot'), Type.Literal('service')]),
    document_sha256: Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'Of the signed document, hexadecimal',
    }),
    signatory: Name,
    signed_at: Type.Optional(
      Type.String({ maxLength: 40, description: 'RFC 3339, or a day; now when absent' }),
    ),
    ...WORDS,
  },
  closed,
);
const DecideBody = Type.Object(
  {
    screening_id: Type.String({
      maxLength: 64,
      description: 'That was looked at, as the review has it: another may have come meanwhile',
    }),
    ...REASONED,
  },
  closed,
);
const Amount = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });
const LimitsBody = Type.Object(
  {
    limits: Type.Union(
      [
        Type.Object(
          {
            requests_per_second: Amount,
            burst: Amount,
            requests_per_day: Amount,
            concurrent_streams: Amount,
          },
          closed,
        ),
        Type.Null(),
      ],
      { description: 'Null for those of the plan; others are for Enterprise' },
    ),
    ...WORDS,
  },
  closed,
);

export interface OrganisationRoutesOptions {
  accounts: AccountRegistry;
  vettings: Vettings;
  /** Epoch milliseconds. */
  now: () => number;
}

const ANSWER = { 200: json('The organisation, as it now is.', Organisation, { shown: SHOWN }) };
const CHANGING = ['organisation_not_found', 'invalid_account_state'] as const;

/** Organisations: what `docket accounts` does. */
export const organisationRoutes: FastifyPluginAsyncTypebox<OrganisationRoutesOptions> = async (
  app,
  options,
) => {
  await app.register(readingRoutes, options);
  await app.register(onboardingRoutes, options);
  await app.register(stateRoutes, options);
  await app.register(termRoutes, options);
};

const readingRoutes: FastifyPluginAsyncTypebox<OrganisationRoutesOptions> = async (
  app,
  { accounts },
) => {
  app.get(
    '/organisations',
    {
      config: OPERATOR,
      schema: {
        operationId: 'listOrganisations',
        tag: 'Organisations',
        summary: 'List organisations',
        description: 'Newest first.',
        querystring: Type.Object({
          ...Listing.properties,
          state: Type.Optional(Type.Enum([...ACCOUNT_STATES])),
          search: Type.Optional(
            lineOfText(200, 'In the name, the contacts, or the first characters of a key'),
          ),
        }),
        response: {
          200: json('A page.', listSchema(Organisation), {
            page: listOf({ items: [SHOWN], hasMore: false }),
          }),
        },
        errors: ['invalid_limit', 'invalid_after'],
      },
    },
    async (request) => {
      const page = await accounts.list(request.query);
      return listOf({ ...page, items: page.items.map(describe) });
    },
  );
  app.get(
    '/organisations/:org_id',
    {
      config: OPERATOR,
      schema: {
        operationId: 'retrieveOrganisation',
        tag: 'Organisations',
        summary: 'Read an organisation',
        description: 'Its state, plan, limits and contacts.',
        params: OfOrganisation,
        response: { 200: json('The organisation.', Organisation, { shown: SHOWN }) },
        patternedErrors: ['organisation_not_found'],
      },
    },
    async ({ params }) => describe(await accounts.get(params.org_id)),
  );
};

const onboardingRoutes: FastifyPluginAsyncTypebox<OrganisationRoutesOptions> = async (
  app,
  { accounts, now },
) => {
  app.post(
    '/organisations',
    {
      config: OPERATOR,
      schema: {
        operationId: 'createOrganisation',
        tag: 'Organisations',
        summary: 'Open an account',
        description:
          'The first step of onboarding. With an `Idempotency-Key`, the same request opens one account however often it is sent, and is answered with it as it then is.',
        ...jsonBody(NewBody, {
          'An account': {
            name: 'Harmless Bakery',
            plan: 'audit_plus',
            billing_contact: CONTACT,
            technical_contact: CONTACT,
          },
        }),
        requestHeaders: ['Idempotency-Key'],
        response: { 201: json('The organisation.', Organisation, { shown: SHOWN }) },
        errors: ['invalid_name', 'invalid_idempotency_key', 'idempotency_key_reused'],
      },
    },
    async (request, reply) => {
      const { name, plan, billing_contact: billing, technical_contact: technical } = request.body;
      const account = { name, plan, billing, technical };
      const actor = operatorOf(request);
      const repeated = repeatedName(request.headers['idempotency-key']);
      const opened =
        repeated === undefined
          ? await accounts.create(account, actor)
          : await accounts.createOnce(account, actor, repeated);
      void reply.code(201).header('location', `/admin/v1/organisations/${opened.id}`);
      return describe(opened);
    },
  );
  app.post(
    '/organisations/:org_id/declare',
    {
      config: OPERATOR,
      schema: {
        operationId: 'declareOrganisation',
        tag: 'Organisations',
        summary: 'Record the self-declaration',
        description:
          'Also its correction while the application is reviewed. The applicant is screened afterwards, normally within a second.',
        params: OfOrganisation,
        ...jsonBody(DeclareBody, {
          'With nothing to declare': {
            country: 'FR',
            industry: 'retail',
            parties: [{ role: 'director', name: 'Dora Example', country: 'FR' }],
            answers: Object.fromEntries(
              STATEMENTS[DECLARATION_VERSION]!.map(({ id, expected }) => [id, expected]),
            ),
            declared_by: 'Tess Example',
          },
        }),
        response: ANSWER,
        patternedErrors: [...CHANGING],
      },
    },
    async (request) => {
      const { country, industry, trading_names: tradingNames = [], parties } = request.body;
      const { answers: statements, declared_by: declaredBy } = request.body;
      const declaration = { country, industry, tradingNames, parties, statements, declaredBy };
      return describe(
        await accounts.declare(
          request.params.org_id,
          { version: DECLARATION_VERSION, ...declaration },
          operatorOf(request),
        ),
      );
    },
  );
  app.post(
    '/organisations/:org_id/sign',
    {
      config: OPERATOR,
      schema: {
        operationId: 'signOrganisation',
        tag: 'Organisations',
        summary: 'Record the signed contract',
        description:
          'The signatory is screened afterwards, normally within a second; then the account can be activated.',
        params: OfOrganisation,
        ...jsonBody(SignBody, {
          'A pilot': { kind: 'pilot', document_sha256: 'ab'.repeat(32), signatory: 'Bill Example' },
        }),
        response: ANSWER,
        patternedErrors: [...CHANGING],
      },
    },
    async (request) => {
      const { kind, document_sha256: documentSha256, signatory, signed_at: text } = request.body;
      const signedAt = text === undefined ? now() : parseTimeOrDay(text);
      if (signedAt === undefined)
        throw invalidParam('signed_at', '`signed_at` must be a time as in RFC 3339, or a day.');
      const contract = { kind, documentSha256, signatory, signedAt };
      return describe(await accounts.sign(request.params.org_id, contract, operatorOf(request)));
    },
  );
  app.post(
    '/organisations/:org_id/activate',
    {
      config: OPERATOR,
      schema: {
        operationId: 'activateOrganisation',
        tag: 'Organisations',
        summary: 'Make an account active',
        description: 'So that keys can be issued. It needs a contract and a current screening.',
        params: OfOrganisation,
        bodyOptional: true,
        ...jsonBody(WordsBody, { 'With a ticket': { ticket: 'T-1042' } }),
        response: ANSWER,
        patternedErrors: [...CHANGING],
      },
    },
    async (request) =>
      describe(await accounts.activate(request.params.org_id, operatorOf(request))),
  );
};

const stateRoutes: FastifyPluginAsyncTypebox<OrganisationRoutesOptions> = async (
  app,
  { accounts, vettings },
) => {
  const acts = {
    suspend: ['Suspend an account', 'Its keys are refused within a second.'],
    reinstate: ['End a suspension', 'It needs a current screening.'],
    close: ['Close an account', 'Its keys are revoked. It cannot be undone.'],
  } as const;
  for (const act of Object.keys(acts) as (keyof typeof acts)[]) {
    const [summary, description] = acts[act];
    app.post(
      `/organisations/:org_id/${act}`,
      {
        config: OPERATOR,
        schema: {
          operationId: `${act}Organisation`,
          tag: 'Organisations',
          summary,
          description: `${description} What is so already is refused, and written down once.`,
          params: OfOrganisation,
          ...jsonBody(ReasonBody, { 'With a reason': { reason: 'Invoices are unpaid' } }),
          response: ANSWER,
          patternedErrors: [...CHANGING, 'invalid_reason'],
        },
      },
      async (request) =>
        describe(
          await accounts[act](request.params.org_id, operatorOf(request), request.body.reason),
        ),
    );
  }
  for (const [act, decision] of [
    ['approve', 'approved'],
    ['reject', 'rejected'],
  ] as const) {
    app.post(
      `/organisations/:org_id/${act}`,
      {
        config: REVIEWER,
        schema: {
          operationId: `${act}Organisation`,
          tag: 'Organisations',
          summary: `${act === 'approve' ? 'Approve' : 'Reject'} an applicant under review`,
          description:
            'For keys of reviewers. At high risk two persons approve: after the first the review stays open.',
          params: OfOrganisation,
          ...jsonBody(DecideBody, {
            'With a reason': {
              screening_id: 'scr_01JD0A8N5K3M7Q2T9VXB4C6DEF',
              reason: 'Another person of the same name',
            },
          }),
          response: ANSWER,
          patternedErrors: [...CHANGING, 'invalid_reason', 'invalid_screening'],
        },
      },
      async (request) => {
        const { screening_id: vettingId, reason: note } = request.body;
        const actor = operatorOf(request);
        return describe(
          await vettings.decide(request.params.org_id, { decision, vettingId, actor, note }),
        );
      },
    );
  }
};

const termRoutes: FastifyPluginAsyncTypebox<OrganisationRoutesOptions> = async (
  app,
  { accounts },
) => {
  app.put(
    '/organisations/:org_id/plan',
    {
      config: OPERATOR,
      schema: {
        operationId: 'setPlan',
        tag: 'Organisations',
        summary: 'Set the plan',
        description: 'The same again changes nothing.',
        params: OfOrganisation,
        ...jsonBody(Type.Object({ plan: Plan, ...WORDS }, closed), {
          'A plan': { plan: 'enterprise' },
        }),
        response: ANSWER,
        patternedErrors: [...CHANGING, 'invalid_plan'],
      },
    },
    async (request) =>
      describe(
        await accounts.setPlan(request.params.org_id, request.body.plan, operatorOf(request)),
      ),
  );
  app.put(
    '/organisations/:org_id/limits',
    {
      config: OPERATOR,
      schema: {
        operationId: 'setLimits',
        tag: 'Organisations',
        summary: 'Set the negotiated limits',
        description: 'Of Enterprise alone. The same again changes nothing.',
        params: OfOrganisation,
        ...jsonBody(LimitsBody, {
          Negotiated: {
            limits: {
              requests_per_second: 500,
              burst: 2_000,
              requests_per_day: 2_000_000,
              concurrent_streams: 400,
            },
          },
          'Those of the plan': { limits: null },
        }),
        response: ANSWER,
        patternedErrors: [...CHANGING, 'invalid_plan'],
      },
    },
    async (request) => {
      const { limits } = request.body;
      const asked = limits && {
        requestsPerSecond: limits.requests_per_second,
        burst: limits.burst,
        requestsPerDay: limits.requests_per_day,
        concurrentStreams: limits.concurrent_streams,
      };
      return describe(await accounts.setLimits(request.params.org_id, asked, operatorOf(request)));
    },
  );
  app.put(
    '/organisations/:org_id/legal-hold',
    {
      config: OPERATOR,
      schema: {
        operationId: 'setLegalHold',
        tag: 'Organisations',
        summary: 'Set or end a legal hold',
        description:
          'While there is one, no body of its receipts is archived or dropped. The same again changes nothing.',
        params: OfOrganisation,
        ...jsonBody(Type.Object({ legal_hold: Type.Boolean(), ...REASONED }, closed), {
          Begin: { legal_hold: true, reason: 'Order 4711' },
        }),
        response: ANSWER,
        patternedErrors: ['organisation_not_found', 'invalid_reason'],
      },
    },
    async (request) => {
      const { legal_hold: isHeld } = request.body;
      return describe(
        await accounts.setLegalHold(request.params.org_id, isHeld, operatorOf(request)),
      );
    },
  );
};

function describe(account: Account): Static<typeof Organisation> {
  return { ...describeAccount(account), legal_hold: account.legalHold };
}

/** What a program calls its request, for one that is sent twice. */
function repeatedName(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (typeof header === 'string' && /^[\x20-\x7e]{1,255}$/.test(header)) return header;
  throw new Fault('invalid_idempotency_key');
}
