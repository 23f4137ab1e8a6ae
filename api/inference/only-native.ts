import { type Fault, invalidParam } from '#shared/kernel/errors.ts';

/**
 * The first thing in a request that goes to servers alone that speak its interface themselves: chats have no words for it,
 * and without it the request would be another.
 */
export interface OnlyNative {
  /** The field that it is in. */
  field: string;
  /** `messages[2].content[1]` */
  place: string;
  /** In words that follow on its place: "a block of the type `container_upload`". */
  what: string;
}

/** What is said of it where no endpoint of the model speaks that interface. */
export function onlyNativeFault({ field, place, what }: OnlyNative, model: string): Fault {
  return invalidParam(
    field,
    `\`${place}\` is ${what}, which only a server takes that speaks this interface itself; those of the model ${model} take chat completions. Leave it out, or ask another model.`,
    place,
  );
}
