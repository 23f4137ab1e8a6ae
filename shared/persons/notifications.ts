/** Counting further would tell a reader nothing more. */
export const UNREAD_MAX = 100;

/** An event of an organisation, as one of its members reads it. */
export interface Notification {
  id: string;
  type: string;
  /** As `WEBHOOK_EVENTS` says by the type, unless a newer build has written it. */
  data: unknown;
  /** Epoch milliseconds. */
  at: number;
  isNew: boolean;
}
