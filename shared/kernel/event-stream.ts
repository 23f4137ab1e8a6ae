import { memberText } from './json-text.ts';
import type { Route } from './inference.ts';

/** Whether the events of a route have names, of which the last says that it is the last: no `[DONE]` follows it. */
export function hasNamedEvents(route: Route): boolean {
  return route === 'responses' || route === 'messages';
}

/**
 * Frames a payload as the server-sent event that the clients of a route read. A payload over several lines becomes as many
 * data fields. Events that are named are so by their own `type`.
 */
export function frameOf(payload: string, route: Route): string {
  const data = payload.includes('\n') ? payload.replaceAll(/\r?\n/g, '\ndata: ') : payload;
  return hasNamedEvents(route)
    ? `event: ${typeOf(payload)}\ndata: ${data}\n\n`
    : `data: ${data}\n\n`;
}

/** A line break in a name would begin another field. */
function typeOf(payload: string): string {
  const type: unknown = JSON.parse(memberText(payload, 'type') ?? '""');
  return String(type).replaceAll(/\s/g, ' ');
}
