import type { ScreenCode } from './pack.ts';

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
