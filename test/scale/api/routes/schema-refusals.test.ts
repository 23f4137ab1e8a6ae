import { pino } from 'pino';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { apiEvents } from '#api/events.ts';
import type { ApiDocument } from '#api/docs/document-shape.ts';
import { SCOPES } from '#shared/keys/credential.ts';
import { ApiDescription, type Listed } from '#test/support/api-description.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { sourceFiles } from '#test/architecture/source-files.ts';
import { TestCredentials } from '#test/support/credentials.ts';

const credentials = new TestCredentials();
const registry = new Registry();
const app = await buildTestApp(NO_DATABASE, {
  events: apiEvents(pino({ level: 'silent' }), registry),
  authenticate: { credentials, keyUse: { used() {} } },
});
const authorization = `Bearer ${credentials.issue('org_a', SCOPES)}`;
const document: ApiDocument = (await app.inject('/openapi.json')).json();
const api = new ApiDescription(document);

interface Schema {
  $ref?: string;
  type?: string;
  anyOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  maximum?: number;
  minimum?: number;
  maxLength?: number;
  maxItems?: number;
  pattern?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
}

/** Characters that the router takes in a part of a path. */
const PATH_PARAMETER_MAX = 512;

/** Values that a schema refuses, at each of its bounds. */
function wrongValues(schema: Schema): unknown[] {
  const wrong: unknown[] = [];
  const choices = schema.anyOf?.every((one) => one.const !== undefined) ?? false;
  if (choices || schema.enum !== undefined || schema.const !== undefined) wrong.push('nope');
  if (schema.type === 'integer' || schema.type === 'number') wrong.push('many');
  if (schema.minimum !== undefined) wrong.push(schema.minimum - 1);
  if (schema.maximum !== undefined && schema.maximum < Number.MAX_SAFE_INTEGER) {
    wrong.push(schema.maximum + 1);
  }
  if (schema.maxLength !== undefined) wrong.push('x'.repeat(schema.maxLength + 1));
  if (schema.pattern !== undefined) wrong.push('a\u0001b');
  if (schema.type === 'array') wrong.push({ not: 'a list' });
  if (schema.maxItems !== undefined) wrong.push(Array(schema.maxItems + 1).fill('x'));
  return wrong;
}

interface WrongCall {
  what: string;
  listed: Listed;
  url: string;
  payload?: object;
}

/** Calls that one schema of ours refuses; bodies of inference are read by rules of their own. */
function wrongCalls(): WrongCall[] {
  return api.operations.flatMap((listed) => {
    const { path, operation } = listed;
    const calls: WrongCall[] = [];
    const base = path.replaceAll(/\{\w+\}/g, 'x');
    for (const { name, in: place, schema } of operation.parameters ?? []) {
      if (place !== 'query' && place !== 'path') continue;
      for (const value of wrongValues(schema)) {
        const text = encodeURIComponent(String(value));
        // The router itself refuses what is longer than any id, and a NUL: there is nothing at such an address.
        if (place === 'path' && (path.includes('tile') || text.length > PATH_PARAMETER_MAX))
          continue;
        const url = place === 'query' ? `${base}?${name}=${text}` : path.replace(`{${name}}`, text);
        calls.push({ what: `${operation.operationId} ${name}=${text.slice(0, 20)}`, listed, url });
      }
    }
    const media = operation.requestBody?.content['application/json'];
    if (media === undefined || operation.tags[0] === 'Inference') return calls;
    const body = resolve(media.schema);
    const add = (what: string, payload: object): void => {
      calls.push({ what: `${operation.operationId} ${what}`, listed, url: base, payload });
    };
    for (const [name, schema] of Object.entries(body.properties ?? {})) {
      const rest = Object.fromEntries((body.required ?? []).map((one) => [one, 'x']));
      const part = resolve(schema);
      // An empty list is a list; nothing else takes one.
      const wrong = part.type === 'array' ? [] : [[]];
      for (const value of [...wrongValues(part), ...wrong]) {
        add(`${name}: ${JSON.stringify(value).slice(0, 20)}`, { ...rest, [name]: value });
      }
    }
    for (const name of body.required ?? []) add(`without ${name}`, {});
    add('with a member that is not known', { [`x${'y'.repeat(9)}`]: 1 });
    return calls;
  });
}

function resolve(schema: Schema): Schema {
  if (schema.$ref === undefined) return schema;
  const name = schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1);
  return document.components.schemas[name] as Schema;
}

