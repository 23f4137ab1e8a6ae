import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import { csvLine, fieldOfOthers } from '#shared/kernel/csv.ts';

export const auditCsvHeader =
  'at,actor_kind,actor_id,actor_name,action,subject,reason,address,details,sequence,id,hash\r\n';

/** Entries of an audit log as lines of CSV, with the names of those persons who have one here. */
export function auditCsvLines(
  entries: readonly AuditEntry[],
  names: ReadonlyMap<string, string>,
): string {
  const lines = entries.map((entry) => {
    const texts = [
      new Date(entry.at).toISOString(),
      entry.actorKind,
      entry.actorId,
      names.get(entry.actorId) ?? '',
      entry.action,
      entry.subject ?? '',
      entry.reason ?? '',
      entry.address ?? '',
      entry.details,
    ].map(fieldOfOthers);
    return csvLine([...texts, entry.sequence, entry.id, entry.hash]);
  });
  return lines.join('');
}
