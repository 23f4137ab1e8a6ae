import { PUBLIC_FETCH_MS_MAX } from '#shared/kernel/http/public-fetch.ts';
import { plain, reasonOf } from '#shared/kernel/plain-text.ts';
import { InsideAddress, type PublicFetch } from '#shared/kernel/public-address.ts';

const FAILURE_LENGTH_MAX = 200;

/** What came of one attempt; `failure` is null when the message has arrived. */
export interface Outcome {
  /** Null where there was no answer. */
  status: number | null;
  failure: string | null;
}

/**
 * Sends one message. Of the answer nothing but its status is read. It has the time that a fetch has anyway: by Standard Webhooks
 * a receiver answers before it works.
 */
export async function sendMessage(
  publicFetch: PublicFetch,
  { address, headers, body }: { address: string; headers: Record<string, string>; body: string },
  stopping: AbortSignal,
  answerMsMax = PUBLIC_FETCH_MS_MAX,
): Promise<Outcome> {
  const tooLate = AbortSignal.timeout(answerMsMax);
  try {
    const signal = AbortSignal.any([tooLate, stopping]);
    const answer = await publicFetch(address, { method: 'POST', headers, body, signal });
    const { status } = answer;
    await answer.body?.cancel();
    if (status >= 200 && status < 300) return { status, failure: null };
    const isRedirect = status >= 300 && status < 400;
    const failure = `it answered ${status}${isRedirect ? ', and redirects are not followed' : ''}`;
    return { status, failure };
  } catch (error) {
    if (tooLate.aborted)
      return failed(`it gave no answer within ${Math.round(answerMsMax / 1_000)} seconds`);
    return failed(reasonOfFailure(error));
  }
}

const failed = (failure: string): Outcome => ({
  status: null,
  failure: plain(failure).slice(0, FAILURE_LENGTH_MAX),
});

/** The cause of a fetch that failed is its cause's message. What leads inside is said without where it leads. */
function reasonOfFailure(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (cause instanceof InsideAddress) return 'its address leads to no server of the internet';
  return reasonOf(cause);
}
