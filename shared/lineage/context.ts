/** SHA-256 (hex) of the JSON-LD context that lineage documents cite. */
const CURRENT_DIGEST = '1e1e443148ef7d959c004a379a307764d62b785375e7c6f2cdaae4ceda4f81c3';

/** Every context that a lineage document ever cited. One is added, none is changed. */
export const LINEAGE_CONTEXT_DIGESTS: readonly string[] = [CURRENT_DIGEST];

/** `docket-lineage-<SHA-256>.jsonld` */
export function lineageContextName(digest: string = CURRENT_DIGEST): string {
  return `docket-lineage-${digest}.jsonld`;
}
