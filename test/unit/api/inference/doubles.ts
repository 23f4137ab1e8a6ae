import type { Route } from '#shared/kernel/inference.ts';
import { FairQueue } from '#api/plugins/fair-queue.ts';
import { EventEmitter } from 'node:events';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiEvents } from '#api/events.ts';
import { handle, type InferenceDeps } from '#api/inference/handle.ts';
import {
  OpenExchanges,
  type OpenExchangesOptions,
} from '#api/inference/exchange/open-exchanges.ts';
import { indexCatalogue } from '#shared/catalogue/route-index.ts';
import type { Fault } from '#shared/kernel/errors.ts';
import type { Credential } from '#shared/keys/credential.ts';
import type { InferenceEntry, Reply } from '#shared/lanes/messages.ts';
import type { Admission, AdmissionRequest } from '#shared/lanes/redis/admission.ts';
import type { ClaimStanding } from '#shared/lanes/redis/claims.ts';
import { receiptIssuer } from '#shared/receipts/issuer.ts';
import { catalogue, endpoint, model, region } from '#test/unit/catalogue/routed-catalogue.ts';
import { testSeals } from '#test/support/seals.ts';
import { credential as credentialOf } from '#test/support/held-credentials.ts';

/** What stands in for Redis, Fastify and the logs when one request is followed through an api process. */

export const REQUEST_ID = 'req_01HZX3V9M6K2J8Q4T5W7Y9ABCD';
export const RECEIPT_ID = 'rcpt_01HZX3V9M6K2J8Q4T5W7Y9ABCD';
export const RECEIPT_WAIT_MS = 2_000;
/** A Monday, 23:00:00 UTC: the day has an hour left. */
export const NOW = Date.UTC(2026, 5, 1, 23);

const LIMIT_STATE = { perSecond: 50, remaining: 199, resetMs: 20, remainingToday: 999 };
const admitted = (laneEntryId = '7-0'): Admission => ({
  ...LIMIT_STATE,
  verdict: 'admitted',
  laneEntryId,
});
export const refused = (
  verdict: 'rate' | 'day' | 'streams' | 'saturated' | 'backlog',
  retryMs = 1_500,
): Admission => ({ ...LIMIT_STATE, verdict, retryMs });
/** A refusal by screening that is on its way to its receipt. */
export const recorded = (): Admission => ({ ...LIMIT_STATE, verdict: 'recorded' });
/** One whose arrival is taken before it is judged. */
export const arrived = (): Admission => ({ ...LIMIT_STATE, verdict: 'arrived' });
export const reused = (): Admission => ({ ...LIMIT_STATE, verdict: 'reused' });
/** The same request as one that runs, or that is answered. */
export const same = (verdict: 'wait' | 'replay'): Admission => ({
  ...LIMIT_STATE,
  verdict,
  requestId: 'req_01HZX3V9M6K2J8Q4T5W7Y9FRST',
});

const INDEX = indexCatalogue(
  catalogue(
    [region('eu'), region('us')],
    [endpoint('eu-1', ['eu']), endpoint('us-1', ['us'])],
    [model('both', ['eu-1', 'us-1'], { kinds: ['chat', 'completion'] })],
  ),
);

export const CREDENTIAL = credentialOf();

/** The parts of a response that answers use, with what was written. */
class ResponseDouble extends EventEmitter {
  head: { status: number; headers: Record<string, string | number> } | undefined;
  readonly written: string[] = [];
  ended = false;
  destroyed = false;
  writableLength = 0;
  writableNeedDrain = false;
  readonly setTimeout = (): this => this;

  get headersSent(): boolean {
    return this.head !== undefined;
  }

  writeHead(status: number, headers: Record<string, string | number>): this {
    this.head = { status, headers };
    return this;
  }

  write(text: string): void {
    this.written.push(text);
  }

  end(text: string): void {
    this.written.push(text);
    this.ended = true;
  }

  /** The client goes, or is cut off. Also after `end`, as connections do. */
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

/** What a whole answer is sent with. */
class ReplyDouble {
  readonly raw = new ResponseDouble();
  readonly request: FastifyRequest;
  sent: { headers: Record<string, string>; text: string } | undefined;
  hijacked = false;
  /** Those that were set, of an answer or of the failure that follows. */
  readonly set: Record<string, string> = {};

  constructor(request: FastifyRequest) {
    this.request = request;
  }

