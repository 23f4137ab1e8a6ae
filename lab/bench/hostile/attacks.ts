import type { Pool } from './ask.ts';

/** What the attacker sends, and how often. */
export interface Attack {
  /** So many on their way at once from each address; or so many at first, and then so many a second. */
  pace: { atOnce: number } | { first: number; perSecond: number };
  /** 1 when absent. */
  addresses?: number;
  /** How slowly it reads its answers, and that it leaves when it is time; as fast as it can when absent. */
  bytesPerSecond?: number;
  /** How many of its requests are written at once on a connection of their own, whose answers are not read; one at a time when absent. */
  ahead?: number;
  /** How long it waits between two bytes of a request, each of which has a connection of its own; all at once when absent. */
  byteEachMs?: number;
  /** How often all its connections, begun with a byte, write what is behind it in one moment. */
  togetherMs?: number;
  /** What it sends its requests on; as many connections as it has requests when absent. */
  pool?: Pool;
  /** Whether honest persons sign in meanwhile. */
  signIns?: boolean;
  /** Made once for each process: a large body takes a while. */
  open: (means: Means) => (count: number) => Sent;
}

export interface Sent {
  method: 'GET' | 'POST';
  /** Behind the origin. */
  path: string;
  headers: Record<string, string>;
  body?: Buffer | string;
}

/** What the attacker has: keys of two plans, the session of a member of an organisation, the form of a visitor. */
export interface Means {
  key: string;
  largerKey: string;
  orgId: string;
  session: string;
  /** The token of the forms of that session. */
  sessionForm: string;
  visit: Visit;
}

/** What a browser has that was shown the form to sign in: its cookie and the token of the form. */
export interface Visit {
  cookie: string;
  form: string;
}

const BODY_BYTES = 20 * 1024 * 1024 - 1_024;
const MEDIUM_BYTES = 60_000;
const THOUGHT = `{"role":"assistant","content":"a","reasoning_content":"${'so '.repeat(48)}"}`;
const THOUGHTS = 99_000;
/** So many vectors of 1,024 numbers are 19 MB of JSON. */
const STORED_INPUTS = 850;
/** As many streams as the plan of the larger key has open at once. */
const SLOW_READERS = 100;

export const chatOf = (content: string): string =>
  `{"model":"llama-3.1-8b","messages":[{"role":"user","content":"${content}"}]}`;
const besideOf = (values: string): string =>
  `{"model":"llama-3.1-8b","messages":[{"role":"user","content":"hello"}],"metadata":[${values}]}`;
const filled = (piece: string, bytes = BODY_BYTES): string =>
  piece.repeat(Math.floor(bytes / piece.length));

/** Large bodies of a key, ten at once. */
const body = (path: string, text: () => string, headers: Record<string, string> = {}): Attack => ({
  pace: { atOnce: 10 },
  open: ({ key }) => {
    const bytes = Buffer.from(text());
    return () => ({ ...withKey(key, headers), path: `/v1${path}`, body: bytes });
  },
});

const withKey = (key: string, more: Record<string, string> = {}) => ({
  method: 'POST' as const,
  headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...more },
});

/** Posts to sign in, each as another person. */
const signIns = (pace: Attack['pace'], addresses: number): Attack => ({
  pace,
  addresses,
  signIns: true,
  open:
    ({ visit }) =>
    (count) =>
      signInOf(visit, { email: `stranger-${count}@person.example`, password: 'a guess' }),
});

export function signInOf({ cookie, form }: Visit, who: { email: string; password: string }): Sent {
  return {
    method: 'POST',
    path: '/dashboard/sign-in',
    headers: { cookie, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ form, ...who }).toString(),
  };
}

/** The same address again and again, without a key. */
const repeating = (path: string, atOnce = 200): Attack => ({
  pace: { atOnce },
  open: () => () => ({ method: 'GET', path, headers: {} }),
});

