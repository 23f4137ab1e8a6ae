import { DEFAULT_SCOPES, SCOPES, type Scope } from './credential.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { planCovers, type Limits, type Plan } from '#shared/kernel/plan.ts';
import type { KeyLimit } from './record.ts';

/** What may be granted on which plan (specification, section Scopes). */
const LOWEST_PLAN: Readonly<Record<Scope, Plan>> = {
  'inference:read': 'audit',
  'inference:write': 'audit',
  'service:read': 'audit',
  'service:lineage': 'audit_plus',
  'service:export': 'audit_plus',
  'admin:keys': 'audit_plus',
};

/** A name is shown in lists; 100 characters fit a line. */
const KEY_NAME_LENGTH_MAX = 100;
/** Ten years: rotation is recommended yearly, and a date further away is a slip of the keyboard. */
export const EXPIRY_MAX_MS = 3_653 * 24 * 60 * 60 * 1_000;
/** Keys that one organisation may have active at once; its limits are shared over them, so more gain nothing. */
export const ACTIVE_KEYS_MAX = 10_000;

/** What someone asks for when a key is issued or rotated; what is absent is defaulted or inherited. */
export interface KeyRequest {
  name: string;
  scopes?: readonly string[];
  /** Epoch milliseconds; null for never. */
  expiresAt?: number | null;
  limit?: KeyLimit | null;
}

/** A request after the rules: everything decided. */
export interface KeyGrant {
  name: string;
  scopes: readonly Scope[];
  expiresAt: number | null;
  limit: KeyLimit | null;
}

/** Who grants: a key with `admin:keys` may not make another administrator, people and operators may. */
type Grantor = 'key' | 'person';

export interface GrantTerms {
  plan: Plan;
  /** The organisation's own limits: no key may have more. */
  limits: Limits;
  grantor: Grantor;
  /** Epoch milliseconds. */
  now: number;
}

/** Applies the rules of plan, scopes, expiry and limit. Throws `invalid_name|scope|expiry|rate_limit`. */
export function grantKey(request: KeyRequest, terms: GrantTerms): KeyGrant {
  return {
    name: checkName(request.name),
    scopes: checkScopes(request.scopes ?? DEFAULT_SCOPES, terms),
    expiresAt: checkExpiry(request.expiresAt ?? null, terms),
    limit: checkLimit(request.limit ?? null, terms.limits),
  };
}

/** The given scopes, known, allowed, without repetition and in the order of the specification. */
export function checkScopes(
  scopes: readonly string[],
  terms: Pick<GrantTerms, 'plan' | 'grantor'>,
): readonly Scope[] {
  if (scopes.length === 0) throw invalidScope('A key needs at least one scope.');
  for (const scope of scopes) {
    if (!isScope(scope)) throw invalidScope('There is no such scope.');
    if (!planCovers(terms.plan, LOWEST_PLAN[scope])) {
      throw invalidScope(`The scope ${scope} is not part of the plan ${terms.plan}.`);
    }
    if (scope === 'admin:keys' && terms.grantor === 'key') {
      throw invalidScope(
        'A key cannot grant admin:keys; an administrator of the organisation can.',
      );
    }
  }
  return SCOPES.filter((scope) => scopes.includes(scope));
}

/** Scopes that still count on a plan: a downgrade takes the others away without touching the key. */
export function scopesOnPlan(scopes: readonly Scope[], plan: Plan): readonly Scope[] {
  return scopes.filter((scope) => planCovers(plan, LOWEST_PLAN[scope]));
}

function isScope(text: string): text is Scope {
  return (SCOPES as readonly string[]).includes(text);
}

function checkName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === '' || trimmed.length > KEY_NAME_LENGTH_MAX || /\p{Cc}/u.test(trimmed)) {
    throw invalidParam(
      'name',
      `A key needs a name of 1 to ${KEY_NAME_LENGTH_MAX} printable characters.`,
    );
  }
  return trimmed;
}

function checkExpiry(expiresAt: number | null, terms: GrantTerms): number | null {
  if (expiresAt === null) return null;
  if (!planCovers(terms.plan, 'audit_plus')) {
    throw invalidExpiry('Keys of the plan audit do not expire.');
  }
  if (!Number.isSafeInteger(expiresAt) || expiresAt <= terms.now) {
    throw invalidExpiry('The expiry must be a time in the future.');
  }
  if (expiresAt - terms.now > EXPIRY_MAX_MS) {
    throw invalidExpiry('The expiry must be within ten years.');
  }
  return expiresAt;
}

function checkLimit(limit: KeyLimit | null, organisation: Limits): KeyLimit | null {
  if (limit === null) return null;
  const { requestsPerSecond, burst } = limit;
  const whole = Number.isSafeInteger(requestsPerSecond) && Number.isSafeInteger(burst);
  if (!whole || requestsPerSecond < 1 || burst < 1) {
    throw invalidParam(
      'rate_limit',
      'The limit and its burst must be whole numbers of at least 1.',
    );
  }
  if (requestsPerSecond > organisation.requestsPerSecond || burst > organisation.burst) {
    throw invalidParam('rate_limit', 'A key cannot have a higher limit than its organisation.');
  }
  return { requestsPerSecond, burst };
}

function invalidScope(message: string): Fault {
  return new Fault('invalid_scope', { message });
}

function invalidExpiry(message: string): Fault {
  return new Fault('invalid_expiry', { message });
}
