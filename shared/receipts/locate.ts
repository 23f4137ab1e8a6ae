import { members } from '#shared/kernel/json-text.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';

/** What is no receipt by itself but may carry one: a field of a stream's frame, or a comment between frames. */
const STREAM_START = /^(?:data:|event:|id:|retry:|:)/;

/**
 * The text of the receipt in what somebody saved: a receipt, an API answer with `receipt` at its top level, or a whole
 * stream of which one chunk has it. What is neither is returned as it is, for the parser to refuse.
 * @throws MalformedData when there are several receipts, or a stream without one.
 */
export function locateReceipt(source: string): string {
  const text = source.trim();
  if (!STREAM_START.test(text)) return receiptIn(text) ?? text;
  const found = payloads(text).flatMap((payload) => receiptIn(payload) ?? []);
  if (found.length === 1) return found[0]!;
  const code = found.length === 0 ? 'missing_field' : 'duplicate_key';
  throw new MalformedData(code, 'receipt', `the stream has ${found.length} receipts`);
}

/** The receipt of an answer, or undefined when the text is no answer. */
function receiptIn(text: string): string | undefined {
  if (!isObject(text)) return undefined;
  const found = members(text);
  // A receipt itself is told by its context, which no answer has.
  if (found.some(({ key }) => key === '@context')) return undefined;
  const receipts = found.filter(({ key }) => key === 'receipt');
  if (receipts.length > 1) throw new MalformedData('duplicate_key', 'receipt', 'stands twice');
  return receipts[0] && text.slice(receipts[0].valueStart, receipts[0].valueEnd);
}

/** The data of each event, its lines joined (WHATWG HTML, 9.2.6). */
function payloads(stream: string): string[] {
  return stream.split(/(?:\r\n|\r|\n){2,}/).map((event) =>
    event
      .split(/\r\n|\r|\n/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice('data:'.length).trim())
      .join('\n'),
  );
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
