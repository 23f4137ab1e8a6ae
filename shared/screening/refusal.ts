import { createHash } from 'node:crypto';
import type { ScreenCode } from './pack.ts';
import type { Verdict } from './screen.ts';

/** What is kept of a blocked request: enough to answer an appeal, never its text. */
export interface BlockRecord {
  rule: string;
  policyVersion: string;
  /** base64url of SHA-256(salt bytes || raw request body), as `requestDigest` of a receipt. */
  saltedDigest: string;
}

/** The record of one block. Whoever holds the salt and the body can prove that they belong to it; nobody else learns anything. */
export function blockRecord(verdict: Verdict, salt: Uint8Array, rawBody: Uint8Array): BlockRecord {
  const saltedDigest = createHash('sha256').update(salt).update(rawBody).digest('base64url');
  return { rule: verdict.rule, policyVersion: verdict.policyVersion, saltedDigest };
}

const REASONS: Readonly<Record<ScreenCode, string>> = {
  dual_use_screen_block: 'This request was blocked by dual-use screening.',
  acceptable_use_violation: 'This request matches an acceptable-use violation pattern.',
};

/**
 * The message a caller gets. It names whom to ask and the reference to give (the request id), and neither the rule
 * nor the words that were found, which would teach how to get around them.
 */
export function refusalMessage(refusal: {
  code: ScreenCode;
  supportEmail: string;
  requestId: string;
}): string {
  const { code, supportEmail, requestId } = refusal;
  return `${REASONS[code]} If you believe this is wrong, write to ${supportEmail} and give the reference ${requestId}.`;
}
