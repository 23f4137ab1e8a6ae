import type { AccountState } from '#shared/accounts/account.ts';
import type { Actor } from '#shared/accounts/audit/entry.ts';
import { Fault, invalidParam } from '#shared/kernel/errors.ts';
import { isPrintable, printable } from '#shared/kernel/plain-text.ts';
import { planCovers, type Limits, type Plan, type Rate } from '#shared/kernel/plan.ts';
import { DAY_MS } from '#shared/kernel/time.ts';
import { DEFAULT_SCOPES, isScope, SCOPES, type Scope } from './credential.ts';
import { requireRotatable } from './lifecycle.ts';
import type { KeyRecord } from './record.ts';

/** The scopes that each plan may grant (specification, section Scopes). */
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
export const EXPIRY_MAX_MS = 3_653 * DAY_MS;
/** Keys that one organisation may have active at once; its limits are shared over them, so more gain nothing. */
export const ACTIVE_KEYS_MAX = 10_000;

/** Burst is the size of the bucket: as in the plans, four seconds' worth of requests may come at once. */
const BURST_SECONDS = 4;

/** A request to issue or rotate a key; fields that are absent are defaulted or inherited. */
export interface KeyRequest {
  name: string;
  scopes?: readonly string[];
  /** Epoch milliseconds; null for never. */
  expiresAt?: number | null;
  /** Null for none of its own. A burst that is not named is `BURST_SECONDS` of the rate. */
  limit?: { requestsPerSecond: number; burst?: number } | null;
}

/** A request after the rules: everything decided. */
export interface KeyGrant {
  name: string;
  scopes: readonly Scope[];
  expiresAt: number | null;
  limit: Rate | null;
}

/** The kind of granter: a key with `admin:keys` may not make another administrator, people and operators may. */
type Grantor = 'key' | 'person';

export interface GrantTerms {
  plan: Plan;
  /** The organisation's own limits: no key may have more. */
  limits: Limits;
  grantor: Grantor;
  /** Epoch milliseconds. */
  now: number;
}

/** The account that a key belongs to, as far as it decides what the key may be granted. */
export interface Grantee {
  state: AccountState;
  plan: Plan;
  limits: Limits;
  activeKeys: number;
}

/**
 * The terms on which an account is given one more active key. Throws `customer_suspended`,
 * `invalid_account_state` or `invalid_key` when it is given none.
 */
