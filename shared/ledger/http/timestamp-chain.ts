import { X509Certificate } from 'node:crypto';
import { signerAndOthers } from './timestamp-tokens.ts';

/** id-kp-timeStamping: a certificate for another purpose signs no timestamps (RFC 3161, 2.3). */
const TIME_STAMPING = '1.3.6.1.5.5.7.3.8';
/** Real chains have two or three links. */
const LINKS_MAX = 8;

const PEM = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * The certificates of a PEM file, which the caller has decided to trust.
 * @throws Error when it holds none, or one that cannot be read
 */
export function certificatesOf(pem: string): X509Certificate[] {
  const found = (pem.match(PEM) ?? []).map((text) => new X509Certificate(text));
  if (found.length === 0) throw new Error('it holds no certificate (PEM)');
  return found;
}

/**
 * Does the certificate that signed a timestamp lead to a trusted root, each link signed by the next and valid at the
 * time that is stated? Whether one was revoked is not asked: nothing is fetched.
 */
export function leadsTo(
  response: Uint8Array,
  trusted: readonly X509Certificate[],
  at: number,
): boolean {
  const { signer, others } = signerAndOthers(response);
  const leaf = new X509Certificate(signer);
  if (!(leaf.keyUsage ?? []).includes(TIME_STAMPING)) return false;
  const known = [...trusted, ...others.map((bytes) => new X509Certificate(bytes))];
  const isTrusted = ({ raw }: X509Certificate): boolean =>
    trusted.some((each) => each.raw.equals(raw));
  let link = leaf;
  for (let links = 0; links < LINKS_MAX; links += 1) {
    if (!isValidAt(link, at)) return false;
    if (isIssued(link, link)) return isTrusted(link);
    const issuer = known.find((each) => each.ca && isIssued(link, each));
    if (issuer === undefined) return false;
    link = issuer;
  }
  return false;
}

function isIssued(certificate: X509Certificate, issuer: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function isValidAt({ validFrom, validTo }: X509Certificate, at: number): boolean {
  // Certificates state whole seconds.
  const second = Math.floor(at / 1_000) * 1_000;
  return Date.parse(validFrom) <= second && second <= Date.parse(validTo);
}
