import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AccountState } from '#shared/accounts/account.ts';
import { DEFAULT_SCOPES, SCOPES } from '#shared/keys/credential.ts';
import { Fault } from '#shared/kernel/errors.ts';
import type { KeyRecord } from '#shared/keys/record.ts';
import {
  ACTIVE_KEYS_MAX,
  checkRestorable,
  checkRevoker,
  EXPIRY_MAX_MS,
  grantKey,
  grantSuccessor,
  grantTerms,
  scopesOnPlan,
  type GrantTerms,
  type KeyRequest,
} from '#shared/keys/rules.ts';
import { PLAN_LIMITS, PLANS } from '#shared/kernel/plan.ts';
import { forAll } from '#test/support/for-all.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

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
  const fault = thrownBy(Fault, () => grantKey({ name: 'a key', ...request }, terms(over)))!;
  return [fault.code, fault.param];
}

const codeOf = (act: () => unknown): string | null => thrownBy(Fault, act)?.code ?? null;

describe('what a key may be granted', () => {
  it('is the default set when no scope is named [scopes.default]', () => {
    for (const plan of PLANS) {
      expect(grantKey({ name: 'a' }, terms({ plan })).scopes).toEqual(DEFAULT_SCOPES);
    }
  });

  it('never goes beyond the plan [scopes.plans]', () => {
    for (const scope of ['service:lineage', 'service:export', 'admin:keys']) {
      expect(refusal({ scopes: [scope] }, { plan: 'audit' })).toEqual(['invalid_scope', 'scopes']);
    }
    forAll(
      [fc.subarray([...SCOPES], { minLength: 1 }), fc.constantFrom(...PLANS)],
      (scopes, plan) => {
        const isWithin = scopesOnPlan(scopes, plan).length === scopes.length;
        if (isWithin)
          expect(grantKey({ name: 'a', scopes }, terms({ plan })).scopes).toEqual(scopes);
        else expect(refusal({ scopes }, { plan })[0]).toBe('invalid_scope');
      },
    );
  });

  it('is not admin:keys when a key grants [scopes.no-escalation]', () => {
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

  it('expires on audit_plus and enterprise only, within ten years [keys.expiry-plans]', () => {
    expect(refusal({ expiresAt: NOW + 1 }, { plan: 'audit' })).toEqual([
      'invalid_expiry',
      'expires_at',
    ]);
    for (const expiresAt of [NOW, NOW - 1, Number.NaN, NOW + EXPIRY_MAX_MS + 1]) {
      expect(refusal({ expiresAt })[0]).toBe('invalid_expiry');
    }
    expect(grantKey({ name: 'a', expiresAt: NOW + 1 }, terms()).expiresAt).toBe(NOW + 1);
  });

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

  it('may burst to four seconds’ worth when no burst is named, as far as the organisation may', () => {
    const limit = (requestsPerSecond: number, limits = PLAN_LIMITS.audit_plus) =>
      grantKey({ name: 'a', limit: { requestsPerSecond } }, terms({ limits })).limit;
    expect(limit(50)).toEqual({ requestsPerSecond: 50, burst: 200 });
    const tight = { ...PLAN_LIMITS.audit_plus, burst: 60 };
    expect(limit(50, tight)).toEqual({ requestsPerSecond: 50, burst: 60 });
    for (const plan of PLANS) {
      const { requestsPerSecond, burst } = PLAN_LIMITS[plan];
      expect(limit(requestsPerSecond, PLAN_LIMITS[plan])).toEqual({ requestsPerSecond, burst });
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
    playgroundOf: null,
    limit: { requestsPerSecond: 100, burst: 400 },
    lineageId: 'key_0',
    predecessorId: 'key_0',
    createdAt: 0,
    expiresAt: NOW + 1_000,
    revokedAt: null,
    leaked: false,
    lastUsedAt: null,
  };

  it('inherits name, scopes and limit, not the expiry [keys.successor]', () => {
    expect(grantSuccessor(predecessor, {}, terms())).toEqual({
      name: 'production',
      scopes: ['inference:write', 'service:export'],
      expiresAt: null,
      limit: { requestsPerSecond: 100, burst: 400 },
    });
  });

  it('takes what is specified instead [keys.successor]', () => {
    const request = { scopes: ['service:read'], expiresAt: NOW + 5 };
    expect(grantSuccessor(predecessor, request, terms())).toMatchObject(request);
  });

  it('after a downgrade inherits only what the plan still holds', () => {
    const lower = terms({ plan: 'audit', limits: PLAN_LIMITS.audit });
    const successor = grantSuccessor(predecessor, {}, lower);
    expect(successor.scopes).toEqual(['inference:write']);
    expect(successor.limit).toEqual({ requestsPerSecond: 50, burst: 200 });
  });

  it('is given to an active key only', () => {
    for (const key of [
      { ...predecessor, state: 'revoked', revokedAt: NOW - 1 } as const,
      { ...predecessor, expiresAt: NOW },
    ]) {
      expect(codeOf(() => grantSuccessor(key, {}, terms()))).toBe('key_state_conflict');
    }
  });
});

describe('the terms of one more key', () => {
  const grantee = {
    state: 'active',
    plan: 'audit_plus',
    limits: PLAN_LIMITS.audit_plus,
    activeKeys: 0,
  } as const;

  it('are those of the account, and tell a key that grants from a person', () => {
    const { plan, limits } = grantee;
    expect(grantTerms(grantee, { kind: 'key' }, NOW)).toEqual({
      plan,
      limits,
      grantor: 'key',
      now: NOW,
    });
    for (const kind of ['user', 'operator', 'system'] as const) {
      expect(grantTerms(grantee, { kind }, NOW).grantor).toBe('person');
    }
  });

  it('are given to active accounts only', () => {
    const refused = (state: AccountState) =>
      codeOf(() => grantTerms({ ...grantee, state }, { kind: 'operator' }, NOW));
    expect(refused('suspended')).toBe('customer_suspended');
    for (const state of ['onboarding', 'contracted', 'closed'] as const) {
      expect(refused(state)).toBe('invalid_account_state');
    }
  });

  it('are refused to an organisation with as many active keys as it may have', () => {
    const having = (activeKeys: number) =>
      codeOf(() => grantTerms({ ...grantee, activeKeys }, { kind: 'operator' }, NOW));
    expect(having(ACTIVE_KEYS_MAX - 1)).toBeNull();
    expect(having(ACTIVE_KEYS_MAX)).toBe('invalid_key');
  });
});

describe('a key with admin:keys', () => {
  it('revokes other keys, not itself', () => {
    expect(codeOf(() => checkRevoker('key_1', { kind: 'key', id: 'key_1' }))).toBe('invalid_key');
    expect(codeOf(() => checkRevoker('key_2', { kind: 'key', id: 'key_1' }))).toBeNull();
    // The id of a user may be any text.
    expect(codeOf(() => checkRevoker('key_1', { kind: 'user', id: 'key_1' }))).toBeNull();
  });

  it('is restored by people, not by keys', () => {
    const admin = { scopes: ['service:read', 'admin:keys'] } as const;
    const byKey = terms({ grantor: 'key' });
    expect(codeOf(() => checkRestorable(admin, byKey))).toBe('invalid_scope');
    expect(codeOf(() => checkRestorable(admin, terms()))).toBeNull();
    expect(codeOf(() => checkRestorable({ scopes: ['service:read'] }, byKey))).toBeNull();
  });
});
