import { hkdfSync } from 'node:crypto';
import { SealedText } from '#shared/kernel/sealed-text.ts';
import type { Surroundings } from '#shared/kernel/surroundings.ts';

export type SecretSeals = ReturnType<typeof createSecretSeals>;

/** Seals signing secrets with WEBHOOKS_SECRET, each for its endpoint: what is moved to another one does not open there. */
export function createSecretSeals(
  secret: string,
  { randomBytes }: Pick<Surroundings, 'randomBytes'>,
) {
  const key = hkdfSync('sha256', secret, '', 'docket webhooks', 32);
  const sealed = new SealedText(new Uint8Array(key), randomBytes);
  const subject = (endpointId: string): string => `signing secret of ${endpointId}`;
  return {
    seal: (endpointId: string, text: string): string => sealed.seal(subject(endpointId), text),
    /** Null for what was sealed with another WEBHOOKS_SECRET. */
    open: (endpointId: string, text: string): string | null =>
      sealed.open(subject(endpointId), text),
  };
}