const chunks = (count: number, bytes: number): string =>
  `${bytes.toString(16)}\r\n${' '.repeat(bytes)}\r\n`.repeat(count);

/** Bodies in chunks that nothing asks for. */
const inChunks = (atOnce: number, textOf: () => string): Attack => ({
  pace: { atOnce },
  ahead: 1,
  open: () => {
    const text = textOf();
    const headers = { 'transfer-encoding': 'chunked' };
    return () => ({ method: 'POST', path: '/x', headers, body: text });
  },
});

export const ATTACKS: Readonly<Record<string, Attack>> = {
  'empty objects': body('/chat/completions', () => `{"model":"m","messages":[${filled('{},')}{}]}`),
  'ids of spaces': body(
    '/embeddings',
    () => `{"model":"qwen3-embedding-8b","input":[${'220,'.repeat(1_000_000)}220]}`,
  ),
  'long text': body('/chat/completions', () => chatOf(filled('a bomb of words '))),
  'one long word': body('/chat/completions', () => chatOf('жщ'.repeat(250_000))),
  escapes: body('/chat/completions', () => chatOf(filled(String.raw`\n`))),
  'short texts': body('/chat/completions', () =>
    besideOf(`${'"bomb and gas",'.repeat(1_100_000)}0`),
  ),
  'nested arrays': body('/chat/completions', () =>
    besideOf(`${`${'['.repeat(120)}${']'.repeat(120)},`.repeat(800)}0`),
  ),
  // The one among them that is run: nothing of it has tokens.
  image: body(
    '/chat/completions',
    () =>
      `{"model":"llama-3.1-8b","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,${filled('QUJD').slice(0, -1_024)}"}}]}]}`,
  ),
  // A small request; its answer of 19 MB is made once and given back from then on.
  'stored answer': body(
    '/embeddings',
    () =>
      `{"model":"qwen3-embedding-8b","dimensions":1024,"input":[${'"a",'.repeat(STORED_INPUTS)}"a"]}`,
    { 'idempotency-key': 'stored answer' },
  ),
  // A small request, whose answer is 30 MB of many small values.
  'log probabilities': body('/chat/completions', () =>
    JSON.stringify({ logprobs: true, top_logprobs: 20, ...(JSON.parse(chatOf('Hi.')) as object) }),
  ),
  // As many as a body may have.
  thoughts: body(
    '/chat/completions',
    () =>
      `{"model":"llama-3.1-8b","messages":[${`${THOUGHT},`.repeat(THOUGHTS)}{"role":"user","content":"Hi."}]}`,
  ),
  'bodies of 60 KB': {
    pace: { first: 100, perSecond: 100 },
    open: ({ largerKey }) => {
      const bytes = Buffer.from(chatOf(filled('a bomb of words ', MEDIUM_BYTES)));
      return () => ({ ...withKey(largerKey), path: '/v1/chat/completions', body: bytes });
    },
  },
  // Streams that the upstream would send without end, as fast as they are taken.
  'slow readers': {
    pace: { atOnce: SLOW_READERS },
    bytesPerSecond: 4_096,
    open: ({ largerKey }) => {
      const asked = JSON.parse(chatOf('Without end.')) as object;
      const asking = JSON.stringify({ stream: true, ...asked });
      return () => ({ ...withKey(largerKey), path: '/v1/chat/completions', body: asking });
    },
  },
  'pages of a person': {
    pace: { first: 200, perSecond: 190 },
    open: ({ orgId, session }) => {
      const path = `/dashboard/${orgId}/overview?days=90&by=key`;
      return () => ({ method: 'GET', path, headers: { cookie: session } });
    },
  },
  // More than a person may have open: nearly all are refused, each behind a look at who asks.
  'runs of the playground': {
    pace: { first: 200, perSecond: 190 },
    open: ({ orgId, session, sessionForm }) => {
      const headers = {
        cookie: session,
        'content-type': 'application/json',
        'x-docket-form': sessionForm,
      };
      const path = `/dashboard/${orgId}/playground/run`;
      return () => ({ method: 'POST', path, headers, body: chatOf('hello') });
    },
  },
  'audit logs as files': {
    pace: { atOnce: 8 },
    open: ({ orgId, session }) => {
      const path = `/dashboard/${orgId}/audit-log.json`;
      return () => ({ method: 'GET', path, headers: { cookie: session } });
    },
  },
  'sign-ins': signIns({ first: 900, perSecond: 190 }, 1),
  'sign-ins from 4 places': signIns({ first: 900, perSecond: 190 }, 4),
  'sign-ins from 40 places': signIns({ atOnce: 40 }, 40),
  // Refused for ever: of who asks again as soon as it is told to wait.
  'unknown addresses': repeating('/x'),
  'long queries': repeating(`/x?${Array.from({ length: 2_000 }, (_, i) => `a${i}=`).join('&')}`),
  'a key over its rate': {
    pace: { atOnce: 400 },
    open: ({ key }) => {
      const asked = chatOf('hello');
      return () => ({ ...withKey(key), path: '/v1/chat/completions', body: asked });
    },
  },
  // As many on each as may wait for their answers.
  'a good key over many connections': {
    pace: { atOnce: 16_000 },
    pool: { connections: 2_000, pipelining: 8 },
    open: ({ key }) => {
      const chat = { ...withKey(key), path: '/v1/chat/completions', body: chatOf('hello') };
      const list: Sent = {
        method: 'GET',
        path: '/v1/receipts',
        headers: { authorization: `Bearer ${key}` },
      };
      return (count) => (count % 2 === 0 ? chat : list);
    },
  },
  // Of keys that are not there: a revocation waits for no rate.
  revocations: {
    pace: { atOnce: 16_000 },
    pool: { connections: 2_000, pipelining: 8 },
    open: ({ largerKey }) => {
      const asked = { ...withKey(largerKey), body: '{}' };
      return (count) => ({
        ...asked,
        path: `/v1/keys/key_${String(count).padStart(26, '0')}/revoke`,
      });
    },
  },
  // They count under no rate.
  'health checks': { ...repeating('/health', 1_600), pool: { connections: 200, pipelining: 8 } },
  // As many chunks as node reads at once, and as many again.
  'bodies in pieces': inChunks(20, () => chunks(20_000, 1)),
  // A large one, and as many small ones behind it as node reads at once.
  'small pieces behind large ones': inChunks(40, () =>
    `${chunks(1, 1_400_000)}${chunks(10_900, 1)}`.repeat(4),
  ),
  'bodies in pieces of 136 bytes': inChunks(40, () => chunks(40_000, 136)),
  // On connections that have begun, so that none of them waits to begin.
  'bodies in pieces on begun connections': {
    pace: { atOnce: 1_000 },
    togetherMs: 4_000,
    open: () => {
      const text = chunks(10_900, 1);
      const headers = { 'transfer-encoding': 'chunked' };
      return () => ({ method: 'POST', path: '/x', headers, body: text });
    },
  },
  // Until they are told that their headers come too slowly.
  'headers of single bytes': { ...repeating('/x', 1_000), byteEachMs: 20 },
  // A place among bodies for each, for as long as a request may take.
  'bodies of single bytes': {
    pace: { atOnce: 240 },
    byteEachMs: 10,
    open: ({ key }) => {
      const spaces = ' '.repeat(65_000);
      const asked = withKey(key, { 'content-length': `${spaces.length}` });
      return () => ({ ...asked, path: '/v1/chat/completions', body: spaces });
    },
  },
  // As many as node reads at once.
  'requests ahead': { ...repeating('/', 20), ahead: 2_520 },
  'docs without gzip': {
    pace: { first: 900, perSecond: 190 },
    open: () => () => ({ method: 'GET', path: '/docs', headers: {} }),
  },
};
