import { setTimeout as delay } from 'node:timers/promises';
import { textOfChoice } from '#workers/inference/usage.ts';
import { type Case, cases, longStream } from './cases.ts';
import type { Gateway, Json, Reply } from './gateway.ts';
import { authorization, type ModelServer } from './server-process.ts';

/** What the checks are about: one server behind two endpoints, of which the second is a second process. */
export interface Bench {
  gateway: Gateway;
  /** Serves the models `one` and, before the second, `two`. */
  first: ModelServer;
  second: ModelServer;
  /** Whose log tells what was computed: the server itself, or the one behind a proxy. */
  computes: ModelServer;
}

/** `refused`: the server does not do this, and the caller is told so. `broken`: something was said that is not so. */
export interface Found {
  verdict: 'works' | 'refused' | 'broken';
  words: string;
}

export type Check = (bench: Bench) => Promise<Found>;

/** The catalogue's names. */
export const ONE = 'noise';
export const TWO = 'noise-twice';
const STREAMS = 8;
/** Of processor time that a server may use after every client has left it, in this time. */
const IDLE_MS = 1_000;
/** Some notice only with their next token that their reader has gone; a whole answer of this length takes several seconds. */
const NOTICE_MS = 1_500;
const IDLE_SHARE_MAX = 0.25;
/** How long a server that was started again may be out of use. */
const HEAL_MS = 90_000;

const works = (words = ''): Found => ({ verdict: 'works', words });
const broken = (words: string): Found => ({ verdict: 'broken', words });

/** The refusal of a request as its caller reads it. */
function refused({ status, body }: Reply): Found {
  const { code, message } = body['error'] as { code: string; message: string };
  return { verdict: 'refused', words: `${status} \`${code}\`: ${message.slice(0, 140)}` };
}

const choicesOf = (body: Json): Json[] => (body['choices'] as Json[] | undefined) ?? [];
const messageOf = (body: Json): Json => (choicesOf(body)[0]?.['message'] ?? {}) as Json;
const reasonsOf = (reply: Reply): Set<unknown> =>
  new Set(
    [reply.body, ...reply.payloads]
      .flatMap(choicesOf)
      .map((choice) => choice['finish_reason'])
      .filter((reason) => reason !== null && reason !== undefined),
  );
const textOf = (reply: Reply): string =>
  reply.payloads.flatMap(choicesOf).map(textOfChoice).join('');

/** Asks one of the recorded cases. A refusal is a finding, as long as it blames whom it should. */
function asking(name: string, judge: (reply: Reply) => Found): Check {
  return async ({ gateway, first }) => {
    const one = cases(ONE, first.kind.namesTool)[name]!;
    const reply = await gateway.ask(one);
    if (reply.status >= 500)
      return (await sameOfTheServer(first, one)) ?? broken(refused(reply).words);
    if (reply.status >= 400) return refused(reply);
    if (reply.receipt !== undefined) return lie(reply) ?? judge(reply);
    const { outcome } = await gateway.receipt(reply.receiptId);
    const unfinished = outcome === 'truncated' && !reply.done;
    return unfinished
      ? {
          verdict: 'refused',
          words: 'the server leaves a choice without an end; receipt `truncated`',
        }
      : broken(`no receipt in the answer; it says ${outcome}`);
  };
}

/** A failure that the server has for the same request when it is asked without the gateway. */
async function sameOfTheServer(
  first: ModelServer,
  { path, body }: Case,
): Promise<Found | undefined> {
  const response = await fetch(first.origin + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization(first.kind) },
    body: JSON.stringify({ ...body, model: first.model }),
  });
  const text = await response.text();
  if (response.ok && text !== '') return undefined;
  const words = text === '' ? 'and nothing else' : text.slice(0, 100);
  return {
    verdict: 'refused',
    words: `502; the server itself answers ${response.status}, ${words}`,
  };
}

/** Where a receipt says more than the answer. */
function lie(reply: Reply): Found | undefined {
  const { receipt } = reply;
  const isEmbedding = reply.body['data'] !== undefined;
  if (receipt?.outcome === 'complete' && !isEmbedding && reasonsOf(reply).size === 0)
    return broken('called complete, and no choice was finished');
  if (receipt?.usageSource === 'unknown' && receipt.outputTokens !== undefined)
    return broken('unknown tokens have a number');
  return undefined;
}

const complete =
  (words: (reply: Reply) => string | Found) =>
  (reply: Reply): Found => {
    const { outcome, usageSource, inputTokens, outputTokens } = reply.receipt!;
    if (outcome !== 'complete') return broken(`the receipt says ${outcome}`);
    const found = words(reply);
    if (typeof found !== 'string') return found;
    const counts = `${inputTokens} + ${outputTokens} tokens, ${usageSource}`;
    return works(found === '' ? counts : `${found}; ${counts}`);
  };

/** Every choice that was to be generated to the end of its bound has as many tokens as that. */
const countIs = (tokens: number) =>
  complete((reply) => {
    const { outputTokens, usageSource } = reply.receipt!;
    const bound = reasonsOf(reply).has('length') && reasonsOf(reply).size === 1;
    return bound && usageSource === 'upstream' && outputTokens !== tokens
      ? broken(`${outputTokens} tokens of the upstream’s, and ${tokens} were generated`)
      : '';
  });

