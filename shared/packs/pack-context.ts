import { didWeb } from '#shared/receipts/issuer.ts';
import { VC_CONTEXT_URL } from '#shared/receipts/context.ts';
import { PACK_FORMAT, type PackFormat, PACK_FORMATS } from './layout.ts';

/** SHA-256 (hex) of the context that seals of each format cite. */
const DIGESTS: Readonly<Record<PackFormat, string>> = {
  'docket-evidence-pack/1': '2eb3871f68c2ba82ff6a99d0c3dba20bb7f9b5cb0dc2410cada5d4aafb29de39',
};

/** SHA-256 (hex) by name, of the contexts of seals. */
export const PACK_CONTEXTS: ReadonlyMap<string, string> = new Map(
  PACK_FORMATS.map((format) => [packContextName(format), DIGESTS[format]]),
);

/** `docket-evidence-pack-<SHA-256>.jsonld` */
export function packContextName(format: PackFormat = PACK_FORMAT): string {
  return `docket-evidence-pack-${DIGESTS[format]}.jsonld`;
}

/** The SHA-256 (hex) that a seal's own context promises, or undefined when seals have no such context. */
export function knownPackContextDigest(url: string): string | undefined {
  const name = /\/contexts\/([^/]+)$/.exec(url)?.[1];
  return name === undefined ? undefined : PACK_CONTEXTS.get(name);
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
