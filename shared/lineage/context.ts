/**
 * SHA-256 (hex) of the JSON-LD context of each form of lineage documents; new documents cite the last. In the second each
 * number that a step reads leads to what gave it, and a measured receipt says over which interval energy was metered.
 */
const DIGESTS = {
  1: '1e1e443148ef7d959c004a379a307764d62b785375e7c6f2cdaae4ceda4f81c3',
  2: 'b860604b233bf440615258b80b735841fe53054d72f6009225c44bfceeeffe99',
} as const;
export type LineageForm = keyof typeof DIGESTS;
const FORMS: readonly LineageForm[] = [1, 2];
export const CURRENT_FORM: LineageForm = 2;

/** Every context that a lineage document ever cited. One is added, none is changed. */
export const LINEAGE_CONTEXT_DIGESTS: readonly string[] = Object.values(DIGESTS);

/** `docket-lineage-<SHA-256>.jsonld` */
export function lineageContextName(digest: string = DIGESTS[CURRENT_FORM]): string {
  return `docket-lineage-${digest}.jsonld`;
}

/** The name of the context of a form. */
export function contextNameOfForm(form: LineageForm): string {
  return lineageContextName(DIGESTS[form]);
}

/** The form of a document that cites this context; undefined for one that this release does not know. */
export function formOfContext(address: string): LineageForm | undefined {
  return FORMS.find((form) => address.endsWith(`/contexts/${contextNameOfForm(form)}`));
}
