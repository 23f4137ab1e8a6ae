/** SHA-256 (hex) of the JSON-LD context that lineage documents cite. */
export const LINEAGE_CONTEXT_DIGEST =
  'b860604b233bf440615258b80b735841fe53054d72f6009225c44bfceeeffe99';

/** `docket-lineage-<SHA-256>.jsonld` */
export const LINEAGE_CONTEXT_NAME = `docket-lineage-${LINEAGE_CONTEXT_DIGEST}.jsonld`;
