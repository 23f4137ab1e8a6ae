import type { AuditEntry } from '#shared/accounts/audit/entry.ts';
import { csvLine } from '#shared/kernel/csv.ts';

const HEADER =
  'at,actor_kind,actor_id,actor_name,action,subject,reason,address,details,sequence,id,hash';
/** What a spreadsheet would take for a formula. Reasons and names are what people typed. */
const FORMULA = /^[=+\-@\t\r]/;

/** Entries of an audit log as CSV, with the names of those persons who have one here. */
export function auditCsv(
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
    ].map((text) => (FORMULA.test(text) ? `'${text}` : text));
    return csvLine([...texts, entry.sequence, entry.id, entry.hash]);
  });
  return `${HEADER}\r\n${lines.join('')}`;
}