  headers(headers: Record<string, string>): this {
    Object.assign(this.set, headers);
    return this;
  }

  type(contentType: string): this {
    this.set['content-type'] = contentType;
    return this;
  }

  send(text: string): this {
    this.sent = { headers: this.set, text };
    return this;
  }

  hijack(): this {
    this.hijacked = true;
    return this;
  }
}

/** How far Redis's clock is ahead of the process's. */
export const REDIS_AHEAD_MS = 45_000;

/** Redis as the exchanges use it: records each command, and answers what it is told to. */
class RedisDouble {
  readonly commands: unknown[][] = [];
  /** The worker that holds the entry which is to be withdrawn; none while it waits on its lane. */
  holder = '';
  isAway = false;
  /** The entries that it has no longer. */
  gone: string[] = [];
  inboxReadAt = (): number => performance.now();
  readonly values = new Map<string, Buffer | string>();

  readonly client: OpenExchangesOptions['client'] & OpenExchangesOptions['answers'];
  readonly scripts: OpenExchangesOptions['scripts'];

  constructor() {
    const record =
      (name: string, answer: (key: unknown) => unknown = () => 1) =>
      (...given: unknown[]): Promise<unknown> => {
        this.commands.push([name, ...given]);
        if (this.isAway) return Promise.reject(new Error('Redis is away'));
        return Promise.resolve(answer(given[0]));
      };
    this.client = {
      getdelBuffer: record('getdelBuffer', (key) => {
        const value = this.values.get(String(key));
        return value === undefined ? null : Buffer.from(value);
      }),
      get: record('get', (key) => this.values.get(String(key)) ?? null),
      pexpire: record('pexpire'),
      xadd: record('xadd'),
      zadd: record('zadd'),
      zrem: record('zrem'),
    } as unknown as RedisDouble['client'];
    this.scripts = {
      withdraw: record('withdraw', () => this.holder),
      gone: record('gone', () => this.gone),
      leave: record('leave'),
    };
  }

