import { Fault } from '#shared/kernel/errors.ts';
import { appendMember, memberText, setMember } from '#shared/kernel/json-text.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import { type AnswerDeps, joinReceipt } from '../answer.ts';
import type { Admitted } from '../admit/admitted.ts';
import { type Keeping, type KeptResponses, RESPONSE_CHARS_MAX } from './kept-responses.ts';

export interface TellingDeps extends AnswerDeps {
  kept: Pick<KeptResponses, 'keep' | 'has'>;
}

/** A response that its server has finished. */
const WHOLE: ReadonlySet<string | undefined> = new Set(['"completed"', '"incomplete"']);

/**
 * The answer with its receipt, of a request whose response is to be kept: it says `store: true` when it is, and not before.
 * The pipeline says false, which is what the receipt's digest is over.
 */
export async function joinKept(
  deps: TellingDeps,
  entry: Readonly<InferenceEntry>,
  keeping: Keeping,
  [answer, receipt]: readonly [answer: string, receipt: string | null],
): Promise<string | Fault> {
  const joined = joinReceipt(deps, entry, answer, receipt);
  if (joined instanceof Fault) return joined;
  if (joined.length > RESPONSE_CHARS_MAX) return joined;
  const told = asKept(joined, entry.stream);
  if (!WHOLE.has(memberText(told.response, 'status'))) return joined;
  return (await deps.kept.keep(keeping, told.response)) ? told.sent : joined;
}

/** A stored answer with its receipt: it says that the response is kept where it is. */
export async function rejoinKept(
  deps: TellingDeps,
  { entry: { orgId, stream }, mayBeKept }: Pick<Admitted, 'entry' | 'mayBeKept'>,
  joined: string,
): Promise<string> {
  if (mayBeKept !== true || joined.length > RESPONSE_CHARS_MAX) return joined;
  const { sent, response } = asKept(joined, stream);
  const id = JSON.parse(memberText(response, 'id')!) as string;
  return (await deps.kept.has(orgId, id)) ? sent : joined;
}

/** What is sent of a response that is kept, and the response alone: of a stream that is a part of the last event. */
function asKept(joined: string, isStream: boolean): { sent: string; response: string } {
  if (!isStream) {
    const sent = setMember(joined, 'store', 'true');
    return { sent, response: sent };
  }
  const stored = setMember(memberText(joined, 'response')!, 'store', 'true');
  const response = appendMember(stored, 'receipt', memberText(joined, 'receipt')!);
  return { sent: setMember(joined, 'response', stored), response };
}
