import { timeText } from '#shared/kernel/time.ts';

interface NamedKey {
  id: string;
  name: string;
  /** Its first and last characters. */
  display: string;
}

/** What `data` holds beside the organisation, by the type of the event. Times are RFC 3339 in UTC. */
export interface WebhookData {
  'budget.reached': {
    budget: {
      id: string;
      name: string;
      scope: string;
      /** The id of the key or the model, or a tag as `key=value`; null for the organisation. */
      target: string | null;
      measure: string;
      unit: string;
      period: string;
      limit: number;
      mode: string;
    };
    /** In per cent of the limit. */
    share: number;
    used: number;
    period_start: string;
    period_end: string;
  };
  'key.expiring': { key: NamedKey; expires_at: string };
  'key.leaked': { key: NamedKey };
  'requests.failing': {
    /** Of the last ten minutes, those that were looked at. */
    requests: number;
    failed: number;
    /** In per cent, rounded down. */
    share: number;
    /** The most frequent first. */
    codes: { code: string; requests: number }[];
  };
  'receipts.degraded': { receipt_id: string; stage: string; code: string };
  'ledger.halted': { halted_at: string };
  'export.ready': {
    export: { id: string; size_bytes: number; sha256: string; expires_at: string };
  };
  'organisation.suspended': { suspended_at: string };
  'webhook.test': { endpoint_id: string };
}
export type WebhookType = keyof WebhookData;

interface EventRow<T extends WebhookType> {
  /** When it is sent, as a sentence that begins with a noun. */
  when: string;
  example: WebhookData[T];
}

const KEY = {
  id: 'key_01M7W53ZF4Z6X0T8WB5N2K9MVC',
  name: 'Batch jobs',
  display: 'dkt_Ab3x…9fQz',
};

/** Every event, once: page, documentation and messages are made from this table. */
export const WEBHOOK_EVENTS: { readonly [T in WebhookType]: EventRow<T> } = {
  'budget.reached': {
    when: 'A share of a budget is reached, once in its period; of several that are reached at once the highest.',
    example: {
      budget: {
        id: 'bgt_01M7W53ZF4Z6X0T8WB5N2K9MVC',
        name: 'Research',
        scope: 'organisation',
        target: null,
        measure: 'tokens',
        unit: 'tokens',
        period: 'month',
        limit: 1_000_000,
        mode: 'soft',
      },
      share: 80,
      used: 812_304,
      period_start: '2026-11-01T00:00:00.000Z',
      period_end: '2026-12-01T00:00:00.000Z',
    },
  },
  'key.expiring': {
    when: 'An active key will expire, as often as the technical contact is told by e-mail.',
    example: { key: KEY, expires_at: '2026-12-14T00:00:00.000Z' },
  },
  'key.leaked': {
    when: 'A key was revoked or marked because others have it, or may have.',
    example: { key: KEY },
  },
  'requests.failing': {
    when: 'Of the newest 2,000 requests of the last ten minutes a tenth, and at least twenty, were refused or failed; what came too fast (429) is not counted. Told once until that has been over for half an hour.',
    example: {
      requests: 412,
      failed: 96,
      share: 23,
      codes: [
        { code: 'region_degraded', requests: 90 },
        { code: 'invalid_model', requests: 6 },
      ],
    },
  },
  'receipts.degraded': {
    when: 'A degraded receipt was estimated again for half an hour in vain and waits for a person; told once in an hour of the clock, by the first such receipt.',
    example: {
      receipt_id: 'rcpt_01M7W53ZF4Z6X0T8WB5N2K9MVC',
      stage: 'model',
      code: 'model_size_unknown',
    },
  },
  'ledger.halted': {
    when: 'The log of the organisation takes no more receipts until the service has looked at it.',
    example: { halted_at: '2026-11-30T09:30:00.000Z' },
  },
  'export.ready': {
    when: 'An evidence pack can be downloaded.',
    example: {
      export: {
        id: 'exp_01M7W53ZF4Z6X0T8WB5N2K9MVC',
        size_bytes: 1_234_567,
        sha256: 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
        expires_at: '2026-12-07T09:30:00.000Z',
      },
    },
  },
  'organisation.suspended': {
    when: 'The organisation was suspended pending review; requests with its keys are refused.',
    example: { suspended_at: '2026-11-30T09:30:00.000Z' },
  },
  'webhook.test': {
    when: 'A person has pressed _Send a test_.',
    example: { endpoint_id: 'whe_01M7W53ZF4Z6X0T8WB5N2K9MVC' },
  },
};

/** Those that an endpoint is made for. A test goes to any. */
export const CHOSEN_TYPES = (Object.keys(WEBHOOK_EVENTS) as WebhookType[]).filter(
  (type) => type !== 'webhook.test',
);

/** How long events are kept for members: a person who was away for a quarter still reads what happened. */
export const EVENT_DAYS = 90;

export interface WebhookFact<T extends WebhookType = WebhookType> {
  orgId: string;
  type: T;
  data: WebhookData[T];
}

/** The bytes of a message, as Standard Webhooks has them; `at` is when it happened, in epoch milliseconds. */
export function webhookBody({ orgId, type, data }: WebhookFact, at: number): string {
  return JSON.stringify({ type, timestamp: timeText(at), data: { organisation: orgId, ...data } });
}
