import type { AuditDetails } from '#shared/accounts/audit/entry.ts';
import type { RegionStatus } from './catalogue.ts';
import type { RegionStatusStore } from './redis/region-status.ts';
import { checkRegionNote } from './region-note.ts';

/** What an operator sets of a region. */
export interface RegionSetting {
  status: RegionStatus | 'catalogue';
  /** What the public is told; null takes that away, undefined leaves it until the region is normal again. */
  note: string | null | undefined;
}

/**
 * Sets a region, and says what the audit log has of that.
 * @param at epoch milliseconds
 * @throws Fault `invalid_note`
 */
export async function setRegion(
  store: Pick<RegionStatusStore, 'set' | 'setNote'>,
  code: string,
  { status, note, at }: RegionSetting & { at: number },
): Promise<AuditDetails> {
  const told = typeof note === 'string' ? checkRegionNote(note) : null;
  await store.set(code, status === 'catalogue' ? null : status);
  // An incident that is over takes its note along, unless there is another one to tell.
  if (note === undefined && status !== 'normal' && status !== 'catalogue') return { status };
  await store.setNote(code, told === null ? null : { text: told, at });
  return { status, note: told };
}