const streamed =
  (judge: (reply: Reply) => Found) =>
  (reply: Reply): Found =>
    reply.done ? judge(reply) : broken('the stream ended without [DONE]');

const refusal =
  (name: string, code: string): Check =>
  async ({ gateway, first }) => {
    const one = cases(ONE)[name]!;
    const reply = await gateway.ask(one);
    const same = reply.status < 500 ? undefined : await sameOfTheServer(first, one);
    if (same !== undefined) return same;
    if (reply.status < 400) return works('it is answered all the same');
    const found = refused(reply);
    return found.words.includes(`\`${code}\``) ? found : broken(found.words);
  };

/** Tokens of a request that was not sent before, as the receipt, the answer and the server's own log have them. */
const countsOfTheLog: Check = async ({ gateway, computes }) => {
  const { tokensInLog } = computes.kind;
  const content = `Tell me the story of lighthouse ${Date.now()}.`;
  const body = { model: ONE, messages: [{ role: 'user', content }], max_tokens: 23 };
  const before = computes.log.length;
  const reply = await gateway.ask({ path: '/v1/chat/completions', body });
  if (reply.receipt === undefined) return refused(reply);
  const { inputTokens = 0, outputTokens = 0, usageSource } = reply.receipt;
  const signed = `${inputTokens} + ${outputTokens}, ${usageSource}`;
  await delay(500);
  const logged = tokensInLog?.(computes.log.slice(before));
  if (logged === undefined) return works(`signed ${signed}; the server logs no tokens`);
  return logged === inputTokens + outputTokens || usageSource !== 'upstream'
    ? works(`signed ${signed}; its log has ${logged}`)
    : broken(`signed ${signed}; its log has ${logged}`);
};

const overlapping: Check = async ({ gateway }) => {
  const replies = await Promise.all(
    Array.from({ length: STREAMS }, (_, i) => {
      const body = { ...longStream(ONE).body, max_tokens: 60 + i };
      return gateway.ask({ path: longStream(ONE).path, body });
    }),
  );
  let whole = 0;
  for (const [i, reply] of replies.entries()) {
    if (reply.status !== 200) continue;
    const receipt = reply.receipt ?? (await gateway.receipt(reply.receiptId));
    const finished = reasonsOf(reply).size > 0;
    if ((receipt.outcome === 'complete') !== finished)
      return broken(
        `a stream that was ${finished ? '' : 'not '}finished is called ${receipt.outcome}`,
      );
    if (!finished) continue;
    whole += 1;
    const bound = reasonsOf(reply).has('length');
    if (bound && receipt.usageSource === 'upstream' && receipt.outputTokens !== 60 + i)
      return broken(`${receipt.outputTokens} tokens are signed, and ${60 + i} were generated`);
  }
  if (whole === STREAMS) return works(`${whole} of ${STREAMS} whole, each with its own count`);
  const words = `${whole} of ${STREAMS} whole, the others broken off by the server and receipted as truncated`;
  if (whole === 0) return broken(words);
  // So many in a row have opened its circuit: what is asked next is about something else.
  const healed = await untilAnswered(gateway);
  return healed.verdict === 'works'
    ? { verdict: 'refused', words: `${words}; ${healed.words}` }
    : healed;
};

/** Asks until the server is in use again. */
async function untilAnswered(gateway: Gateway): Promise<Found> {
  const since = performance.now();
  for (;;) {
    const reply = await gateway.ask(cases(ONE)['chat']!);
    const seconds = (performance.now() - since) / 1_000;
    if (reply.status === 200) return works(`answers again after ${seconds.toFixed(1)} s`);
    if (seconds * 1_000 > HEAL_MS)
      return broken(`${refused(reply).words}, ${HEAL_MS / 1_000} s after`);
    await delay(200);
  }
}

/** The client leaves in the middle: the server stops computing, and the receipt says so. */
const cancelled: Check = async ({ gateway, computes }) => {
  const leaving = new AbortController();
  const before = computes.log.length;
  const reply = await gateway.ask(longStream(ONE), {
    signal: leaving.signal,
    onBytes: (all) => all.split('\n\n').length > 4 && leaving.abort(),
  });
  if (reply.status !== 200) return broken(refused(reply).words);
  const receipt = await gateway.receipt(reply.receiptId);
  if (receipt.outcome !== 'partial') return broken(`the receipt says ${receipt.outcome}`);
  await delay(NOTICE_MS);
  const said = computes.kind.stoppedInLog?.exec(computes.log.slice(before))?.[0];
  const used = computes.cpuMs;
  await delay(IDLE_MS);
  const share = (computes.cpuMs - used) / IDLE_MS;
  if (share > IDLE_SHARE_MAX)
    return {
      verdict: 'refused',
      words: `the server computes on (${Math.round(share * 100)} % of a core)`,
    };
  const words = said === undefined ? 'its processor is idle' : `its log says “${said}”`;
  return works(`receipt \`partial\`; ${words}`);
};

