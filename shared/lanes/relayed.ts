/**
 * How far a stream was handed on, as its worker notes it now and then: what the receipt says of it should that worker die.
 * All of it is about exactly the first `payloads` payloads.
 */
export interface Relayed {
  payloads: number;
  /** Tokens in them: the upstream's running count, or else the payloads that had text, each about a token. */
  tokens: number;
  /** base64url of SHA-256(salt bytes || payloads). */
  digest: string;
  /** The model as the upstream names it, where it did. */
  model?: string;
  /** The id that the upstream gives its chunks, where it does. */
  upstreamAnswerId?: string;
  /** Milliseconds from the request's arrival to the call that is answered. */
  queuedMs: number;
  /** Calls made to upstreams until then. */
  calls: number;
}

export function encodeRelayed(relayed: Relayed): string {
  return JSON.stringify(relayed);
}

export function decodeRelayed(text: string): Relayed {
  return JSON.parse(text) as Relayed;
}
