import { createHmac } from 'node:crypto';

/** How a signing secret begins, by Standard Webhooks; base64 of 24 to 64 bytes follows. */
const SECRET_PREFIX = 'whsec_';
export const SECRET_BYTES = 32;

/** @param random `SECRET_BYTES` bytes from a cryptographic source */
export function signingSecret(random: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(random).toString('base64');
}

/** A message at one attempt; `timestamp` is in whole seconds since 1970. */
export interface SentMessage {
  id: string;
  timestamp: number;
  body: string;
}

/** `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64, for each secret, with a space between two. */
function signatureOf(secrets: readonly string[], message: SentMessage): string {
  const { id, timestamp, body } = message;
  const signed = `${id}.${timestamp}.${body}`;
  return secrets
    .map((secret) => Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64'))
    .map((key) => `v1,${createHmac('sha256', key).update(signed).digest('base64')}`)
    .join(' ');
}

/** The headers of a message at one attempt. */
export function headersOf(
  secrets: readonly string[],
  message: SentMessage,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'docket-webhooks',
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': signatureOf(secrets, message),
  };
}