/** The server is killed while it answers: nothing may be called complete. */
const killed =
  (stream: boolean): Check =>
  async ({ gateway, first }) => {
    const long = longStream(ONE);
    const one: Case = { path: long.path, body: { ...long.body, stream } };
    let isKilled = false;
    const kill = (): void => {
      if (isKilled) return;
      isKilled = true;
      void first.stop();
    };
    if (!stream) setTimeout(kill, 700);
    const reply = await gateway.ask(one, {
      onBytes: (all) => stream && all.length > 1_500 && kill(),
    });
    await first.stop();
    await first.launch();
    if (stream) {
      const receipt = reply.receipt ?? (await gateway.receipt(reply.receiptId));
      const error = reply.payloads.some((payload) => payload['error'] !== undefined);
      const text = `${textOf(reply).length} characters, an error frame, receipt \`${receipt.outcome}\``;
      return receipt.outcome === 'truncated' && error && !reply.done ? works(text) : broken(text);
    }
    return reply.status >= 500 && reply.receipt === undefined
      ? works(refused(reply).words)
      : broken(`HTTP ${reply.status}, receipt ${reply.receipt?.outcome}`);
  };

/** After it was killed and started again, requests reach it again. */
const restarted: Check = async ({ gateway, first }) => {
  await first.stop();
  for (let i = 0; i < 6; i += 1) await gateway.ask(cases(ONE)['chat']!);
  await first.launch();
  return untilAnswered(gateway);
};

/** Two endpoints, of which the first is dead: the second answers, and the receipt counts both calls. */
const failover: Check = async ({ gateway, first }) => {
  await first.stop();
  const reply = await gateway.ask({ ...cases(TWO)['chat']!, path: '/v1/chat/completions' });
  await first.launch();
  if (reply.status !== 200) return broken(refused(reply).words);
  return works(`answered by the second, ${reply.receipt?.attempts ?? 0} calls on the receipt`);
};

/** What every server is asked through the gateway, in this order: those that kill it come last. */
export const CHECKS: Readonly<Record<string, Check>> = {
  chat: asking('chat', countIs(4)),
  stream: asking('stream', streamed(countIs(4))),
  'stream with usage': asking('stream-with-usage', streamed(countIs(4))),
  completions: asking('completion', countIs(4)),
  'completions, streamed': asking('completion-stream', streamed(countIs(4))),
  'completions of two prompts': asking('completion-of-two-prompts', countIs(8)),
  embeddings: asking(
    'embeddings',
    complete(({ body }) => {
      const { length } = body['data'] as unknown[];
      return length === 2 ? '2 vectors' : broken(`${length} vectors of 2`);
    }),
  ),
  'an input too long to embed': refusal('embeddings-too-long', 'prompt_too_long'),
  tools: asking(
    'tools',
    complete(({ body }) => {
      const calls = messageOf(body)['tool_calls'] as { function: { name: string } }[] | undefined;
      return calls?.[0] === undefined
        ? 'no call; the answer is text'
        : `calls \`${calls[0].function.name}\``;
    }),
  ),
  'tools, streamed': asking(
    'tools-stream',
    streamed(
      complete(({ payloads }) =>
        payloads
          .flatMap(choicesOf)
          .some((one) => (one['delta'] as Json)['tool_calls'] !== undefined)
          ? 'a call in pieces'
          : 'no call; the answer is text',
      ),
    ),
  ),
  'JSON schema': asking(
    'json-schema',
    complete(({ body }) => {
      try {
        const { city } = JSON.parse(String(messageOf(body)['content'])) as { city: string };
        return `the schema holds: ${city}`;
      } catch {
        return 'the schema is not obeyed';
      }
    }),
  ),
  'a schema that is none': asking(
    'schema-that-is-none',
    complete(() => 'it is not looked at'),
  ),
  stop: asking(
    'stop',
    complete((reply) => (reasonsOf(reply).has('stop') ? '' : 'it does not stop there')),
  ),
  n: asking(
    'two-choices',
    complete((reply) => `${choicesOf(reply.body).length} of 2 choices`),
  ),
  'n, streamed': asking('two-choices-stream', streamed(complete(() => ''))),
  logprobs: asking(
    'logprobs',
    complete(({ body }) => {
      const has = choicesOf(body)[0]?.['logprobs'];
      return has === undefined || has === null ? 'none are given' : '';
    }),
  ),
  'a prompt too long': refusal('too-long', 'prompt_too_long'),
  'a prompt too long, streamed': refusal('too-long-stream', 'prompt_too_long'),
  'an image to a text model': asking(
    'image-to-a-text-model',
    complete(() => 'the image is ignored'),
  ),
  'a value of the wrong type': asking(
    'wrong-type',
    complete(() => 'it is not looked at'),
  ),
  'token counts': countsOfTheLog,
  'eight overlapping streams': overlapping,
  'a client that leaves': cancelled,
  'killed in mid-stream': killed(true),
  'killed in mid-answer': killed(false),
  restart: restarted,
  'two endpoints, one dead': failover,
};
