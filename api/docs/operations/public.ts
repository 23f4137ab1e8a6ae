import Type from 'typebox';
import type { OperationNotes } from '../operation-notes.ts';

const DID = 'did:web:gateway.example';
const KID = `${DID}#kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k`;
const CONTEXT =
  'docket-receipt-72d76b5039eb50d15a15162dfae47cdbcda9ecf5c5f3771ff8cd6dfc5fccb79d.jsonld';

const anyObject = (description: string) =>
  Type.Object({}, { description, additionalProperties: true });

export const PUBLIC_OPERATIONS: Record<string, OperationNotes> = {
  'GET /.well-known/did.json': {
    operationId: 'retrieveDid',
    tag: 'Public',
    summary: 'Read the issuer’s DID document',
    description: 'The keys that receipts are verified with, as `did:web` Multikeys.',
    answers: {
      200: {
        description: 'The document.',
        content: {
          'application/did+json': {
            schema: anyObject('A DID document'),
            examples: {
              did: {
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
              },
            },
          },
        },
      },
    },
  },
  'GET /.well-known/jwks.json': {
    operationId: 'retrieveJwks',
    tag: 'Public',
    summary: 'Read the public keys as JWK',
    description: 'The same keys for those who work with JWK. Retired keys stay.',
    answers: {
      200: {
        description: 'A JWK set.',
        content: {
          'application/jwk-set+json': {
            schema: anyObject('A JWK set'),
            examples: {
              jwks: {
                keys: [
                  {
                    kty: 'OKP',
                    crv: 'Ed25519',
                    kid: KID,
                    x: 'lJZrfAjkBXdhe9c9VYyLJDpGrb3Zr9pEi0qNQJQmJ1M',
                  },
                ],
              },
            },
          },
        },
      },
    },
  },
  'GET /contexts/{name}': {
    operationId: 'retrieveContext',
    tag: 'Public',
    summary: 'Read a JSON-LD context',
    description: 'What the terms of a receipt mean. The name holds the hash of the content.',
    path: { name: { description: 'Name of the context', example: CONTEXT } },
    answers: {
      200: {
        description: 'The context.',
        content: {
          'application/ld+json': {
            schema: anyObject('A JSON-LD context'),
            examples: { context: { '@context': { '@version': 1.1, '@protected': true } } },
          },
        },
      },
    },
    errors: ['context_not_found'],
  },
  'GET /openapi.json': {
    operationId: 'retrieveApiDescription',
    tag: 'Public',
    summary: 'Read this description',
    description: 'OpenAPI 3.1, made from the schemas that validate. Also at `/v1/openapi.json`.',
    answers: {
      200: {
        description: 'The description.',
        content: {
          'application/json': {
            schema: anyObject('An OpenAPI document'),
            examples: { description: { openapi: '3.1.1' } },
          },
        },
      },
    },
  },
};
