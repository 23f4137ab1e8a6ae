import { isObject } from '#shared/kernel/json-object.ts';

/**
 * Finish reasons of servers that gave up: vLLM and SGLang (`abort`, `error`), DeepSeek (`insufficient_system_resource`),
 * gateways before them.
 */
const GAVE_UP: ReadonlySet<string> = new Set([
  'abort',
  'aborted',
  'cancelled',
  'canceled',
  'error',
  'insufficient_system_resource',
  'interrupted',
]);

/** Whether a server says of a choice, or of a piece of it, that it came to its end. Some write `""` until it does. */
export function isFinished(choice: unknown): boolean {
  if (!isObject(choice)) return false;
  const reason = choice['finish_reason'];
  return typeof reason === 'string' && reason !== '' && !GAVE_UP.has(reason);
}
