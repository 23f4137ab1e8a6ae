import { didWeb } from '#shared/receipts/issuer.ts';
import { VC_CONTEXT_URL } from '#shared/receipts/context.ts';

/** SHA-256 (hex) of the context that seals of pack format 1 cite. */
const FORMAT_1_DIGEST = '92f7c2fa4d590cd7d09fe725cabff9ae0e823d25194407698555cff6e226a894';

/** SHA-256 (hex) of the context that new seals cite, those of pack format 2. */
const CURRENT_DIGEST = '98f61cd5e4673fea8bdf8824f74dce96866eee5c7d7fa71574f343ddc2b616c4';

/** Every context that a seal was ever issued with. One is added, none is changed. */
export const PACK_CONTEXT_DIGESTS: readonly string[] = [FORMAT_1_DIGEST, CURRENT_DIGEST];

/** `docket-evidence-pack-<SHA-256>.jsonld` */
export function packContextName(digest: string = CURRENT_DIGEST): string {
  return `docket-evidence-pack-${digest}.jsonld`;
}

/** The SHA-256 (hex) that a seal's own context promises, or undefined when seals have no such context. */
export function knownPackContextDigest(url: string): string | undefined {
  return PACK_CONTEXT_DIGESTS.find((digest) =>
    url.endsWith(`/contexts/${packContextName(digest)}`),
  );
}

/** Addresses that a seal derives from the public address of the service. */
export interface PackIssuer {
  did: string;
  contexts: readonly [string, string];
  packs: string;
}

/** @param publicUrl without a trailing slash, e.g. `https://gateway.example` */
export function packIssuer(publicUrl: string): PackIssuer {
  return {
    did: didWeb(publicUrl),
    contexts: [VC_CONTEXT_URL, `${publicUrl}/contexts/${packContextName()}`],
    packs: `${publicUrl}/evidence-packs/`,
  };
}

/** Is it the context of seals of pack format 1? */
export function isContextOfFirstFormat(url: string): boolean {
  return knownPackContextDigest(url) === FORMAT_1_DIGEST;
}
