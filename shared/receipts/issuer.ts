import { RECEIPT_CONTEXT_NAME, VC_CONTEXT_URL } from './context.ts';

/** Who issues, and every address that receipts derive from it. Made once for a process. */
export interface ReceiptIssuer {
  /** `did:web:…`: the issuer of receipts and the controller of their keys. */
  did: string;
  /** Without a trailing slash. */
  publicUrl: string;
  contexts: readonly [string, string];
  receipts: string;
  requests: string;
  organisations: string;
  measurements: string;
  methodologies: string;
  derivations: string;
  /** An organisation's log is `logs` + its id: the origin of its checkpoints. */
  logs: string;
}

/** @param publicUrl the address under which callers reach the service, e.g. `https://gateway.example` */
export function receiptIssuer(publicUrl: string): ReceiptIssuer {
  const { origin, host, pathname } = new URL(publicUrl);
  const path = pathname.replace(/\/+$/, '');
  const root = origin + path;
  return Object.freeze({
    did: didWeb(publicUrl),
    publicUrl: root,
    contexts: Object.freeze([VC_CONTEXT_URL, `${root}/contexts/${RECEIPT_CONTEXT_NAME}`] as const),
    receipts: `${root}/receipts/`,
    requests: `${root}/requests/`,
    organisations: `${root}/organisations/`,
    measurements: `${root}/measurements/`,
    methodologies: `${root}/methodologies/`,
    derivations: `${root}/derivations/`,
    logs: `${host}${path}/log/`,
  });
}

/**
 * The did:web identifier of an address (did:web method, 3.1): a port is percent-encoded, path segments follow after
 * colons. `http://localhost:8080` is `did:web:localhost%3A8080`.
 */
export function didWeb(publicUrl: string): string {
  const { host, pathname } = new URL(publicUrl);
  const segments = pathname.split('/').filter((segment) => segment !== '');
  return ['did:web', encodeURIComponent(host), ...segments].join(':');
}
