import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiDocument, Operation } from '#api/docs/document-shape.ts';
import { samplesOf } from '#api/docs/page/samples.ts';

interface Got {
  line: string;
  key: string | undefined;
  idempotency: string | string[] | undefined;
  body: unknown;
}

const got: Got[] = [];
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += String(chunk)));
  request.on('end', () => {
    got.push({
      line: `${request.method} ${request.url}`,
      key: request.headers.authorization,
      idempotency: request.headers['idempotency-key'],
      body: body === '' ? undefined : JSON.parse(body),
    });
    const isFine = request.url !== '/v1/refused';
    response.statusCode = isFine ? 200 : 400;
    response.end(`{"fine":${isFine}}`);
  });
});
let document: ApiDocument;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  document = { servers: [{ url: `http://127.0.0.1:${port}`, description: '' }] } as ApiDocument;
});
afterAll(() => void server.close());

const BODY = {
  model: 'm',
  text: 'it’s "quoted", it\'s `marked`, $HOME, ${x}, \\n and\na line',
  yes: true,
  no: false,
  none: null,
  list: [1, [], {}],
};
const operation = (rest: Partial<Operation>): Operation => ({
  operationId: 'o',
  tags: [],
  summary: '',
  security: [{ apiKey: [] }],
  responses: {},
  ...rest,
});

const env = { DOCKET_API_KEY: 'dkt_1', PATH: '/usr/bin:/bin' };
const run = promisify(execFile);
const PROGRAMS: Record<string, (code: string) => [program: string, args: string[]]> = {
  curl: (code) => ['sh', ['-c', code]],
  Python: (code) => ['python3', ['-c', code]],
  TypeScript: (code) => [process.execPath, ['--input-type=module-typescript', '-e', code]],
};

describe('the samples of an operation', () => {
  it.each(Object.entries(PROGRAMS))(
    'in %s send exactly what the operation shows, with the key of the environment',
    async (language, program) => {
      const shown = operation({
        parameters: [
          { name: 'id', in: 'path', required: true, schema: {}, example: 'key_1' },
          { name: 'from', in: 'query', required: true, schema: { minimum: 0 } },
          { name: 'limit', in: 'query', required: false, schema: {} },
          { name: 'Idempotency-Key', in: 'header', required: false, schema: {}, example: 'k-1' },
        ],
        requestBody: {
          required: true,
          content: { 'application/json': { schema: {}, examples: { one: { value: BODY } } } },
        },
      });
      const { code } = samplesOf(document, 'post', '/v1/keys/{id}', shown).find(
        (one) => one.language === language,
      )!;
      const { stdout } = await run(...program(code), { env });
      expect(stdout.trim()).toBe('{"fine":true}');
      const sent = {
        line: 'POST /v1/keys/key_1?from=0',
        key: 'Bearer dkt_1',
        idempotency: expect.stringMatching(/^[\w-]{8,}$/) as string,
        body: BODY,
      };
      expect(got.at(-1)).toEqual(sent);
      // Who runs it again, or in another language, or with another body, is not refused for the key of before.
      await run(...program(code), { env });
      expect(got.at(-1)).toEqual(sent);
      expect(got.at(-1)!.idempotency).not.toBe(got.at(-2)!.idempotency);
    },
  );

  it.each(Object.entries(PROGRAMS))(
    'in %s show what the service says of an error',
    async (language, program) => {
      const samples = samplesOf(document, 'get', '/v1/refused', operation({}));
      const { code } = samples.find((one) => one.language === language)!;
      const { stdout, stderr } = await run(...program(code), { env }).catch(
        (error: { stdout: string; stderr: string }) => error,
      );
      expect(`${stdout}${stderr}`).toContain('{"fine":false}');
    },
  );

  it.each(Object.entries(PROGRAMS))(
    'in %s send no key where none is wanted',
    async (language, program) => {
      const samples = samplesOf(document, 'get', '/v1/models', operation({ security: [] }));
      const { code } = samples.find((one) => one.language === language)!;
      expect(code).not.toContain('DOCKET_API_KEY');
      await run(...program(code), { env });
      expect(got.at(-1)).toMatchObject({ line: 'GET /v1/models', key: undefined, body: undefined });
    },
  );

  it('in Go hold the body as it is, and import what they use and nothing else', () => {
    const body = (value: unknown): Operation =>
      operation({
        requestBody: {
          required: true,
          content: { 'application/json': { schema: {}, examples: { one: { value } } } },
        },
      });
    const codeOf = (one: Operation): string =>
      samplesOf(document, 'post', '/v1/x', one).find(({ language }) => language === 'Go')!.code;
    const [, quoted = ''] = /NewReader\((".*")\)\)$/m.exec(codeOf(body(BODY)))!;
    expect(JSON.parse(JSON.parse(quoted) as string)).toEqual(BODY);
    const [, raw = ''] = /NewReader\(`([^`]*)`\)\)$/m.exec(codeOf(body({ a: 'b' })))!;
    expect(JSON.parse(raw)).toEqual({ a: 'b' });
    const key = { name: 'Idempotency-Key', in: 'header', required: false, schema: {} } as const;
    const repeatable = operation({ parameters: [key] });
    for (const one of [
      body({}),
      operation({}),
      operation({ security: [] }),
      download,
      repeatable,
    ]) {
      const code = codeOf(one);
      const imported = [...code.matchAll(/^\t"([a-z/]+)"$/gm)].map(([, name = '']) => name);
      const used = [...code.matchAll(/\b(rand|fmt|io|log|http|os|strings)\./g)].map(
        ([, name]) => name,
      );
      expect(imported.map((name) => name.replace(/^.*\//, ''))).toEqual(
        ['rand', 'fmt', 'io', 'log', 'http', 'os', 'strings'].filter((name) => used.includes(name)),
      );
    }
  });

  const download = operation({
    responses: { 200: { description: '', content: { 'application/zip': { schema: {} } } } },
  });
  it('write a download to a file', () => {
    for (const { code } of samplesOf(document, 'get', '/v1/x', download)) {
      expect(code).toContain('pack.zip');
    }
  });
});
