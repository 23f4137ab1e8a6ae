import { invalidParam } from '#shared/kernel/errors.ts';
import { isObject, type JsonObject, listOf } from '#shared/kernel/json-object.ts';

/** An item of an input that stands for another, which is kept. */
export interface Reference {
  /** Its place in the input. */
  readonly at: number;
  /** What it names. */
  readonly id: string;
}

/** The references in an input, in their order. A reference need not say that it is one. */
export function referencesIn(input: unknown): Reference[] {
  const found: Reference[] = [];
  for (const [at, item] of listOf(input).entries())
    if (isObject(item) && isReference(item)) found.push({ at, id: String(item['id']) });
  return found;
}

function isReference({ type, role, id }: JsonObject): boolean {
  return type === 'item_reference' || (type == null && role == null && typeof id === 'string');
}

/** The items that go by the name of what they name, and those that it is named by. */
const OUTPUTS: Readonly<Record<string, string>> = {
  function_call_output: 'function_call',
  custom_tool_call_output: 'custom_tool_call',
};

/**
 * Refuses what came of a call where the call is not in the input: no server could make sense of it. `placeOf` says where an
 * item stood in the request, or undefined of those that its caller did not send now.
 * @throws Fault `invalid_input`
 */
export function refuseOrphans(
  input: unknown,
  placeOf: (at: number) => string | undefined = (at) => `input[${at}].call_id`,
): void {
  let called: Set<string> | undefined;
  const items = listOf(input);
  for (const [at, item] of items.entries()) {
    const call = isObject(item) ? callOf(item) : undefined;
    if (call === undefined) continue;
    called ??= new Set(items.filter(isObject).map(nameOf));
    const place = called.has(nameOf({ ...(item as JsonObject), type: call }))
      ? undefined
      : placeOf(at);
    if (place === undefined) continue;
    throw invalidParam(
      'input',
      `The \`${call}\` of this output is neither in the input nor in what it goes on from: send the call beside it.`,
      place,
    );
  }
}

/** The type of the call that an item is the output of. */
function callOf({ type, call_id: id }: JsonObject): string | undefined {
  return typeof type === 'string' && typeof id === 'string' && Object.hasOwn(OUTPUTS, type)
    ? OUTPUTS[type]
    : undefined;
}

function nameOf({ type, call_id: id }: JsonObject): string {
  return `${String(type)} ${String(id)}`;
}
