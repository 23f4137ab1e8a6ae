import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_SCOPES, SCOPES } from '#shared/keys/credential.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import { successorOf } from '#shared/keys/rotation.ts';
import {
  EXPIRY_MAX_MS,
  grantKey,
  scopesOnPlan,
  type GrantTerms,
  type KeyRequest,
} from '#shared/keys/rules.ts';
import { PLAN_LIMITS, PLANS } from '#shared/kernel/plan.ts';

const NOW = 1_700_000_000_000;
const terms = (over: Partial<GrantTerms> = {}): GrantTerms => ({
  plan: 'audit_plus',
  limits: PLAN_LIMITS.audit_plus,
  grantor: 'person',
  now: NOW,
  ...over,
});

function refusal(
  request: Partial<KeyRequest>,
  over: Partial<GrantTerms> = {},
): [string, string | null] {
  try {
    grantKey({ name: 'a key', ...request }, terms(over));
  } catch (error) {
    if (error instanceof Fault) return [error.code, error.param];
    throw error;
  }
  throw new Error('was not refused');
}

describe('what a key may be granted', () => {
  it('is the default set when no scope is named', { tags: ['scopes.default'] }, () => {
    for (const plan of PLANS) {
      expect(grantKey({ name: 'a' }, terms({ plan })).scopes).toEqual(DEFAULT_SCOPES);
    }
  });

  it('never goes beyond the plan', { tags: ['scopes.plans'] }, () => {
    for (const scope of ['service:lineage', 'service:export', 'admin:keys']) {
      expect(refusal({ scopes: [scope] }, { plan: 'audit' })).toEqual(['invalid_scope', 'scopes']);
    }
    fc.assert(
      fc.property(
        fc.subarray([...SCOPES], { minLength: 1 }),
        fc.constantFrom(...PLANS),
        (scopes, plan) => {
          const isWithin = scopesOnPlan(scopes, plan).length === scopes.length;
          if (isWithin)
            expect(grantKey({ name: 'a', scopes }, terms({ plan })).scopes).toEqual(scopes);
          else expect(refusal({ scopes }, { plan })[0]).toBe('invalid_scope');
        },
      ),
    );
  });

  it('is not admin:keys when a key grants', { tags: ['scopes.no-escalation'] }, () => {
    expect(refusal({ scopes: ['admin:keys'] }, { grantor: 'key' })).toEqual([
      'invalid_scope',
      'scopes',
    ]);
    expect(grantKey({ name: 'a', scopes: ['admin:keys'] }, terms()).scopes).toEqual(['admin:keys']);
  });

  it('is refused for unknown scopes and none', () => {
    expect(refusal({ scopes: [] })[0]).toBe('invalid_scope');
    expect(refusal({ scopes: ['inference:read', 'toString'] })[0]).toBe('invalid_scope');
  });

  it('holds each scope once, in the order of the specification', () => {
    const scopes = ['service:read', 'inference:read', 'service:read'];
    expect(grantKey({ name: 'a', scopes }, terms()).scopes).toEqual([
      'inference:read',
      'service:read',
    ]);
  });

  it(
    'expires on audit_plus and enterprise only, within ten years',
    { tags: ['keys.expiry-plans'] },
    () => {
      expect(refusal({ expiresAt: NOW + 1 }, { plan: 'audit' })).toEqual([
        'invalid_expiry',
        'expires_at',
      ]);
      for (const expiresAt of [NOW, NOW - 1, Number.NaN, NOW + EXPIRY_MAX_MS + 1]) {
        expect(refusal({ expiresAt })[0]).toBe('invalid_expiry');
      }
      expect(grantKey({ name: 'a', expiresAt: NOW + 1 }, terms()).expiresAt).toBe(NOW + 1);
    },
  );

  it('has a limit within the organisation’s own', () => {
    const { requestsPerSecond, burst } = PLAN_LIMITS.audit_plus;
    expect(grantKey({ name: 'a', limit: { requestsPerSecond, burst } }, terms()).limit).toEqual({
      requestsPerSecond,
      burst,
    });
    for (const limit of [
      { requestsPerSecond: requestsPerSecond + 1, burst },
      { requestsPerSecond, burst: burst + 1 },
      { requestsPerSecond: 0, burst },
      { requestsPerSecond: 1.5, burst },
      { requestsPerSecond, burst: Number.NaN },
    ]) {
      expect(refusal({ limit })).toEqual(['invalid_rate_limit', 'rate_limit']);
    }
  });

  it('has a name of 1 to 100 printable characters', () => {
    for (const name of ['', '   ', 'a\nb', 'x'.repeat(101)]) {
      expect(refusal({ name })).toEqual(['invalid_name', 'name']);
    }
  });
});

describe('a rotation successor', () => {
  const predecessor: KeyRecord = {
    id: 'key_1',
    orgId: 'org_1',
    name: 'production',
    display: { head: 'dkt_AAAA', tail: 'BBBB' },
    state: 'active',
    scopes: ['inference:write', 'service:export'],
    limit: { requestsPerSecond: 100, burst: 400 },
    lineageId: 'key_0',
    predecessorId: 'key_0',
    createdAt: 0,
    expiresAt: NOW + 1_000,
    revokedAt: null,
    lastUsedAt: null,
  };

  it('inherits name, scopes and limit, not the expiry', { tags: ['keys.successor'] }, () => {
    expect(successorOf(predecessor, {}, terms())).toEqual({
      name: 'production',
      scopes: ['inference:write', 'service:export'],
      expiresAt: null,
      limit: { requestsPerSecond: 100, burst: 400 },
    });
  });

  it('takes what is specified instead', { tags: ['keys.successor'] }, () => {
    const request = { scopes: ['service:read'], expiresAt: NOW + 5 };
    expect(successorOf(predecessor, request, terms())).toMatchObject(request);
  });

  it('after a downgrade inherits only what the plan still holds', () => {
    const lower = terms({ plan: 'audit', limits: PLAN_LIMITS.audit });
    const successor = successorOf(predecessor, {}, lower);
    expect(successor.scopes).toEqual(['inference:write']);
    expect(successor.limit).toEqual({ requestsPerSecond: 50, burst: 200 });
    expect(() => grantKey(successor, lower)).not.toThrow();
  });
});
