import type { Reserve } from './messages.ts';
import type { StoredAnswerName } from './stored-answer.ts';

/**
 * Names of everything the lanes keep in Redis. Keys that one script touches together carry the
 * hash tag of their shard, `{s<k>}`, so the same code runs on one node and on a cluster.
 */

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/** The shard of an organisation: FNV-1a of its id, modulo the number of shards. All processes must agree on `shards`. */
export function shardOf(orgId: string, shards: number): number {
  let hash = FNV_OFFSET;
  for (let i = 0; i < orgId.length; i += 1) {
    hash = Math.imul(hash ^ orgId.charCodeAt(i), FNV_PRIME);
  }
  return (hash >>> 0) % shards;
}

const tag = (shard: number): string => `{s${shard}}`;

/** The stream that inference workers of one region read. */
export const inferenceLane = (shard: number, region: string): string =>
  `${tag(shard)}:lane:inference:${region}`;

/** Sorted set of the requests that an organisation has waiting or running in a region, scored by their deadlines. */
export const heldKey = (shard: number, region: string, orgId: string): string =>
  `${tag(shard)}:held:${region}:${orgId}`;

/** The stream that receipts workers read. */
export const receiptsLane = (shard: number): string => `${tag(shard)}:lane:receipts`;

/** The stream with what a lane's workers could not use. */
export const setAsideOf = (lane: string): string => `${lane}:set-aside`;

/** The region in the name of an inference lane. */
export const regionOfLane = (lane: string): string => lane.slice(lane.lastIndexOf(':') + 1);

/** The shard in a lane's name. */
export const shardOfLane = (lane: string): number => Number(lane.slice(2, lane.indexOf('}')));

/** Hash with the arrival time (`tat`), UTC day and count of an organisation or a key. */
export const limitsKey = (shard: number, ownerId: string): string =>
  `${tag(shard)}:limits:${ownerId}`;

/** When the next arrival in an organisation's bucket of this name is due. */
export const bucketKey = (shard: number, name: string, orgId: string): string =>
  `${tag(shard)}:bucket:${name}:${orgId}`;

/** Sorted set of open streams, scored by when each lease ends. */
export const leasesKey = (shard: number, orgId: string): string => `${tag(shard)}:leases:${orgId}`;

/** The lease of a stream that runs on for a retry since its client has left. */
export const leftLease = (requestId: string): string => `left ${requestId}`;

/** Hash with what is used of a hard budget in the period that began then, and what requests that run may use of it. */
export const budgetKey = (
  shard: number,
  orgId: string,
  { budget, since }: Pick<Reserve, 'budget' | 'since'>,
): string => `${tag(shard)}:budget:${orgId}:${budget}:${since}`;

/** Sorted set of the requests that hold a part of it, with that part, scored by when it is given up. */
export const holdersKey = (counter: string): string => `${counter}:holders`;

/** One of them, as it stands in that set. */
export const holderName = (requestId: string, { amount }: Pick<Reserve, 'amount'>): string =>
  `${requestId} ${amount}`;

/** Hash of one idempotency claim; `digest` covers route and Idempotency-Key. */
export const idempotencyKey = (shard: number, orgId: string, digest: string): string =>
  `${tag(shard)}:idem:${orgId}:${digest}`;

/** List of requests that wait for a running one with the same Idempotency-Key. */
export const waitersKey = (claimKey: string): string => `${claimKey}:waiters`;

/** One of them, as it stands in that list. */
export const waiterName = (inbox: string, id: string): string => `${inbox} ${id}`;
export function waiterOf(name: string): { inbox: string; id: string } {
  const [inbox, id] = name.split(' ') as [string, string];
  return { inbox, id };
}

/**
 * The stored answer of an idempotent request, apart for each delivery: a worker that was taken for dead and answers
 * after all must not write over the answer whose receipt was issued.
 */
export const answerKey = ({ claim, requestId, delivery }: StoredAnswerName): string =>
  `${claim}:answer:${requestId}:${delivery}`;

/** How many bytes of answers and receipts an organisation has had kept in Redis on a day, from the key of one of its claims. */
export const keptKey = (claimKey: string, day: number): string =>
  `${claimKey.slice(0, claimKey.lastIndexOf(':')).replace(':idem:', ':kept:')}:${day}`;

/** A request body too large to travel in its lane entry. */
export const bodyKey = (shard: number, requestId: string): string =>
  `${tag(shard)}:body:${requestId}`;

/** Says that a stream has begun, and how many chunks were relayed: a second run must not start over. */
export const begunKey = (shard: number, requestId: string): string =>
  `${tag(shard)}:begun:${requestId}`;

/** Where a request is that has gone to another region, for when the word of it does not come. */
export const movedKey = (shard: number, requestId: string): string =>
  `${tag(shard)}:moved:${requestId}`;

/** Says that an answer went out before this receipt was there. */
export const pendingReceiptKey = (shard: number, orgId: string, receiptId: string): string =>
  `${tag(shard)}:pending:${orgId}:${receiptId}`;

/** The stream of replies (or cancellations) for one process. It may live on any node. */
export const inboxKey = (processId: string): string => `inbox:${processId}`;

/** An answer too large to travel in its inbox message. */
export const claimedReplyKey = (requestId: string, delivery: number): string =>
  `reply:${requestId}:${delivery}`;

/** Present while a process lives; refreshed every second. */
export const aliveKey = (processId: string): string => `alive:${processId}`;

/** Hash of what each process of the lanes is, by its id. */
export const PEERS_KEY = 'peers';

/** Sorted set of one member, `FORMAT_MEMBER`, whose score is the highest format that a process of these lanes has written. */
export const FORMAT_KEY = 'lanes:format';
export const FORMAT_MEMBER = 'written';

/** Written to find out whether anything can be. */
export const readyKey = (processId: string): string => `ready:${processId}`;

/** Every lane has one consumer group. */
export const CONSUMER_GROUP = 'workers';
