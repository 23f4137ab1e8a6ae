import { timeText } from '#shared/kernel/time.ts';
import { packName, type PackRange } from './layout.ts';

/** Packs that one organisation may have under way: more would only wait for each other. */
export const EXPORTS_UNDER_WAY_MAX = 10;

export const GIB = 1_073_741_824;

/** Packs that one organisation may have, ready or under way: one an hour for a week. */
export const PACKS_KEPT_MAX = 168;
/** What they may hold together, 20 million receipts or so. A pack that is larger stands alone. */
export const PACK_BYTES_KEPT_MAX = 64 * GIB;
/** A receipt with its newline, and what goes with it: about how large a pack will be. */
export const BYTES_PER_RECEIPT = 4_096;

export const EXPORT_STATUSES = ['queued', 'running', 'ready', 'failed', 'expired'] as const;
type ExportStatus = (typeof EXPORT_STATUSES)[number];

/** What a pack cannot be made without and may be back in a while, in words that its owner sees. */
export const AWAY = {
  store: 'A store that it needs is away.',
  key: 'The key that seals it cannot be reached.',
} as const;
export type Away = keyof typeof AWAY;

/** An evidence pack that was asked for. Times in epoch milliseconds. */
export interface ExportRecord extends PackRange {
  id: string;
  orgId: string;
  status: ExportStatus;
  /** Receipts written so far, of all. */
  done: number;
  total: number;
  /** Of the pack; null until it is ready. */
  sizeBytes: number | null;
  /** Hex. */
  sha256: string | null;
  error: { code: string; message: string } | null;
  /** A sentence about what is away and may be back; null while it waits for its turn alone, and in every other status. */
  waitsBecause: string | null;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  /** When the pack is deleted; null until it is ready. */
  expiresAt: number | null;
}

/** An export as the API and the command line show it. */
export interface ExportDescription {
  object: 'export';
  id: string;
  status: ExportStatus;
  format: 'evidence-pack';
  first_index: number;
  last_index: number;
  checkpoint_size: number;
  progress: { done: number; total: number };
  file_name: string;
  size_bytes: number | null;
  sha256: string | null;
  error: { code: string; message: string } | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  expires_at: string | null;
}

export function describeExport(record: ExportRecord): ExportDescription {
  return {
    object: 'export',
    id: record.id,
    status: record.status,
    format: 'evidence-pack',
    first_index: record.firstIndex,
    last_index: record.lastIndex,
    checkpoint_size: record.checkpointSize,
    progress: { done: record.done, total: record.total },
    file_name: `${packName(record.orgId, record)}.zip`,
    size_bytes: record.sizeBytes,
    sha256: record.sha256,
    error: record.error,
    created_at: timeText(record.createdAt),
    started_at: record.startedAt === null ? null : timeText(record.startedAt),
    finished_at: record.finishedAt === null ? null : timeText(record.finishedAt),
    expires_at: record.expiresAt === null ? null : timeText(record.expiresAt),
  };
}
