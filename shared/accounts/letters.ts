import { inert, named, reasonOf } from '#shared/kernel/plain-text.ts';
import { dateTime, HOUR_MS } from '#shared/kernel/time.ts';
import type { Account } from './account.ts';

/** An e-mail in plain text. */
export interface Letter {
  to: string;
  subject: string;
  body: string;
}

/** An e-mail without its addressee. */
export type Draft = Omit<Letter, 'to'>;

/**
 * Hands e-mails to what delivers them: a mail server, or a directory. Resolves when it has taken the e-mail; throws
 * `LetterRefused` when it is there and does not take this one.
 */
export interface Mailer {
  send(letter: Letter): Promise<void>;
  close(): Promise<void>;
}

/** The mail server is there and does not take this e-mail: its address, its size, its text. It may take others. */
export class LetterRefused extends Error {
  override readonly name = 'LetterRefused';
}

const FAILURE_LENGTH_MAX = 500;
/** What follows the host of an address: in one of ours it may open a door. */
const PATHS = /\b(https?:\/\/[^\s/?#]+)[/?#]\S*/gi;

/** Why an e-mail could not be sent, for operators: on one line, with what a mail server quotes of the e-mail cut out. */
export function describeFailure(error: unknown): string {
  const said = reasonOf(error).replaceAll(PATHS, '$1/…');
  return said.length > FAILURE_LENGTH_MAX ? `${said.slice(0, FAILURE_LENGTH_MAX - 1)}…` : said;
}

/**
 * How long it is kept that an e-mail was sent or given up. Longer than anything that names its e-mails (`once`) goes on
 * asking to write them: a key is warned of for two weeks.
 */
export const LETTER_DAYS = 30;

/** Doubling waits of a day and more together: a mail server that is away longer has lost other letters too. */
const ATTEMPTS_MAX = 17;
const BACKOFF_MIN_MS = 30_000;
const BACKOFF_MAX_MS = 3 * HOUR_MS;

/** How long an e-mail waits after its `attempts`th failure, in milliseconds; null when it is given up. */
export function waitAfterFailure(attempts: number): number | null {
  if (attempts >= ATTEMPTS_MAX) return null;
  return Math.min(BACKOFF_MIN_MS * 2 ** (attempts - 1), BACKOFF_MAX_MS);
}

const SIGNATURE = 'You get this e-mail because you are a contact or an owner of this organisation.';
/** Of a change of contacts, which those from before are told as well. */
const SIGNATURE_OF_BOTH =
  'You get this e-mail because you are a contact or an owner of this organisation, or were a contact until now.';

/** Specification: how soon a key is revoked that is reported as leaked. */
export const RESPONSE_TARGETS = 'within minutes in business hours, within 4 hours otherwise';

/** What stands at the end of every e-mail: whom to write to, and how soon a leaked key is revoked. */
export function supportLines(supportEmail: string): string {
  return `Support: ${supportEmail}. If a key may have leaked, write there at once: it is revoked ${RESPONSE_TARGETS}.`;
}

/** Where members find what an e-mail is about. Contacts need not be members, and are not asked to sign in. */
export function membersLine(publicUrl: string, orgId: string): string {
  return `Members of the organisation find it here: ${new URL(publicUrl).origin}/dashboard/${orgId}`;
}

/** The one e-mail that an address gets when others have named it as a contact. The link that confirms it stands below. */
export function draftOfContactAsked({ name }: Pick<Account, 'name'>): Draft {
  return {
    // Nothing in it is of those who named the address: it may be a stranger's.
    subject: 'May Docket write to this address?',
    body: [
      `${named(name)} has an account with Docket and gave this address for e-mails about its account or its API keys.`,
      'If you do not know them, ignore this e-mail: there will be no other. To get those e-mails, confirm the address here:',
    ].join('\n\n'),
  };
}

/** The e-mail to the contacts about a step of their account; null where none is needed. */
export function draftOfAccountAct(account: Pick<Account, 'name'>, action: string): Draft | null {
  const name = named(account.name);
  switch (action) {
    case 'account.created':
      return draft(`${name}: an account was opened with Docket`, [
        `${name} has opened an account with Docket and named you as one of its contacts, so you will get e-mails about it. You need not do anything.`,
        'Its owners make the use-of-service declaration; then the application is screened and the contract signed.',
      ]);
    case 'account.referred':
      return draft(`${name}: your application is being reviewed`, [
        'The automated screening of your application raised a question, and a person is reviewing it.',
        'This is typically done the same day, sometimes later. You need not do anything.',
      ]);
    case 'account.approved':
      return draft(`${name}: your application is approved`, [
        'The screening of your application is complete. The next step is to sign the contract.',
      ]);
    case 'account.rejected':
      return draft(`${name}: your application is not approved`, [
        'After review we cannot offer you the service. Please write to us if you believe this is wrong.',
      ]);
    case 'account.activated':
      return draft(`${name}: your account is active`, [
        'API keys can now be issued. A key is shown once, when it is issued: store it in your own secrets store at once.',
      ]);
    case 'account.suspended':
      return draft(`${name}: your account is suspended`, [
        'Your account is suspended pending review. Requests with your keys are refused with customer_suspended until the review is over.',
        'Please write to us if you believe this is wrong.',
      ]);
    case 'account.reinstated':
      return draft(`${name}: your account is active again`, [
        'The review is over. Your keys work as before.',
      ]);
    case 'account.closed':
      return draft(`${name}: your account is closed`, [
        'Your account is closed and its keys are revoked. Receipts that were issued to you stay verifiable.',
        'The dashboard says whether, and until when, its owners can still read receipts, packs and the audit log.',
      ]);
    case 'account.renamed':
      return draft(`${name}: the name of your organisation was changed`, [
        `Your organisation is now called ${name} in Docket, including in the reports of evidence packs. The name is being screened.`,
        UNEXPECTED,
      ]);
    case 'account.contacts_set':
      return draft(
        `${name}: the contacts of your organisation were changed`,
        [
          'Its settings show who gets e-mails about the account and about keys, once they have confirmed their addresses.',
          UNEXPECTED,
        ],
        SIGNATURE_OF_BOTH,
      );
    default:
      return null;
  }
}

const UNEXPECTED =
  'Your organisation’s audit log says who did it. If you did not expect this, write to us at once.';

const KEY_ACTS: Readonly<Record<string, string>> = {
  'key.issued': 'was issued',
  'key.rotated': 'was issued as the successor of another key',
  'key.revoked': 'was revoked',
  'key.leaked': 'was reported as leaked',
  'key.restored': 'was restored and works again',
  'key.expired': 'has expired',
};

interface NamedKey {
  name: string;
  /** Its first and last characters. */
  display: string;
}

/** A key, as far as an e-mail tells of it. */
export interface KeyOfLetter extends NamedKey {
  /** Others have it, or may have. */
  leaked: boolean;
  /** Until when its revocation can be undone, in epoch milliseconds; null where it cannot. */
  restorableUntil: number | null;
}

/** Whether an e-mail says that a key leaked: when it is marked so, and not when it expires afterwards. */
export function tellsOfLeak({ leaked }: Pick<KeyOfLetter, 'leaked'>, action: string): boolean {
  return leaked && action !== 'key.expired';
}

/** The e-mail to the technical contact about a key; null where none is needed. It never holds more than its shown characters. */
export function draftOfKeyAct(
  key: KeyOfLetter,
  action: string,
  { actor, reason }: { actor: string; reason: string | undefined },
): Draft | null {
  const event = KEY_ACTS[action];
  if (event === undefined) return null;
  const shown = `The API key ${named(key.name)} (${key.display})`;
  const by = `By: ${named(actor)}. If you did not expect this, write to us at once.`;
  if (tellsOfLeak(key, action)) {
    return draft(`API key ${named(key.name)} leaked`, [
      `${shown} ${event}: others have it, or may have. Requests with it are refused.`,
      `Where it was found: ${reason === undefined ? 'not stated' : quoted(reason)}.`,
      'What to do: issue another key and deploy it, remove this one from where it was found, and check this key’s receipts for requests that were not yours.',
      restorable(key, 'Only support can restore it, while the organisation is active'),
      by,
    ]);
  }
  return draft(`API key ${named(key.name)} ${event}`, [
    `${shown} ${event}.`,
    ...(reason === undefined ? [] : [`Reason: ${quoted(reason)}.`]),
    restorable(key, 'An owner or admin can restore it, while the organisation is active'),
    by,
  ]);
}

/** As long as a reason may be. */
const REASON_SHOWN_MAX = 500;

/** Words of others, without a key that was pasted into them. */
function quoted(words: string): string {
  return inert(words.replaceAll(/\b(dkt_\w{4})\w{9,}/g, '$1…'), REASON_SHOWN_MAX);
}

/** Who can undo a revocation, and until when; nothing where it cannot be undone. */
function restorable({ restorableUntil }: KeyOfLetter, who: string): string {
  if (restorableUntil === null) return '';
  return `${who}, until ${dateTime(restorableUntil)}; its record is deleted 90 days after the revocation.`;
}

/** A warning that a key is about to expire. */
export function draftOfExpiry(key: NamedKey, expiresAt: number): Draft {
  return draft(`API key ${named(key.name)} expires soon`, [
    `The API key ${named(key.name)} (${key.display}) expires on ${dateTime(expiresAt)}.`,
    'Rotate it before then: issue a successor, deploy it, check that traffic uses it, and revoke the old one.',
  ]);
}

/** The e-mail to support by which an owner asks for an account to be closed. */
export function draftOfClosingAsked(
  { id, name }: Pick<Account, 'id' | 'name'>,
  { who, reason, link }: { who: string; reason: string; link: string },
): Draft {
  return {
    subject: `${named(name)} asks to be closed`,
    body: `${named(who)}, an owner of ${named(name)} (${id}), asks for its account to be closed.\n\nReason: ${quoted(reason)}\n\n${link}`,
  };
}

/** Keys listed in one e-mail; an organisation may have thousands. */
const KEYS_LISTED_MAX = 50;

/** The e-mail about keys that were to expire and, on the plan audit, no longer do. */
export function draftOfEndedExpiries(organisation: string, keys: readonly NamedKey[]): Draft {
  const listed = keys
    .slice(0, KEYS_LISTED_MAX)
    .map(({ name, display }) => `- ${named(name)} (${display})`);
  const more = keys.length - listed.length;
  return draft(`${named(organisation)}: API keys no longer expire`, [
    'Keys on the Audit plan do not expire. With the change of plan, these keys no longer expire; they work until they are revoked:',
    [...listed, ...(more > 0 ? [`and ${more} more`] : [])].join('\n'),
    'Revoke those that you do not need.',
  ]);
}

/** An e-mail of these paragraphs, those that are empty left out, which says why its reader gets it. */
export function draft(
  subject: string,
  paragraphs: readonly string[],
  signature = SIGNATURE,
): Draft {
  const body = [...paragraphs, signature].filter((text) => text !== '').join('\n\n');
  return { subject, body };
}
