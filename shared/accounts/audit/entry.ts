/** The one who acted: a dashboard user, an API key, an operator, or the service itself. */
export interface Actor {
  kind: 'user' | 'key' | 'operator' | 'system';
  /** A person's id, `os:<user>@<host>` where no person has signed in at the command line, a key's id, or the name of a job. */
  id: string;
  /** Of a person, for letters; the log keeps the id. */
  name?: string;
  /** The source address, where there is one; at the command line `os:<user>@<host>`. */
  address?: string;
  /** Why, for acts that are not given a reason of their own. */
  reason?: string;
  /** The request that reached support, where the act answers one; among the details of the entry. */
  ticket?: string;
  /**
   * What a person on a page may act by: their role in the organisation, or one of these in the work for the service. It is
   * looked at again where the act is written down.
   */
  allowedBy?: { member: string } | { staff: readonly string[] };
}

/** How the id of those begins who act at a command line where no person has signed in: `os:<user>@<host>`. */
export const MACHINE_USER = 'os:';

/** Why a person who works for the service does not act on an organisation of their own. */
export const OWN_ORGANISATION =
  'You are a member of this organisation: someone else has to act on it.';

/** Thrown in the place of an act whose person has lost meanwhile what allowed it; nothing of it is done. */
export class AllowanceLost extends Error {
  /** Whether they have no part in it any more; another one otherwise. */
  readonly isGone: boolean;

  constructor(isGone: boolean) {
    super('The one who acts has lost the role that allowed the act.');
    this.name = 'AllowanceLost';
    this.isGone = isGone;
  }
}

export const ACTOR_KINDS = ['user', 'key', 'operator', 'system'] as const;

/** Every act that is written down: noun and past participle. Filters by another are a mistake. */
export const AUDIT_ACTIONS = [
  'account.created',
  'account.declared',
  'account.declaration_corrected',
  'account.screened',
  'account.referred',
  'account.approved',
  'account.rejected',
  'account.contracted',
  'account.activated',
  'account.suspended',
  'account.reinstated',
  'account.closing_asked',
  'account.closed',
  'account.plan_set',
  'account.limits_set',
  'account.contacts_set',
  'account.allowed_set',
  'account.keep_responses_set',
  'account.playground_set',
  'account.legal_hold_set',
  'account.tags_set',
  'account.renamed',
  'account.identified',
  'budget.made',
  'budget.changed',
  'budget.ended',
  'webhook.made',
  'webhook.changed',
  'webhook.rotated',
  'webhook.resumed',
  'webhook.ended',
  'webhook.paused',
  'review.approved_once',
  'review.decided',
  'key.issued',
  'key.rotated',
  'key.renamed',
  'key.revoked',
  'key.leaked',
  'key.restored',
  'key.expired',
  'key.expiry_ended',
  'key.purged',
  'member.added',
  'member.invited',
  'member.linked',
  'member.removed',
  'member.role_changed',
  'invitation.declined',
  'invitation.withdrawn',
  'staff.added',
  'staff.removed',
  'command_line.allowed',
  'command_line.ended',
  'operator_key.issued',
  'operator_key.revoked',
  'passkey.added',
  'passkey.removed',
  'second_factor.required',
  'second_factor.reset',
  'session.ended',
  'single_sign_on.changed',
  'single_sign_on.required',
  'single_sign_on.removed',
  'sign_in_domain.claimed',
  'sign_in_domain.confirmed',
  'sign_in_domain.removed',
  'export.requested',
  'export.ready',
  'export.failed',
  'export.downloaded',
  'export.cancelled',
  'export.deleted',
  'export.expired',
  'receipt.recalculation_requested',
  'receipts.recalculation_requested',
  'receipt.requeued',
  'ledger.resumed',
  'ledger.loss_declared',
  'region.set',
  'incident.opened',
  'incident.told',
  'incident.ended',
  'sanctions.imported',
  'factors.imported',
  'letter.tried_again',
  'signing_key.published',
  'signing_key.activated',
  'signing_key.revoked',
  'signing_key.compromised',
  'lane_key.made',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

export function isAuditAction(text: string): text is AuditAction {
  return (AUDIT_ACTIONS as readonly string[]).includes(text);
}

/** One act, as the code that performs it describes it. Place in the chain, id and hashes are added by the log. */
export interface AuditEvent {
  /** Whose log it belongs to: an organisation's id, or `SERVICE_CHAIN`. */
  orgId: string;
  action: AuditAction;
  actor: Actor;
  /** The id of the thing acted upon: a key's, an export's id; absent when it is the account itself. */
  subject?: string;
  reason?: string;
  details?: AuditDetails;
}

/** Small facts of an act. Never a secret, never the hash of a key. */
export type AuditDetails = Readonly<
  Record<string, string | number | boolean | null | readonly string[]>
>;

/** The chain of acts that concern the whole service (a sanctions list imported, a region set) and no one organisation. */
export const SERVICE_CHAIN = 'service';

/** An entry as the log keeps it. */
export interface AuditEntry {
  id: string;
  orgId: string;
  /** Position in the organisation's chain, from 0, without gaps. */
  sequence: number;
  /** Epoch milliseconds. */
  at: number;
  action: string;
  actorKind: Actor['kind'];
  actorId: string;
  address: string | null;
  subject: string | null;
  reason: string | null;
  /** JSON text exactly as it was hashed. */
  details: string;
  /** Hex SHA-256 of the entry before, 64 zeros for the first. */
  previousHash: string;
  /** Hex SHA-256 of this entry, `previousHash` included. */
  hash: string;
}

/** Longest reason that is kept; a longer one is refused at the boundary. */
export const REASON_LENGTH_MAX = 500;
/** Longest name of a support request. */
export const TICKET_LENGTH_MAX = 100;
