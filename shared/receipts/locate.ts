import { isJsonObject } from '#shared/kernel/json-object.ts';
import { dropMembers, members, memberText, setMember } from '#shared/kernel/json-text.ts';
import { MalformedData } from '#shared/kernel/malformed-data.ts';
import { BeyondBounds, BOUNDS, type Bounds, checkJson } from './bounds.ts';

/** What is no receipt by itself but may carry one: a field of a stream's frame, or a comment between frames. */
const STREAM_START = /^(?:data:|event:|id:|retry:|:)/;

/** What stands in a saved file. */
export interface Located {
  /** The text of the receipt. */
  receipt: string;
  /** The answer that carries it. Undefined for a receipt alone. */
  answer?: SavedAnswer;
}

/** An answer as it was saved. */
export interface SavedAnswer {
  /** Without its receipt: one text, or the payloads of a stream. */
  pieces: readonly string[];
  /** A payload follows the word that ends a stream, which no service sends. */
  isContinued?: boolean;
  /** What was dropped, where the receipt came from elsewhere: it has to be the same. */
  receipts?: readonly string[];
}

/**
 * The text of the receipt in what was saved, and the answer around it: a receipt, an API answer with `receipt` at its
 * top level, or a whole stream of which one chunk has it. What is neither is returned as it is, for the parser to refuse.
 * @throws MalformedData when there are several receipts, or a stream without one.
 * @throws BeyondBounds
 */
export function locateReceipt(source: string, bounds: Bounds = BOUNDS): Located {
  const text = source.trim();
  if (!STREAM_START.test(text)) {
    checkJson(text, bounds);
    const receipt = receiptIn(text);
    if (receipt === undefined) return { receipt: text };
    return { receipt, answer: { pieces: [source.replace(text, () => objectAsDigested(text))] } };
  }
  const { pieces, isContinued } = payloads(text, bounds);
  const found = pieces.flatMap((payload) => receiptIn(payload) ?? []);
  if (found.length === 1) {
    return { receipt: found[0]!, answer: { pieces: pieces.map(asDigested), isContinued } };
  }
  const code = found.length === 0 ? 'missing_field' : 'duplicate_key';
  throw new MalformedData(code, 'receipt', `the stream has ${found.length} receipts`);
}

/** An answer that was saved without its receipt, or with it: one text, or the payloads of a stream. @throws BeyondBounds */
export function answerIn(source: string, bounds: Bounds = BOUNDS): SavedAnswer {
  const text = source.trim();
  if (!STREAM_START.test(text)) {
    checkJson(text, bounds);
    // Each time that a long text is parsed costs as much memory again.
    if (!isJsonObject(text)) return { pieces: [source], receipts: [] };
    const pieces = [source.replace(text, () => objectAsDigested(text))];
    return { pieces, receipts: receiptsOf(text) };
  }
  const { pieces, isContinued } = payloads(text, bounds);
  const objects = pieces.filter(isJsonObject);
  return { pieces: pieces.map(asDigested), isContinued, receipts: objects.flatMap(receiptsOf) };
}

/** The receipt of an answer, or undefined when the text is no answer. */
function receiptIn(text: string): string | undefined {
  if (!isJsonObject(text)) return undefined;
  const found = members(text);
  // A receipt itself is told by its context, which no answer has.
  if (found.some(({ key }) => key === '@context')) return undefined;
  const receipts = found.filter(({ key }) => key === 'receipt');
  if (receipts.length > 1) throw new MalformedData('duplicate_key', 'receipt', 'stands twice');
  return receipts[0] && text.slice(receipts[0].valueStart, receipts[0].valueEnd);
}

function receiptsOf(text: string): string[] {
  return members(text)
    .filter(({ key }) => key === 'receipt')
    .map(({ valueStart, valueEnd }) => text.slice(valueStart, valueEnd));
}

/**
 * A text as it was when it was digested: without its receipt, and, of a response that was kept after that, with `store` false.
 */
function asDigested(text: string): string {
  return isJsonObject(text) ? objectAsDigested(text) : text;
}

function objectAsDigested(text: string): string {
  const bare = dropMembers(text, ['receipt']);
  const response = memberText(bare, 'response');
  if (response === undefined || !isJsonObject(response)) return asUnkept(bare);
  const unkept = asUnkept(response);
  return unkept === response ? bare : setMember(bare, 'response', unkept);
}

function asUnkept(response: string): string {
  const isKept = memberText(response, 'store') === 'true';
  return isKept && memberText(response, 'object') === '"response"'
    ? setMember(response, 'store', 'false')
    : response;
}

/** The data of each event, its lines joined (WHATWG HTML, 9.2.6), without the word that ends a stream. */
function payloads(stream: string, bounds: Bounds): Required<Omit<SavedAnswer, 'receipts'>> {
  const pieces: string[] = [];
  let hasEnded = false;
  let isContinued = false;
  let lines: string[] = [];
  const endEvent = (): void => {
    const payload = lines.join('\n');
    lines = [];
    if (payload.trim() === '[DONE]') hasEnded = true;
    else if (payload !== '') {
      if (pieces.length === bounds.events) throw new BeyondBounds(bounds.events, 'events');
      checkJson(payload, bounds);
      pieces.push(payload);
      isContinued ||= hasEnded;
    }
  };
  for (const line of linesOf(stream)) {
    if (line.startsWith('data:')) lines.push(line.slice(line[5] === ' ' ? 6 : 5));
    else if (line === '' && lines.length > 0) endEvent();
  }
  endEvent();
  return { pieces, isContinued };
}

/** One after the other, because a saved file may have as many of them as it has characters. */
function* linesOf(text: string): Generator<string> {
  let [feed, carriage] = [-1, -1];
  const next = (character: string, from: number): number => {
    const found = text.indexOf(character, from);
    return found === -1 ? text.length : found;
  };
  for (let at = 0; at <= text.length;) {
    if (feed < at) feed = next('\n', at);
    if (carriage < at) carriage = next('\r', at);
    const end = Math.min(feed, carriage);
    yield text.slice(at, end);
    at = carriage + 1 === feed ? feed + 1 : end + 1;
  }
}
