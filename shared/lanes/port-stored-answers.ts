/** Which answer: the claim it was given for, the request that ran, and the delivery of it that answered. */
export interface StoredAnswerName {
  claim: string;
  requestId: string;
  attempt: number;
}

/** Where answers are kept that are too large for Redis. */
export interface StoredAnswers {
  /** Keeps an answer until then (epoch milliseconds); one that is there already stays as it is. */
  keep(name: StoredAnswerName, packed: Uint8Array, expiresAt: number): Promise<void>;
  /** Null when it has expired or never was. */
  read(name: StoredAnswerName): Promise<Buffer | null>;
}
