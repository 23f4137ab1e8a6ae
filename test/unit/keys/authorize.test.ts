import { describe, expect, it } from 'vitest';
import { type Credential, SCOPES } from '#shared/keys/credential.ts';
import type { AccountState } from '#shared/accounts/account.ts';
import { Fault } from '#shared/kernel/errors.ts';
import { authorize, type RequiredScope } from '#shared/keys/authorize.ts';
import { credential } from '#test/support/held-credentials.ts';
import { thrownBy } from '#test/support/thrown-by.ts';

function outcome(
  over: Partial<Credential>,
  required: RequiredScope = 'inference:write',
  now = 1_000,
): string {
  const surroundings = { now, supportEmail: 'support@docket.example' };
  const fault = thrownBy<Fault>(Fault, () => authorize(credential(over), required, surroundings));
  return fault === undefined ? 'admitted' : `${fault.status} ${fault.code}`;
}

describe('authorisation', () => {
  it('admits an active key of an active account for a scope it has, and for any', () => {
    expect(outcome({})).toBe('admitted');
    expect(outcome({}, 'any')).toBe('admitted');
  });

  it('refuses every scope that the key lacks [scopes.inference-read, scopes.inference-write, scopes.service-read, scopes.service-lineage, scopes.service-export, scopes.admin-keys]', () => {
    for (const scope of SCOPES) {
      expect(outcome({ scopes: SCOPES.filter((other) => other !== scope) }, scope)).toBe(
        '403 insufficient_scope',
      );
    }
  });

  it('refuses revoked and expired keys before anything else', () => {
    const rest = { accountState: 'suspended', scopes: [] } as const;
    expect(outcome({ ...rest, keyState: 'revoked', expiresAt: 1 })).toBe('401 revoked_api_key');
    expect(outcome({ ...rest, keyState: 'expired' })).toBe('401 expired_api_key');
  });

  it('expires by the clock alone, at the very millisecond [keys.expired]', () => {
    expect(outcome({ expiresAt: 1_001 })).toBe('admitted');
    expect(outcome({ expiresAt: 1_000 })).toBe('401 expired_api_key');
  });

  it('knows an answer for every state of an account', () => {
    const answers: Record<AccountState, string> = {
      onboarding: '403 customer_suspended',
      declared: '403 customer_suspended',
      screened: '403 customer_suspended',
      in_review: '403 customer_suspended',
      approved: '403 customer_suspended',
      contracted: '403 customer_suspended',
      active: 'admitted',
      suspended: '403 customer_suspended',
      rejected: '401 revoked_api_key',
      closed: '401 revoked_api_key',
    };
    for (const [accountState, answer] of Object.entries(answers)) {
      expect(outcome({ accountState: accountState as AccountState })).toBe(answer);
    }
  });
});
