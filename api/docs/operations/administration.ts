import type { OperationNotes } from '../operation-notes.ts';

const KEY_ID = 'key_01JD0A9F6R4N8P1S5VZC7B2DEG';
const KEY_PATH = { id: { description: 'Id of the key', example: KEY_ID } };

const KEY = {
  object: 'api_key',
  id: KEY_ID,
  name: 'Nightly batch',
  display: 'dkt_AbCd…wxyz',
  state: 'active',
  scopes: ['inference:read', 'inference:write', 'service:read'],
  rate_limit: { requests_per_second: 20, burst: 80 },
  lineage_id: KEY_ID,
  predecessor_id: null,
  created_at: '2026-11-01T08:00:00.000Z',
  expires_at: '2027-11-01T08:00:00.000Z',
  revoked_at: null,
  restorable_until: null,
  last_used_at: '2026-11-20T09:38:05.595Z',
};
const REVOKED = {
  ...KEY,
  state: 'revoked',
  revoked_at: '2026-11-20T10:00:00.000Z',
  restorable_until: '2027-02-18T10:00:00.000Z',
};
const SECRET = 'dkt_AbCdEfGhIjKlMnOpQrStUvWxYz012345wxyz';
const SUCCESSOR = {
  ...KEY,
  id: 'key_01JD4ZB7W2N6R0M4S8XHC3D9EP',
  predecessor_id: KEY_ID,
  last_used_at: null,
};
const CONTACT = { name: 'Tess Example', email: 'tess@bakery.example' };
const AUDIT_ID = 'aud_01JD4ZC3X6P0S4N8V2YJD5E1FQ';

const json = (examples: Record<string, unknown>) => ({ 'application/json': { examples } });

export const ADMINISTRATION_OPERATIONS: Record<string, OperationNotes> = {
  'POST /v1/keys': {
    operationId: 'issueKey',
    tag: 'Keys',
    summary: 'Issue a key',
    description:
      'The secret is in this answer and nowhere else: only its hash is kept. Scopes default to `inference:read`, `inference:write` and `service:read`. A key cannot grant `admin:keys`, nor a scope beyond the plan. Only keys of Audit Plus and Enterprise may expire.',
    requests: {
      'with the default scopes': { name: 'Nightly batch' },
      'with its own limits': {
        name: 'Nightly batch',
        scopes: ['inference:write', 'service:lineage'],
        expires_at: '2027-11-01T08:00:00Z',
        rate_limit: { requests_per_second: 20, burst: 80 },
      },
    },
    answers: {
      201: {
        description: 'The key, with its secret.',
        content: json({ key: { ...KEY, key: SECRET } }),
      },
    },
    errors: ['invalid_name', 'invalid_scope', 'invalid_expiry'],
  },
  'GET /v1/keys': {
    operationId: 'listKeys',
    tag: 'Keys',
    summary: 'List keys',
    description: 'The keys of your organisation. `last_used_at` shows where traffic is.',
    answers: {
      200: {
        description: 'A page.',
        content: json({
          page: { object: 'list', data: [KEY], first_id: KEY_ID, last_id: KEY_ID, has_more: false },
        }),
      },
    },
    errors: ['invalid_limit', 'invalid_after'],
  },
  'GET /v1/keys/{id}': {
    operationId: 'retrieveKey',
    tag: 'Keys',
    summary: 'Read a key',
    description: 'One key, without its secret.',
    path: KEY_PATH,
    answers: { 200: { description: 'The key.', content: json({ key: KEY }) } },
    errors: ['key_not_found'],
  },
  'POST /v1/keys/{id}/rotate': {
    operationId: 'rotateKey',
    tag: 'Keys',
    summary: 'Issue a successor',
    description:
      'A new key with the scopes, limits and lineage of the old one, unless others are named. The old key stays active until it is revoked: deploy the successor, see traffic on it, then revoke.',
    path: KEY_PATH,
    bodyOptional: true,
    requests: { 'with another expiry': { expires_at: '2028-11-01T08:00:00Z' } },
    answers: {
      201: {
        description: 'The successor, with its secret.',
        content: json({ key: { ...SUCCESSOR, key: SECRET } }),
      },
    },
    errors: ['key_not_found', 'key_state_conflict', 'invalid_scope', 'invalid_expiry'],
  },
  'POST /v1/keys/{id}/revoke': {
    operationId: 'revokeKey',
    tag: 'Keys',
    summary: 'Revoke a key',
    description:
      'Requests with the key fail with `revoked_api_key` everywhere within a second. It can be undone for 90 days; then the hashed record is deleted. A key cannot revoke itself.',
    path: KEY_PATH,
    bodyOptional: true,
    requests: { 'with a reason': { reason: 'Found in a build log' } },
    answers: { 200: { description: 'The revoked key.', content: json({ key: REVOKED }) } },
    errors: ['key_not_found', 'key_state_conflict', 'invalid_key', 'invalid_reason'],
  },
  'POST /v1/keys/{id}/restore': {
    operationId: 'restoreKey',
    tag: 'Keys',
    summary: 'Undo a revocation',
    description: 'Within 90 days of the revocation. The key works again at once.',
    path: KEY_PATH,
    bodyOptional: true,
    requests: { 'with a reason': { reason: 'Revoked by mistake' } },
    answers: { 200: { description: 'The key, active again.', content: json({ key: KEY }) } },
    errors: ['key_not_found', 'key_state_conflict', 'invalid_reason'],
  },
  'GET /v1/audit-log': {
    operationId: 'listAuditLog',
    tag: 'Keys',
    summary: 'Read the audit log',
    description:
      'Every transition of the account, every act on a key, every export: who, when, from where and why. Append-only; each entry holds the hash of the one before.',
    answers: {
      200: {
        description: 'A page.',
        content: json({
          page: {
            object: 'list',
            data: [
              {
                object: 'audit_log_entry',
                id: AUDIT_ID,
                sequence: 12,
                at: '2026-11-20T10:00:00.000Z',
                action: 'key.revoked',
                actor: { kind: 'key', id: 'key_01JD0A8P2Q6R9T3V7WXB1C5DFH' },
                address: '192.0.2.7',
                subject: KEY_ID,
                reason: 'Found in a build log',
                details: {},
                previous_hash: '3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d',
                hash: '2e7d2c03a9507ae265ecf5b5356885a53393a2029d241394997265a1a25aefc6',
              },
            ],
            first_id: AUDIT_ID,
            last_id: AUDIT_ID,
            has_more: false,
          },
        }),
      },
    },
    errors: ['invalid_limit', 'invalid_after'],
  },
  'GET /v1/account': {
    operationId: 'retrieveAccount',
    tag: 'Account',
    summary: 'Read your account',
    description: 'Your organisation, its plan and limits, and what the key you use may do.',
    answers: {
      200: {
        description: 'The account.',
        content: json({
          account: {
            object: 'account',
            id: 'org_01JD0A8N5K3M7Q2T9VXB4C6DEF',
            name: 'Harmless Bakery',
            state: 'active',
            plan: 'audit_plus',
            limits: {
              requests_per_second: 200,
              burst: 800,
              requests_per_day: 400_000,
              concurrent_streams: 100,
            },
            billing_contact: CONTACT,
            technical_contact: CONTACT,
            created_at: '2026-10-01T08:00:00.000Z',
            state_changed_at: '2026-10-02T08:00:00.000Z',
            key: { id: KEY_ID, scopes: KEY.scopes },
          },
        }),
      },
    },
  },
};
