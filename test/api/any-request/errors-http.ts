import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { answerClientError } from '#api/plugins/client-errors.ts';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Answer, ask, expectRefusal } from '#test/support/envelope.ts';
import { exchange } from '#test/support/raw-http.ts';
import type { System } from '#test/support/system.ts';

const JSON_TYPE = { 'content-type': 'application/json' };
const INFERENCE = ['/chat/completions', '/completions', '/embeddings'];

/** What the api refuses by address, method, body or bytes alone. */
export function errorsOfHttp(system: () => System, bodyBytesMax: number): void {
  const port = (): number => Number(new URL(system().baseUrl).port);
  const keyed = (more: Record<string, string> = {}) => ({
    authorization: `Bearer ${system().key}`,
    ...more,
  });
  const post = (
    path: string,
    body: string | Buffer<ArrayBuffer>,
    headers: Record<string, string> = JSON_TYPE,
  ) => ask(`${system().baseUrl}${path}`, { method: 'POST', headers: keyed(headers), body });

  describe('an address', () => {
    it.each([
      '/v1',
      '/v1/nope',
      '/v2/models',
      '/v1/chat',
      '/v1/chat/completions/x',
      '/v1/keys/a/b/c',
      '/v1/ledger/tile/',
      '/anchor/tile',
    ])(
      'an address that leads nowhere is 404 with the envelope, key or no key: %s [operations.version, errors.envelope]',
      async (path) => {
        expectRefusal(await ask(system().root + path), 'route_not_found', { param: null });
        const request = {
          method: 'POST',
          headers: keyed({ 'content-type': 'text/plain' }),
          body: 'x',
        };
        expectRefusal(await ask(system().root + path, request), 'route_not_found');
      },
    );

    it('an address that leads nowhere is a NotFoundError with a request id in the SDK', async () => {
      const openai = new OpenAI({ baseURL: `${system().root}/v2`, apiKey: system().key });
      const error: unknown = await openai.models.list().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(OpenAI.NotFoundError);
      expect(error).toMatchObject({
        code: 'route_not_found',
        requestID: expect.stringMatching(/^req_/) as string,
      });
      expect((error as Error).message).not.toContain('(no body)');
    });

    it.each(['/v1/%zz', '/v1/models/%', '/v1/receipts/%c3%28'])(
      'an address that is no valid URL is 400 with the envelope: %s',
      async (path) => {
        expectRefusal(await ask(system().root + path, { headers: keyed() }), 'invalid_url');
      },
    );

    it.each([
      '/receipts/%00',
      '/receipts?after=%00',
      '/audit-log?actor=a%00b',
      '/keys/%00',
      '/models/%00',
    ])('an address with a NUL character is refused before a store sees it: %s', async (path) => {
      expectRefusal(await ask(system().baseUrl + path, { headers: keyed() }), 'invalid_url');
    });

    it('an address with more than a hundred parameters is refused, and so are more than a hundred headers', async () => {
      const parameters = (count: number) =>
        Array.from({ length: count }, (_, i) => `a${i % 7}=`).join('&');
      for (const headers of [keyed(), undefined]) {
        const init = headers === undefined ? {} : { headers };
        for (const path of ['/receipts', '/models'])
          expectRefusal(
            await ask(`${system().baseUrl}${path}?${parameters(101)}`, init),
            'invalid_url',
          );
      }
      const few = await ask(`${system().baseUrl}/receipts?${parameters(100)}`, {
        headers: keyed(),
      });
      expectRefusal(few, 'invalid_a0');
      const many = Array.from({ length: 120 }, (_, i) => [`a${i}`, '']);
      const asked = ask(`${system().baseUrl}/models`, { headers: keyed(Object.fromEntries(many)) });
      expectRefusal(await asked, 'headers_too_large');
    });

    it('an address that is longer than any id is 404 with the envelope', async () => {
      const path = `/keys/${'k'.repeat(2_000)}`;
      expectRefusal(await ask(system().baseUrl + path, { headers: keyed() }), 'route_not_found');
    });

    it('an address may end in a slash', async () => {
      expect((await ask(`${system().baseUrl}/models/`, { headers: keyed() })).status).toBe(200);
    });
  });

  describe('a method that a route does not have', () => {
    it.each([
      ['GET', '/v1/chat/completions', 'POST'],
      ['OPTIONS', '/v1/embeddings', 'POST'],
      ['DELETE', '/v1/models', 'GET, HEAD'],
      ['PUT', '/v1/keys', 'GET, HEAD, POST'],
      ['PATCH', '/v1/receipts/rcpt_x', 'GET, HEAD'],
      ['PROPFIND', '/v1/completions', 'POST'],
      ['POST', '/v1/models/a/b', 'GET, HEAD'],
    ])(
      'a method that a route does not have is 405 with Allow: %s %s [codes.bodies]',
      async (method, path, allow) => {
        const answer = await ask(system().root + path, { method });
        expectRefusal(answer, 'method_not_allowed', { param: null, headers: { allow } });
      },
    );

    it('a method that a route does not have is 405 with any body', async () => {
      for (const body of ['{', 'x'.repeat(bodyBytesMax + 1)]) {
        const answer = await ask(`${system().baseUrl}/chat/completions`, {
          method: 'PUT',
          headers: keyed(JSON_TYPE),
          body,
        });
        expectRefusal(answer, 'method_not_allowed');
      }
    });
  });

  describe('a body', () => {
    it.each(['{', '', '{"model":}', 'nonsense', '{"model":"a","model":"b"}', '[1,', '\u0000'])(
      'a body that is not JSON is 400 invalid_json: %j [codes.bodies]',
      async (body) => {
        for (const path of INFERENCE)
          expectRefusal(await post(path, body), 'invalid_json', { param: null });
        if (body !== '') expectRefusal(await post('/keys', body), 'invalid_json', { param: null });
      },
    );

    it('a body that is not UTF-8, or nested deeper than 128 levels, is 400 invalid_json', async () => {
      const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
      for (const path of [...INFERENCE, '/keys']) {
        expectRefusal(await post(path, Buffer.from('{"model":"\xff"}', 'latin1')), 'invalid_json');
        expectRefusal(await post(path, deep), 'invalid_json');
      }
    });

    it.each(['null', '1', '"x"', '[]', 'true'])(
      'a body that is JSON but no object is 400: %s',
      async (body) => {
        for (const path of INFERENCE) expectRefusal(await post(path, body), 'invalid_body');
      },
    );

    it('a body over the limit is 413, announced or not, on every route that takes one [codes.bodies]', async () => {
      const body = JSON.stringify({
        model: 'm',
        messages: [{ role: 'user', content: 'x'.repeat(bodyBytesMax) }],
      });
      for (const path of [...INFERENCE, '/keys'])
        expectRefusal(await post(path, body), 'request_too_large');
      const stream = new Blob([body]).stream();
      const chunked = {
        method: 'POST',
        headers: keyed(JSON_TYPE),
        body: stream,
        duplex: 'half',
      } as RequestInit;
      expectRefusal(
        await ask(`${system().baseUrl}/chat/completions`, chunked),
        'request_too_large',
      );
    });

    it.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      ';',
      'application/xml',
    ])('a body of another media type is 415: %s [codes.bodies]', async (type) => {
      for (const path of [...INFERENCE, '/keys']) {
        expectRefusal(await post(path, '{}', { 'content-type': type }), 'invalid_content_type');
      }
    });

    it('inference without a body is 415, as a body without a type is', async () => {
      for (const path of INFERENCE) {
        const nothing = { method: 'POST', headers: keyed() };
        expectRefusal(await ask(system().baseUrl + path, nothing), 'invalid_content_type');
      }
    });

    it('a body may have parameters on its type, and a byte-order mark', async () => {
      const body = `\uFEFF${JSON.stringify({ model: 'no-such-model', messages: [{ role: 'user', content: 'x' }] })}`;
      const answer = await post('/chat/completions', body, {
        'content-type': 'Application/JSON; charset=utf-8',
      });
      expectRefusal(answer, 'invalid_model', { param: 'model' });
    });
  });

  describe('bytes that never become a request', () => {
    const one = async (...parts: (string | Buffer)[]): Promise<Answer> => {
      const answers = await exchange(port(), parts);
      expect(answers).toHaveLength(1);
      return answers[0]!;
    };
    const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;

    it.each([
      ['no HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
      ['a method that does not exist', head('NOPE /v1/models HTTP/1.1', 'Host: x')],
      ['a version that does not exist', head('GET /v1/models HTTP/7.3', 'Host: x')],
      ['a header name with a space', head('GET /v1/models HTTP/1.1', 'Host: x', 'a b: c')],
      ['a NUL in a header', head('GET /v1/models HTTP/1.1', 'Host: x', 'a: \0')],
      [
        'two lengths',
        head('POST /v1/keys HTTP/1.1', 'Host: x', 'Content-Length: 1', 'Content-Length: 2'),
      ],
      [
        'a length and chunks',
        head(
          'POST /v1/keys HTTP/1.1',
          'Host: x',
          'Content-Length: 1',
          'Transfer-Encoding: chunked',
        ),
      ],
      ['a length that is none', head('POST /v1/keys HTTP/1.1', 'Host: x', 'Content-Length: -5')],
    ])(
      'bytes that are no HTTP get 400 with the envelope, and the connection is closed: %s [errors.envelope]',
      async (_what, bytes) => {
        const answer = await one(Buffer.from(bytes, 'latin1'));
        expectRefusal(answer, 'invalid_request', { param: null, headers: { connection: 'close' } });
      },
    );

    it('headers that are too large get 431 [codes.before-a-request]', async () => {
      const answer = await one(
        head('GET /v1/models HTTP/1.1', 'Host: x', `Cookie: ${'c'.repeat(20_000)}`),
      );
      expectRefusal(answer, 'headers_too_large');
    });

    it('a request without a Host gets 400', async () => {
      expectRefusal(
        await one(head('GET /v1/models HTTP/1.1', 'Connection: close')),
        'invalid_host',
        {
          param: 'Host',
        },
      );
    });

    it('a malformed chunk gets 400, and is never answered twice', async () => {
      const request = head(
        'POST /v1/keys HTTP/1.1',
        'Host: x',
        `Authorization: Bearer ${system().key}`,
        'Content-Type: application/json',
        'Transfer-Encoding: chunked',
      );
      expectRefusal(await one(request, 'ZZ\r\n{}\r\n0\r\n\r\n'), 'invalid_request');
    });

    it('a malformed request does not spoil the answer to the one before it', async () => {
      const good = head('GET /nope HTTP/1.1', 'Host: x');
      const [first, ...rest] = await exchange(port(), [good, 'garbage\r\n\r\n']);
      expectRefusal(first!, 'route_not_found');
      for (const answer of rest) expectRefusal(answer, 'invalid_request');
    });

    it('headers that take too long get 408 [codes.before-a-request]', async () => {
      const server = createServer({
        headersTimeout: 100,
        requestTimeout: 100,
        connectionsCheckingInterval: 20,
      });
      server.on('clientError', (error, socket) =>
        answerClientError(error, socket as never, () => `req_${'0'.repeat(26)}`),
      );
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const answers = await exchange((server.address() as AddressInfo).port, [
        'GET / HTTP/1.1\r\nHo',
      ]);
      server.close();
      expectRefusal(answers[0]!, 'request_timeout', { headers: { connection: 'close' } });
    });

    it('unknown expectations and upgrades are ignored', async () => {
      for (const line of ['Expect: miracles', 'Upgrade: h2c']) {
        const answer = await one(
          head('GET /nope HTTP/1.1', 'Host: x', line, 'Connection: close, upgrade'),
        );
        expectRefusal(answer, 'route_not_found');
      }
    });
  });
}
