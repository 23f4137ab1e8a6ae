/**
 * A lane entry and an inbox message are one string: a JSON head on the first line, then, if there is one,
 * the payload as it is. The payload (a request body, an answer, stream frames) is never escaped or parsed on its way.
 */
export interface Message<Head> {
  head: Head;
  payload: string;
}

/** Joins head and payload. JSON.stringify never emits a raw newline, so the first one ends the head. */
export function encodeMessage(head: object, payload: string = ''): string {
  const text = JSON.stringify(head);
  return payload === '' ? text : `${text}\n${payload}`;
}

/** Splits a message that `encodeMessage` made. Throws SyntaxError when the head is not JSON. */
export function decodeMessage<Head>(text: string): Message<Head> {
  const end = text.indexOf('\n');
  if (end === -1) return { head: JSON.parse(text) as Head, payload: '' };
  return { head: JSON.parse(text.slice(0, end)) as Head, payload: text.slice(end + 1) };
}