/** The words of a schema validator, and what is JavaScript. */
const JARGON =
  /must NOT|must match|equal to|allowed values|constant|pattern|schema|[<>]=|undefined|null\b.*null|\[object/;

/**
 * Of commands and pages only: keys of an account that is not active are refused before any operation, and operators say
 * what the public is told about a region or an incident.
 */
const OF_NO_OPERATION = [
  'invalid_account_state',
  'invalid_components',
  'invalid_note',
  'invalid_text',
  'invalid_title',
];

const calls = wrongCalls();

describe('what a schema refuses', () => {
  it('every refusal says in plain words what the parameter must be, under a code that its operation names', async () => {
    expect(calls.length).toBeGreaterThan(60);
    for (const { what, listed, url, payload } of calls) {
      const method = listed.method.toUpperCase() as 'GET' | 'POST';
      const request = { method, url, headers: { authorization } };
      const reply = await app.inject(payload === undefined ? request : { ...request, payload });
      const text = `${what}: ${reply.body}`;
      expect(reply.statusCode, text).toBe(400);
      const { error } = reply.json<{ error: Record<string, string> }>();
      expect(error['message'], what).not.toMatch(JARGON);
      expect(error['message'], what).toMatch(/^`[^`]+` (must be|is required|is not known)/);
      expect(error['param'], text).not.toBeNull();
      if (/is not known/.test(error['message']!)) continue;
      const named = listed.operation.responses['400']!.content!['application/json']!.examples!;
      expect(Object.keys(named), text).toContain(error['code']);
      const shown = (named[error['code']!] as { value?: { error: unknown } }).value?.error;
      if (shown !== undefined) expect(error).toEqual(shown);
    }
  });

  it('a query parameter that a list does not know is refused by its name, and never ignored', async () => {
    const lists = api.operations.filter(({ operation: { parameters = [] } }) => {
      const asked = parameters.filter((one) => one.in === 'query');
      return asked.length > 0 && !asked.some(({ required }) => required);
    });
    const ids = lists.map(({ operation }) => operation.operationId);
    const paged = ['listKeys', 'listReceipts', 'listLedgerEntries', 'listExports', 'listAuditLog'];
    expect(ids).toEqual(expect.arrayContaining(paged));
    for (const { path, operation } of lists) {
      // Programs ask for models with parameters of their own.
      if (operation.operationId === 'listModels') continue;
      // A misspelt filter would be an answer to another question.
      const url = `${path.replaceAll(/\{\w+\}/g, 'x')}?limitt=1`;
      const reply = await app.inject({ method: 'GET', url, headers: { authorization } });
      expect(reply.statusCode, operation.operationId).toBe(400);
      expect(reply.json().error, operation.operationId).toMatchObject({
        code: 'invalid_limitt',
        param: 'limitt',
        message: '`limitt` is not known here.',
      });
    }
  });

  it('a name that is not known is repeated only where it is a name, also where JavaScript has a meaning for it', async () => {
    for (const [query, code, message] of [
      ['__proto__', 'invalid___proto__', '`__proto__` is not known here.'],
      ['constructor', 'invalid_constructor', '`constructor` is not known here.'],
      ['a_not_found', 'invalid_a_not_found', '`a_not_found` is not known here.'],
      ['api_key', 'invalid_request', '`api_key` is not known here.'],
      ['%F0%9F%98%80', 'invalid_request', '`request` holds a name that is not known here.'],
      ['x'.repeat(3_000), 'invalid_request', '`request` holds a name that is not known here.'],
    ] as const) {
      const url = `/v1/keys?${query}=1`;
      const reply = await app.inject({ method: 'GET', url, headers: { authorization } });
      expect(reply.statusCode).toBe(400);
      expect(reply.json().error).toMatchObject({ code, message });
    }
  });

  it('no caller makes series of metrics: refusals of names that are not known are counted together', async () => {
    const names = Array.from({ length: 5 }, (_, i) => `made_up_${i}`);
    for (const name of names) {
      const url = `/v1/keys?${name}=1`;
      await app.inject({ method: 'GET', url, headers: { authorization } });
      const payload = { name: 'k', [name]: 1 };
      await app.inject({ method: 'POST', url: '/v1/keys', headers: { authorization }, payload });
    }
    const text = await registry.metrics();
    expect(text).toMatch(
      /docket_refusals_total\{code="invalid_other",type="validation_error"\} \d{2,}/,
    );
    expect(text).not.toContain('made_up');
  });
});

describe('the codes that the interface refuses parameters with', () => {
  it('every code that a source file of the interface or of what it calls names is named by an operation', () => {
    // Not api/openai, whose codes are those of OpenAI's parameters, nor api/plugins, which no operation is reached before.
    const rooms =
      /^(api\/routes|shared\/(packs|keys|ledger|lineage|receipts|catalogue|screening))\//;
    const thrown = sourceFiles()
      .filter(({ path }) => rooms.test(path))
      .flatMap(({ path, text }) => {
        const codes = [...text.matchAll(/new Fault\(\s*'(invalid_\w+)'/g)].map(([, code]) => code!);
        const params = [...text.matchAll(/invalidParam\(\s*'(\w+)'/g)].map(
          ([, p]) => `invalid_${p}`,
        );
        return [...codes, ...params].map((code) => ({ path, code }));
      });
    expect(thrown.length).toBeGreaterThan(20);
    const named = new Set(
      api.operations.flatMap(({ operation }) =>
        Object.values(operation.responses).flatMap(({ content }) =>
          Object.keys(content?.['application/json']?.examples ?? {}),
        ),
      ),
    );
    expect(
      thrown.filter(({ code }) => !named.has(code) && !OF_NO_OPERATION.includes(code)),
    ).toEqual([]);
  });
});
