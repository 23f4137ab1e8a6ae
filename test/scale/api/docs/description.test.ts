import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, it } from 'vitest';
import type { ApiDocument, Example } from '#api/docs/document-shape.ts';
import { RECEIPT } from '#api/docs/examples/receipts.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { STABLE_CODES } from '#shared/kernel/error-codes.ts';
import { parseReceipt } from '#shared/receipts/parse.ts';
import { ApiDescription } from '#test/support/api-description.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';

const app = await buildTestApp(NO_DATABASE);
const answer = await app.inject('/openapi.json');
const api = new ApiDescription(answer.json<ApiDocument>());

/** Said by the HTTP layer of any address, so no operation names them. */
const OF_NO_OPERATION = ['method_not_allowed', 'request_timeout', 'headers_too_large'];

describe('the description of the API', () => {
  it('the description of the API passes the linter', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const source = JSON.stringify(api.document);
    const problems = await lintFromString({ source, config, absoluteRef: 'openapi.json' });
    expect(
      problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
    ).toEqual([]);
  });

  it('the description is the same at both addresses, for every origin, without a key', async () => {
    const v1 = await app.inject('/v1/openapi.json');
    expect(v1.payload).toBe(answer.payload);
    expect(answer.headers['access-control-allow-origin']).toBe('*');
  });

  it('the description has every scope and every code [errors.described]', () => {
    const demanded = api.operations.flatMap(({ operation }) =>
      operation.security.flatMap((one) => Object.values(one).flat()),
    );
    expect(new Set(demanded)).toEqual(new Set(SCOPES));
    const byHeader = api.operations.filter(({ operation }) =>
      operation.security.some((one) => 'apiKeyHeader' in one),
    );
    expect(byHeader.map(({ operation }) => operation.operationId).toSorted()).toEqual([
      'countMessageTokens',
      'createMessage',
      'listModels',
      'retrieveModel',
    ]);
    const named = Object.keys(api.document.components.examples);
    expect(STABLE_CODES.filter((code) => !named.includes(code))).toEqual(OF_NO_OPERATION);
  });

  it('has the codes that are agreed beside the specification [errors.described]', () => {
    const page = readFileSync('docs/inference.md', 'utf8');
    const [, section] = page.split('### Codes beyond the specification');
    const rows = [...section!.split('\n## ')[0]!.matchAll(/^\| `(\w+)` +\| (.*?) *\|$/gm)];
    const sent = rows.flatMap(([, code, state]) => (state === 'sent' ? code! : []));
    const named = Object.keys(api.document.components.examples);
    expect(sent.filter((code) => !named.includes(code))).toEqual([]);
    expect(rows.filter(([, , state]) => state !== 'sent')).toEqual([]);
    expect(sent.length).toBeGreaterThan(15);
  });

  it('the text says what each kind of request costs, every limit, and where and how soon a leaked key is reported [errors.described]', () => {
    const text = api.document.info.description;
    expect(text).not.toMatch(/costs nothing/);
    const rows = text.split('\n').filter((line) => line.startsWith('| '));
    const costs = rows.slice(rows.findIndex((line) => line.startsWith('| request |')));
    // A kind of request that is counted has a row; one more is a row more.
    expect(costs).toHaveLength(1 + 11);
    expect(text).toContain('at most 1 MiB, 64 KiB where it is not for a model');
    const leaked = text.slice(text.indexOf('## A leaked key'), text.indexOf('## Limits'));
    expect(leaked).toContain('support@docket.example');
    expect(leaked).toContain('within minutes in business hours, within 4 hours otherwise');
  });

  it('the description has an example of every request and of every answer that is text', () => {
    for (const { operation } of api.operations) {
      const { operationId, requestBody, responses } = operation;
      const contents = [
        requestBody?.content,
        ...Object.values(responses).map(({ content }) => content),
      ];
      for (const [type, media] of contents.flatMap((content) => Object.entries(content ?? {}))) {
        if (!/json|text/.test(type)) continue;
        expect(Object.keys(media.examples ?? {}).length, `${operationId} ${type}`).toBeGreaterThan(
          0,
        );
      }
    }
  });

  it('no two operations show one Idempotency-Key, and each download says what comes', () => {
    const shown = api.operations.flatMap(({ operation }) =>
      (operation.parameters ?? []).flatMap(({ name, example }) =>
        name === 'Idempotency-Key' ? [example] : [],
      ),
    );
    expect(shown.length).toBeGreaterThan(3);
    expect(new Set(shown).size).toBe(shown.length);
    for (const one of shown) expect(one).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    for (const { operation } of api.operations) {
      for (const [status, { content }] of Object.entries(operation.responses)) {
        if (status === '200') expect(content, operation.operationId).toBeDefined();
      }
    }
  });

  it('the description shows a receipt that is real', () => {
    const url = new URL('../../../vectors/receipt/receipt.json', import.meta.url);
    expect(RECEIPT).toEqual(JSON.parse(readFileSync(url, 'utf8')));
    for (const { operation } of api.operations) {
      const { examples = {} } = operation.responses['200']?.content?.['application/json'] ?? {};
      for (const one of Object.values(examples) as Example[]) {
        const { receipt } = one.value as { receipt?: object };
        if (receipt !== undefined) parseReceipt(JSON.stringify(receipt));
      }
    }
  });
});
