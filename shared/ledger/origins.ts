/** Where the anchor log stands among the logs in storage: no organisation's id is without a prefix. */
export const ANCHOR_LOG = 'anchor';

/** Under which the audit log of an organisation, or of the service, stands among what is signed and anchored. */
export function auditLogOf(orgId: string): string {
  return `audit/${orgId}`;
}

/** Names of logs, which are also the names of the keys that sign their checkpoints. */
export interface LogOrigins {
  /** `<host>/log/<organisation>` */
  organisation: (orgId: string) => string;
  /** `<host>/audit/<organisation>`, of its audit log. */
  audit: (orgId: string) => string;
  /** `<host>/anchor` */
  anchor: string;
}

/** @param publicUrl the address under which the service is reached; a path in it belongs to the names. */
export function logOrigins(publicUrl: string): LogOrigins {
  const { host, pathname } = new URL(publicUrl);
  const root = host + pathname.replace(/\/+$/, '');
  return {
    organisation: (orgId) => `${root}/log/${orgId}`,
    audit: (orgId) => `${root}/${auditLogOf(orgId)}`,
    anchor: `${root}/anchor`,
  };
}

/**
 * The name of a log's tree: its first has the name of the log, and `<name>/2` is the one that was opened when a loss of the
 * first was declared. So no name ever stands for two trees.
 */
export function treeOrigin(log: string, generation: number): string {
  return generation === 1 ? log : `${log}/${generation}`;
}

/** The name of the log that a tree is one of: `treeOrigin` the other way round. */
export function logOfTree(origin: string): { log: string; generation: number } {
  const [, log, digits] = /^(.+)\/([1-9][0-9]{0,5})$/.exec(origin) ?? [];
  if (log === undefined || digits === '1') return { log: origin, generation: 1 };
  return { log, generation: Number(digits) };
}

/** The name of the anchor log beside the ledger that a tree is one of. */
export function anchorOf(origin: string): string {
  return logOfTree(origin).log.replace(/\/log\/[^/]+$/, '/anchor');
}
