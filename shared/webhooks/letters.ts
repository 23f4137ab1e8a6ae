import { draft, type Draft } from '#shared/accounts/letters.ts';
import { named } from '#shared/kernel/plain-text.ts';
import { dateTime } from '#shared/kernel/time.ts';

/** The e-mail to the owners about an endpoint that is paused. Its address may open a door, so that its host alone is named. */
export function draftOfPaused(
  endpoint: { address: string; description: string },
  { reason, failingSince }: { reason: 'gone' | 'failing'; failingSince: number },
): Draft {
  const { host } = new URL(endpoint.address);
  const called =
    endpoint.description === '' ? named(host) : `${named(endpoint.description)} at ${named(host)}`;
  return draft(`Webhook at ${named(host)} is paused`, [
    reason === 'gone'
      ? `The webhook ${called} answered that it is gone (410).`
      : `Nothing has arrived at the webhook ${called} since ${dateTime(failingSince)}.`,
    'It is paused: no message is sent to it, and what happens meanwhile is not kept for it. Owners and admins resume it on the page Webhooks.',
  ]);
}
