import type { ReceiptDocument } from './document.ts';

/** A public address as `receiptIssuer` writes it: host and port, and the path. */
const ROOT = /^https?:\/\/((?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[1-9][0-9]{0,4})?)((?:\/[^/]+)*)$/;
const ULID = '[0-7][0-9A-HJKMNP-TV-Z]{25}';
/** What follows the public address, by the fields that have it. */
const KINDS = {
  id: `receipts/rcpt_${ULID}`,
  'credentialSubject.id': `requests/req_${ULID}`,
  'credentialSubject.organisation': `organisations/org_${ULID}`,
  'credentialSubject.previous': `receipts/rcpt_${ULID}`,
  'measurement.id': `measurements/msr_${ULID}`,
  'measurement.derivation': 'derivations/uEi[A-Za-z0-9_-]{44}',
  'measurement.qualifiedAssociation.hadPlan': 'methodologies/[A-Za-z0-9._-]+/[A-Za-z0-9._-]+',
  'wasRevisionOf.id': `receipts/rcpt_${ULID}`,
} as const satisfies Record<string, string>;
const FORMS = Object.entries(KINDS).map(
  ([field, kind]) => [field, new RegExp(`^${kind}$`)] as const,
);

/**
 * The first field whose address does not follow from the public address that stands in the context; undefined where all do.
 * Inferences are told apart by the whole address of the request, so it has one spelling.
 */
export function misaddressed(document: ReceiptDocument): string | undefined {
  const { '@context': contexts, credentialSubject: subject, measurement } = document;
  const own = contexts[1] ?? '';
  const root = own.slice(0, Math.max(0, own.lastIndexOf('/contexts/')));
  const [, host, path] = ROOT.exec(root) ?? [];
  if (host === undefined || path === undefined) return '@context';
  if (document.issuer !== `did:web:${encodeURIComponent(host)}${path.replaceAll('/', ':')}`)
    return 'issuer';
  const stated: Readonly<Record<keyof typeof KINDS, string | undefined>> = {
    id: document.id,
    'credentialSubject.id': subject.id,
    'credentialSubject.organisation': subject.organisation,
    'credentialSubject.previous': subject.previous,
    'measurement.id': measurement?.id,
    'measurement.derivation': measurement?.derivation,
    'measurement.qualifiedAssociation.hadPlan': measurement?.qualifiedAssociation.hadPlan,
    'wasRevisionOf.id': document.wasRevisionOf?.id,
  };
  for (const [field, form] of FORMS) {
    const address = stated[field as keyof typeof KINDS];
    if (address === undefined) continue;
    if (!address.startsWith(`${root}/`) || !form.test(address.slice(root.length + 1))) return field;
  }
  const { log } = document.inclusionPromise ?? {};
  const organisation = subject.organisation.slice(`${root}/organisations/`.length);
  const isOwnLog = log === undefined || log === `${host}${path}/log/${organisation}`;
  return isOwnLog ? undefined : 'inclusionPromise.log';
}
