import { expect, it } from 'vitest';
import { codeRow, type DocumentedCode } from '#shared/kernel/error-codes.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';
import { pinnedError } from '#test/support/pinned-errors.ts';
import { TestCredentials } from '#test/support/credentials.ts';

const credentials = new TestCredentials();
const app = await buildTestApp(NO_DATABASE, {
  authenticate: { credentials, keyUse: { used() {} } },
});
const authorization = `Bearer ${credentials.issue('org_a', ['service:read', 'admin:keys'])}`;

it.each<[DocumentedCode, 'GET' | 'POST', string, object?]>([
  ['invalid_limit', 'GET', '/keys?limit=101'],
  ['invalid_from', 'GET', '/usage?from=yesterday'],
  ['invalid_to', 'GET', '/usage?from=2026-02-01&to=2026-01-01'],
  ['invalid_group_by', 'GET', '/usage?group_by=mood'],
  ['invalid_reason', 'POST', '/keys/key_x/revoke', { reason: 'x'.repeat(501) }],
  ['invalid_expiry', 'POST', '/keys', { name: 'a', expires_at: 'tomorrow' }],
])(
  'the example that the documentation shows of %s is what a caller is really told',
  async (code, method, path, payload) => {
    const request = { method, url: `/v1${path}`, headers: { authorization } };
    const reply = await app.inject(payload === undefined ? request : { ...request, payload });
    const { example, param } = codeRow(code);
    const { status, type } = pinnedError(code);
    expect(reply.statusCode).toBe(status);
    expect(reply.json()).toEqual({ error: { code, type, message: example, param } });
  },
);
