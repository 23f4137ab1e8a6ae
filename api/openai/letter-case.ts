import type { TSchema } from 'typebox';
import { invalidParam } from '#shared/kernel/errors.ts';
import { dotted } from '#shared/kernel/flaw.ts';

/**
 * Refuses members that are known ones in another spelling: `"Messages"` beside `messages`, `"maxTokens"` beside `max_tokens`.
 * Some upstreams (Go's decoders, and those of protocol buffers) take such names for the known ones, and of several the last,
 * so such a member would be read there and by no check here. Names inside free objects (a tool's JSON Schema) are the
 * caller's own.
 * @throws Fault `invalid_<param>` with the path of the member
 */
export type CheckCase = (body: object) => void;

/** What a schema knows of the members of a value: one for all alternatives of a union. */
interface Shape {
  /** The known members, each with what is known below it. */
  readonly members: Map<string, Shape>;
  /** Known members by what all spellings of their names have in common. */
  readonly likenesses: Map<string, string>;
  /** Of the elements, where the value may be an array. */
  items: Shape | undefined;
}

/** Prepared once per schema: a request costs one look-up for each of its known members. */
export function caseCheckOf(schema: TSchema): CheckCase {
  const shape = shapeOf(schema, emptyShape());
  return (body) => walk(body, shape, []);
}

function walk(value: unknown, shape: Shape, path: (string | number)[]): void {
  if (typeof value !== 'object' || value === null) return;
  if (Array.isArray(value)) {
    if (shape.items === undefined) return;
    for (let index = 0; index < value.length; index += 1) {
      const item: unknown = value[index];
      // Most arrays are of texts or token ids.
      if (typeof item !== 'object' || item === null) continue;
      path.push(index);
      walk(item, shape.items, path);
      path.pop();
    }
    return;
  }
  if (shape.members.size === 0) return;
  for (const name in value) {
    const member: unknown = (value as Record<string, unknown>)[name];
    const below = shape.members.get(name);
    if (below === undefined) refuseLikeness(name, shape, path);
    else if (typeof member === 'object' && member !== null) {
      path.push(name);
      walk(member, below, path);
      path.pop();
    }
  }
}

function refuseLikeness(name: string, shape: Shape, path: readonly (string | number)[]): void {
  const known = shape.likenesses.get(likenessOf(name));
  if (known === undefined) return;
  const here = dotted([...path, known]);
  // The parameter is the known one, and not the caller's spelling: that may be any text.
  throw invalidParam(
    String(path[0] ?? known),
    `\`${here}\` has to be spelt exactly so: the body has it in another spelling.`,
    here,
  );
}

/** Upper case first: by way of it the long s and the Kelvin sign become the letters that Go's decoder takes them for. */
function fold(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/**
 * What a name has in common with all that a server may take for it: those in other letters, and those in camel case or with
 * hyphens, which decoders of protocol buffers and Go's second decoder read as the same. `Best_Of`, `bestOf` and `best-of`
 * are alike.
 */
export function likenessOf(name: string): string {
  return fold(name).replaceAll(/[_-]/g, '');
}

function emptyShape(): Shape {
  return { members: new Map(), likenesses: new Map(), items: undefined };
}

interface SchemaParts {
  anyOf?: TSchema[];
  items?: TSchema;
  properties?: Record<string, TSchema>;
}

/** Adds what a schema knows to a shape, and gives it back. */
function shapeOf(schema: TSchema, shape: Shape): Shape {
  const { anyOf = [], items, properties = {} } = schema as SchemaParts;
  for (const one of anyOf) shapeOf(one, shape);
  if (items !== undefined) shape.items = shapeOf(items, shape.items ?? emptyShape());
  for (const [name, property] of Object.entries(properties)) {
    shape.members.set(name, shapeOf(property, shape.members.get(name) ?? emptyShape()));
    shape.likenesses.set(likenessOf(name), name);
  }
  return shape;
}
