import type { ResponseNames } from '#shared/dialects/response-object.ts';
import { receiptIdOf, timeOfId } from '#shared/kernel/ids.ts';
import type { InferenceEntry } from '#shared/lanes/messages.ts';
import type { Admission } from '#shared/lanes/redis/admission.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Keeping } from '../kept/kept-responses.ts';
import type { UnroutedEntry } from '../read.ts';
import { refusalOf } from './refusals.ts';

/** A request in the pipeline, or one whose answer is that of an identical one. */
export interface Admitted {
  /** To be opened when its replies may be heard. */
  readonly exchange: Exchange;
  readonly entry: Readonly<UnroutedEntry>;
  /** The entry that is on a lane; null when an identical request is there, or was. */
  readonly run: Readonly<InferenceEntry> | null;
  /** What its answer is known by, or that of the identical one. */
  readonly names: Readonly<ResponseNames>;
  /** The answer is stored already. */
  readonly stored: boolean;
  /** Headers of the answer that are known now; the exchange knows the region, which may change. */
  readonly headers: Readonly<Record<string, string>>;
  /** What is to be kept with its response. */
  readonly keeping?: Keeping;
  /** The response of an identical request may have been kept. */
  readonly mayBeKept?: boolean;
}

/** A request that is not run itself: an identical one is, or was. @throws Fault when it is refused */
export function repeated(
  admission: Exclude<Admission, { verdict: 'admitted' }>,
  exchange: Exchange,
  {
    limits,
    pin,
    model,
  }: { limits: Readonly<Record<string, string>>; pin: string | null; model: string },
): Admitted {
  const { verdict } = admission;
  if (verdict === 'recorded' || verdict === 'arrived')
    throw new Error(`a request to be run was ${verdict}`);
  if (verdict !== 'wait' && verdict !== 'replay') throw refusalOf(admission, pin, limits);
  const headers = {
    ...limits,
    'idempotent-replayed': 'true',
    'x-receipt-id': receiptIdOf(admission.requestId),
  };
  const stored = verdict === 'replay';
  const { requestId } = admission;
  exchange.joined(stored ? null : requestId);
  const { entry } = exchange;
  const names = { requestId, startedAt: timeOfId(requestId), model, previous: entry.previous };
  return { exchange, entry, run: null, names, stored, headers };
}
