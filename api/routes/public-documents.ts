import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import { exact } from '#api/docs/operation.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { forReaders } from '#api/docs/schemas/receipt.ts';
import { DERIVATION_RECORD } from '#api/docs/examples/receipts.ts';
import { MULTIHASH_PATTERN } from '#shared/kernel/multihash.ts';
import { KEY_PURPOSES } from '#shared/ledger/key-events.ts';
import type { PublishedVerifierKey } from '#shared/receipts/signing/publication.ts';
import { DERIVATION } from '#shared/receipts/derivation.ts';
import { anyObject } from './fields.ts';

const DID = 'did:web:gateway.example';
const KID = `${DID}#kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k`;
const DID_DOCUMENT = {
  '@context': ['https://www.w3.org/ns/did/v1'],
  id: DID,
  verificationMethod: [
    {
      id: KID,
      type: 'Multikey',
      controller: DID,
      publicKeyMultibase: 'z6MkpTHR8VNsBxYAAWHut2Geadd9jSwuBV8xRoAnwWsdvktH',
    },
  ],
  assertionMethod: [KID],
};
const JWKS = {
  keys: [
    { kty: 'OKP', crv: 'Ed25519', kid: KID, x: 'lJZrfAjkBXdhe9c9VYyLJDpGrb3Zr9pEi0qNQJQmJ1M' },
  ],
};
const VerifierKeysQuery = Type.Object(
  {
    organisation: Type.Optional(
      Type.String({
        pattern: '^(?:service|[a-z]{1,16}_[0-9A-Za-z]{1,64})$',
        'x-expected': 'the id of an organisation',
        description: 'Also the keys of the logs of this organisation',
        examples: ['org_01JD0A8N5K3M7Q2T9VXB4C6DEF'],
      }),
    ),
  },
  { additionalProperties: false },
);

const VerifierKeys = Type.Object({
  keys: Type.Array(
    Type.Object({
      id: Type.String({ description: 'Of the key, as did.json has it' }),
      purpose: Type.Enum([...KEY_PURPOSES], { description: 'What it signs' }),
      state: Type.Enum(['active', 'next', 'retired', 'revoked']),
      log: Type.String({ description: 'Origin of the heads that it signs' }),
      vkey: Type.String({ description: 'C2SP verifier key' }),
    }),
  ),
});

const VERIFIER_KEYS = {
  keys: [
    {
      id: KID,
      purpose: 'anchor' as const,
      state: 'active' as const,
      log: 'gateway.example/anchor',
      vkey: 'gateway.example/anchor+18af3d73+AZSWa3wI5AV3YXvXPVWMiyQ6Rq292a/aRItKjUCUJidT',
    },
  ],
};

const CONTEXT = { '@context': { '@version': 1.1, '@protected': true } };

const Params = Type.Object({
  name: Type.String({
    description: 'Name of the context',
    examples: [
      'docket-receipt-72d76b5039eb50d15a15162dfae47cdbcda9ecf5c5f3771ff8cd6dfc5fccb79d.jsonld',
    ],
  }),
});

const DerivationParams = Type.Object({
  digest: Type.String({
    pattern: MULTIHASH_PATTERN,
    'x-expected': 'a SHA-256 multihash in base64url multibase',
    description: 'Multihash of the record, as receipts name it',
    examples: ['uEiBVwy8_FZEPQnbKTgZux3OcIReQssgEzDzigBKhccqrzA'],
  }),
});

/** Verifiers run in browsers too. */
const OPEN = { 'access-control-allow-origin': '*' };
/** Long enough to spare us most questions, short enough that a new key is known before receipts need it. */
const BRIEFLY = 'public, max-age=60';
/** A name holds the hash of its content. */
const FOR_EVER = 'public, max-age=31536000, immutable';

export interface PublicDocumentsOptions {
  /** The keys may be rotated while the process runs, so both are made when asked for. */
  didDocument: () => object;
  jwks: () => object;
  /** Of the anchor log, and of the logs of an organisation where one is named. */
  verifierKeys: (orgId?: string) => { keys: PublishedVerifierKey[] };
  context: (name: string) => Buffer | undefined;
  /** A derivation record as it is stored, by its digest. */
  derivation: (digest: string) => Promise<string | undefined>;
}