  named(name: string): unknown[][] {
    return this.commands.filter(([first]) => first === name);
  }
}

export interface Asked {
  stream?: boolean;
  /** Members of the body. */
  body?: Record<string, unknown>;
  idempotencyKey?: string;
  /** Chat completions, where it is not said. */
  route?: Route;
  /** What its client takes. */
  accept?: string;
}

/** An api process without stores. What is given replaces a double. */
export function openEdge(over: Partial<InferenceDeps> = {}) {
  const redis = new RedisDouble();
  const happened: string[] = [];
  /** Receipts that were noted as pending. */
  const pending: string[][] = [];
  const note =
    (name: string) =>
    (first?: unknown): void =>
      void happened.push(name === 'refused' ? `refused ${(first as Fault).code}` : name);
  const events = {
    answered: note('answered'),
    clientGone: note('clientGone'),
    receiptLate: note('receiptLate'),
    requestLost: note('requestLost'),
    refused: note('refused'),
    storeFailed: note('storeFailed'),
    streamBegan: () => {},
    unjudged: note('unjudged'),
  } as unknown as ApiEvents;
  const standing: { now: ClaimStanding | null } = { now: null };
  const exchanges = new OpenExchanges({
    client: redis.client,
    answers: redis.client,
    scripts: redis.scripts,
    seals: testSeals(),
    readStanding: () => Promise.resolve(standing.now),
    inboxReadAt: () => redis.inboxReadAt(),
    receiptWaitMs: RECEIPT_WAIT_MS,
    redisNow: () => Date.now() + REDIS_AHEAD_MS,
    events,
  });
  /** Every request for admission, with the region it was for. */
  const asked: (AdmissionRequest & { region: string })[] = [];
  const admissions: Admission[] = [];
  let credential: Credential | Promise<Credential> = CREDENTIAL;
  let gate = Promise.resolve();
  let released = 0;
  const deps: InferenceDeps = {
    index: () => INDEX,
    health: () => ({ states: new Map(), openCircuits: new Set() }),
    newSalt: () => 'AAAAAAAAAAAAAAAAAAAAAA',
    processId: 'api-1',
    shards: 1,
    screen: { check: () => null } as unknown as InferenceDeps['screen'],
    tokens: {
      decoder: () => undefined,
      promptFits: () => true,
    } as unknown as InferenceDeps['tokens'],
    judging: new FairQueue(1),
    mediaUrls: 'any',
    supportEmail: 'support@example.com',
    estimate: () => {
      throw new Error('no budget here is of what is estimated');
    },
    roomIn: ({ capacity }) => ({ region: capacity, org: capacity }),
    admissions: {
      recall: () => {
        const [next] = admissions;
        const isRepeat = next?.verdict === 'wait' || next?.verdict === 'replay';
        if (isRepeat) admissions.shift();
        return Promise.resolve(isRepeat ? next : null);
      },
      async admit(request) {
        asked.push({ ...request, region: request.entry.region });
        await gate;
        return admissions.shift() ?? admitted();
      },
      record: () => Promise.resolve(recorded()),
      takeArrival: () => Promise.resolve(arrived()),
    },
    exchanges,
    kept: {
      before: async (_named, work) =>
        work({ turns: ['{"input":"Hi.","response":{"id":"resp_0","output":[]}}'], referred: [] }),
      hold: () => () => {},
      keep: () => Promise.resolve(false),
      has: () => Promise.resolve(false),
    },
    largeBodies: {
      enter: () => Promise.reject(new Error('no request here is large')),
      warmSoon: () => {},
    },
    readHere: { take: () => 0, spend() {}, waitOf: () => 0 },
    readClaim: () => Promise.resolve(null),
    unread: { written() {} },
    issuer: receiptIssuer('https://gateway.example'),
    pendingReceipts: {
      note: (...which) => {
        pending.push(which);
        return Promise.resolve();
      },
      isPending: () => Promise.resolve(false),
    },
    events,
    now: () => NOW,
    ...over,
  };

  return {
    deps,
    redis,
    happened,
    pending,
    asked,
    exchanges,
    /** How often the gate before the process was told that a request is through. */
    released: () => released,
    /** How the claim stands that requests wait for. */
    standing,
    /** What admission says to the next requests, in turn; it admits those for which nothing is given. */
    willSay: (...verdicts: Admission[]): void => void admissions.push(...verdicts),
    /** What is found when the key is looked up again, at admission. */
    becomes: (found: Credential | Promise<Credential>): void => void (credential = found),
    /** Redis keeps its answers to admissions back, until the function is called that this gives. */
    holdAdmissions: (): (() => void) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
    /** Sends a request through the process, for a chat where it does not say. */
    ask: ({
      route = 'chat.completions',
      stream = false,
      body = {},
      idempotencyKey,
      accept,
    }: Asked = {}) => {
      const said = { messages: [{ role: 'user', content: 'hello' }] };
      const text = JSON.stringify({
        model: 'both',
        ...(route === 'responses' ? { input: 'hello' } : said),
        ...(stream ? { stream } : {}),
        ...body,
      });
      const request = {
        id: REQUEST_ID,
        url: `/v1/${route.replace('.', '/')}`,
        body: { rawBody: Buffer.from(text) },
        headers: {
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
          ...(accept !== undefined && { accept }),
        },
        credential: CREDENTIAL,
        intake: { keep() {}, release: () => (released += 1) },
        span: null,
        authenticateAgain: () => credential,
      } as unknown as FastifyRequest;
      const reply = new ReplyDouble(request);
      const handled = handle(deps, route, request, reply as unknown as FastifyReply);
      // A test may let it fail before it looks.
      handled.catch(() => {});
      return { request, reply, raw: reply.raw, handled };
    },
    /** A message of the pipeline for this request. */
    hear: (reply: Partial<Reply> & Pick<Reply, 'kind'>, payload = ''): void => {
      const ofWorker = ['answer', 'frames', 'last', 'error'].includes(reply.kind);
      const head = { id: REQUEST_ID, attempt: 1, ...(ofWorker ? { seq: 1 } : {}), ...reply };
      exchanges.take(head as Reply, payload);
    },
  };
}

/** The head of a lane entry as `routed` makes it. */
export const entry = (over: Partial<InferenceEntry> = {}): InferenceEntry => ({
  id: REQUEST_ID,
  orgId: 'org_1',
  keyId: 'key_1',
  shard: 0,
  route: 'chat.completions',
  model: 'both',
  region: 'eu',
  tier: 'audit',
  stream: false,
  includeUsage: false,
  inbox: 'api-1',
  startedAt: NOW,
  deadlineAt: NOW + 600_000,
  salt: 'AAAAAAAAAAAAAAAAAAAAAA',
  requestDigest: 'x',
  receipt: 'best_effort',
  ...over,
});