export function grantTerms(
  { state, plan, limits, activeKeys }: Grantee,
  actor: Pick<Actor, 'kind'>,
  now: number,
): GrantTerms {
  if (state === 'suspended') {
    const message = 'The account is suspended pending review, and is given no keys meanwhile.';
    throw new Fault('customer_suspended', { message });
  }
  if (state !== 'active') {
    throw new Fault('invalid_account_state', {
      message: `Keys need an active account; this one is ${state}.`,
    });
  }
  if (activeKeys >= ACTIVE_KEYS_MAX) {
    throw invalidParam('key', `An organisation can have ${ACTIVE_KEYS_MAX} active keys at most.`);
  }
  return { plan, limits, grantor: actor.kind === 'key' ? 'key' : 'person', now };
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

/**
 * What a rotation successor is granted: everything not named is inherited from the predecessor. Scopes and
 * limits that the organisation has lost since are not inherited. The expiry is never inherited: a successor
 * with its predecessor's date would die with it. Throws as `grantKey`, and `key_state_conflict`.
 */
export function grantSuccessor(
  predecessor: KeyRecord,
  request: Partial<KeyRequest>,
  terms: GrantTerms,
): KeyGrant {
  requireRotatable(predecessor, terms.now);
  const { limit } = predecessor;
  return grantKey(
    {
      name: request.name ?? predecessor.name,
      scopes: request.scopes ?? scopesOnPlan(predecessor.scopes, terms.plan),
      expiresAt: request.expiresAt ?? null,
      limit:
        limit === null
          ? null
          : {
              requestsPerSecond: Math.min(limit.requestsPerSecond, terms.limits.requestsPerSecond),
              burst: Math.min(limit.burst, terms.limits.burst),
            },
    },
    terms,
  );
}

/** What the playground does with models. It reads receipts, usage and the rest as its person. */
const PLAYGROUND_SCOPES: readonly Scope[] = ['inference:read', 'inference:write'];

/** A person tries one thing at a time, in two models: who floods from a page leaves the organisation's limits to its programs. */
const PLAYGROUND_RATE: Rate = { requestsPerSecond: 2, burst: 8 };

/** The grant of the key by which the playground of a person counts. */
export function grantPlayground(
  { name }: { name: string },
  { limits }: Pick<GrantTerms, 'limits'>,
): KeyGrant {
  return {
    name: printable(`Playground of ${name}`.slice(0, KEY_NAME_LENGTH_MAX)),
    scopes: PLAYGROUND_SCOPES,
    expiresAt: null,
    limit: {
      requestsPerSecond: Math.min(PLAYGROUND_RATE.requestsPerSecond, limits.requestsPerSecond),
      burst: Math.min(PLAYGROUND_RATE.burst, limits.burst),
    },
  };
}

/** An organisation has no playground. */
export function noPlayground(): Fault {
  return new Fault('key_state_conflict', {
    message: 'The playground of the organisation is switched off.',
  });
}

/** What is done with keys is not done with one of a playground, which begins and ends with it. */
export function ofPlayground(): Fault {
  return new Fault('key_state_conflict', {
    message:
      'This key is that of a playground and has no secret. It ends with the part of its person, or when an owner switches the playground off.',
  });
}

/** A key with `admin:keys` revokes other keys, never itself: a slip must not take an organisation's last administrator. */
export function checkRevoker(keyId: string, actor: Pick<Actor, 'kind' | 'id'>): void {
  if (actor.kind === 'key' && actor.id === keyId) {
    throw new Fault('invalid_key', { message: 'A key cannot revoke itself.' });
  }
}

/**
 * A key that leaked is known to others, and one of those may hold a key that restores: only an operator brings it back, and
 * says why. Throws `key_state_conflict` or `invalid_reason`.
 */
export function checkLeakRestorer(
  { leaked }: Pick<KeyRecord, 'leaked'>,
  { kind }: Pick<Actor, 'kind'>,
  reason: string | undefined,
): void {
  if (!leaked) return;
  if (kind !== 'operator') {
    throw new Fault('key_state_conflict', {
      message: 'The key was revoked as leaked: issue a new one, or ask support to restore it.',
    });
  }
  if ((reason ?? '').trim() === '') {
    throw new Fault('invalid_reason', { message: 'The key leaked: say why it is restored.' });
  }
}

/** Bringing an administrator back is granting one: the same rule holds. Throws `invalid_scope`. */
export function checkRestorable({ scopes }: Pick<KeyRecord, 'scopes'>, terms: GrantTerms): void {
  if (scopes.includes('admin:keys')) checkScopes(['admin:keys'], terms);
}

/** The given scopes, known, allowed, without repetition and in the order of the specification. */
function checkScopes(
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
export function scopesOnPlan(scopes: readonly string[], plan: Plan): readonly Scope[] {
  return scopes.filter(isScope).filter((scope) => planCovers(plan, LOWEST_PLAN[scope]));
}

/** The name of a key without the space around it. @throws Fault `invalid_name` for one that a page could not show */
export function checkName(name: string): string {
  const trimmed = name.trim();
  if (!isPrintable(trimmed, KEY_NAME_LENGTH_MAX)) {
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

function checkLimit(
  limit: NonNullable<KeyRequest['limit']> | null,
  organisation: Limits,
): Rate | null {
  if (limit === null) return null;
  const { requestsPerSecond } = limit;
  const burst = limit.burst ?? Math.min(requestsPerSecond * BURST_SECONDS, organisation.burst);
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