/** Documents for checking a receipt, which need no key: the issuer's keys, and the meaning of its terms. */
export const publicDocumentRoutes: FastifyPluginAsyncTypebox<PublicDocumentsOptions> = async (
  app,
  { didDocument, jwks, verifierKeys, context, derivation },
) => {
  const config = { scope: 'public', asksNoStore: true } as const;
  app.get(
    '/.well-known/did.json',
    {
      config,
      schema: {
        operationId: 'retrieveDid',
        tag: 'Public',
        summary: 'Read the issuer’s DID document',
        description: 'The keys that receipts are verified with, as `did:web` Multikeys.',
        response: {
          200: exact('application/did+json', 'The document.', anyObject('A DID document'), {
            did: DID_DOCUMENT,
          }),
        },
      },
    },
    (_request, reply) =>
      reply
        .type('application/did+json')
        .headers({ ...OPEN, 'cache-control': BRIEFLY })
        .send(JSON.stringify(didDocument())),
  );
  app.get(
    '/.well-known/jwks.json',
    {
      config,
      schema: {
        operationId: 'retrieveJwks',
        tag: 'Public',
        summary: 'Read the public keys as JWK',
        description: 'The same keys for those who work with JWK. Retired keys stay.',
        response: {
          200: exact('application/jwk-set+json', 'A JWK set.', anyObject('A JWK set'), {
            jwks: JWKS,
          }),
        },
      },
    },
    (_request, reply) =>
      reply
        .type('application/jwk-set+json')
        .headers({ ...OPEN, 'cache-control': BRIEFLY })
        .send(JSON.stringify(jwks())),
  );
  app.get(
    '/.well-known/verifier-keys.json',
    {
      config,
      schema: {
        operationId: 'retrieveVerifierKeys',
        tag: 'Public',
        summary: 'Read the keys of logs as C2SP tools take them',
        description:
          'The keys that sign heads of logs, each as a verifier key under the name of its log, for witnesses and witness policies: those of the anchor log, and with `organisation` those of its ledger and its audit log, whether or not there is such an organisation. Retired keys stay. Keys for receipts and packs sign no heads and are in did.json alone.',
        querystring: VerifierKeysQuery,
        response: {
          200: exact('application/json', 'The keys.', VerifierKeys, { keys: VERIFIER_KEYS }),
        },
      },
    },
    (request, reply) =>
      reply
        .type('application/json; charset=utf-8')
        .headers({ ...OPEN, 'cache-control': BRIEFLY })
        .send(JSON.stringify(verifierKeys(request.query.organisation))),
  );
  app.get(
    '/contexts/:name',
    {
      config,
      schema: {
        operationId: 'retrieveContext',
        tag: 'Public',
        summary: 'Read a JSON-LD context',
        description: 'What the terms of a receipt mean. The name holds the hash of the content.',
        params: Params,
        response: {
          200: exact('application/ld+json', 'The context.', anyObject('A JSON-LD context'), {
            context: CONTEXT,
          }),
        },
        errors: ['context_not_found'],
      },
    },
    (request, reply) => {
      const bytes = context(request.params.name);
      if (bytes === undefined) throw new Fault('context_not_found');
      return reply
        .type('application/ld+json')
        .headers({ ...OPEN, 'cache-control': FOR_EVER })
        .send(bytes);
    },
  );
  app.get(
    '/derivations/:digest',
    {
      config: { scope: 'public' },
      schema: {
        operationId: 'retrieveDerivation',
        tag: 'Public',
        summary: 'Read a derivation record',
        description:
          'What is the same for every request of a deployment: the methodology, and every input that is not the request’s own. Receipts name it by the digest of these bytes; whoever has receipt and record can compute the estimate again.',
        params: DerivationParams,
        response: {
          200: exact('application/json', 'The record.', forReaders(DERIVATION), {
            derivation: DERIVATION_RECORD,
          }),
        },
        errors: ['derivation_not_found'],
      },
    },
    async (request, reply) => {
      const text = await derivation(request.params.digest);
      if (text === undefined) throw new Fault('derivation_not_found');
      return reply
        .type('application/json; charset=utf-8')
        .headers({ ...OPEN, 'cache-control': FOR_EVER })
        .send(text);
    },
  );
};
