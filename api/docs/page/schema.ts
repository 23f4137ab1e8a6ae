import type { ApiDocument, JsonSchema } from '../document-shape.ts';
import { html, type Html } from '#api/html.ts';
import { inline } from './markdown.ts';

/** Members within members are shown to this depth; what is deeper is in the document itself. */
const DEPTH_MAX = 4;

interface Shape extends JsonSchema {
  $ref?: string;
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Shape[];
  /** A truth value that the boolean is not, or, empty, everything: then nothing is of this shape. */
  not?: { const?: boolean };
  items?: Shape;
  properties?: Readonly<Record<string, Shape>>;
  required?: readonly string[];
  description?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  maximum?: number;
}

/** The members of an object as a list, those of nested objects beneath their own. */
export function membersOf(document: ApiDocument, schema: JsonSchema, depth = 0): Html {
  const shape = resolve(document, schema);
  const properties = Object.entries(shape.properties ?? {});
  if (depth >= DEPTH_MAX) return html``;
  if (properties.length === 0) return alternativesOf(document, shape, depth);
  return html`<dl class="members">
    ${properties.map(([name, member]) => {
      const inside = resolve(document, withoutNull(member));
      const nested = itemsOf(document, inside) ?? inside;
      return html`<dt>
          <code>${name}</code> <span class="type">${typeOf(member)}</span>${
            shape.required?.includes(name) === true
              ? html` <span class="required">required</span>`
              : ''
          }
        </dt>
        <dd>
          ${descriptionOf(member, inside)}${foldable(membersOf(document, nested, depth + 1))}
        </dd>`;
    })}
  </dl>`;
}

/** Objects that are told apart by one member, as messages are by `role`. */
function alternativesOf(document: ApiDocument, { anyOf = [] }: Shape, depth: number): Html {
  const objects = anyOf
    .map((one) => resolve(document, one))
    .filter(({ properties }) => properties !== undefined);
  if (objects.length < 2) return html``;
  return html`${objects.map((shape) => {
    const [tag, member] = Object.entries(shape.properties!).find(
      ([, { const: value, enum: values }]) => value !== undefined || values !== undefined,
    ) ?? ['', {}];
    return html`<details>
      <summary>${tag} ${typeOf(member)}</summary>
      ${membersOf(document, shape, depth + 1)}
    </details>`;
  })}`;
}

function foldable(members: Html): Html {
  if (members.text === '') return members;
  return html`<details>
    <summary>members</summary>
    ${members}
  </details>`;
}

function descriptionOf(member: Shape, inside: Shape): Html {
  const text = member.description ?? withoutNull(member).description ?? inside.description;
  return inline(text ?? '');
}

/** A schema in a few words: `number 0..2`, `array of strings`, `"auto" | "none"`. */
export function typeOf(schema: JsonSchema): string {
  const shape = schema as Shape;
  if (shape.$ref !== undefined) return shape.$ref.slice(shape.$ref.lastIndexOf('/') + 1);
  if (shape.const !== undefined) return JSON.stringify(shape.const);
  if (shape.enum !== undefined) return shape.enum.map((one) => JSON.stringify(one)).join(' | ');
  if (shape.anyOf !== undefined) {
    const possible = shape.anyOf.filter(({ not }) => not === undefined || 'const' in not);
    const words = possible.map((one) => typeOf(one));
    return [...new Set(words)].join(' | ');
  }
  if (shape.not?.const !== undefined) return String(!shape.not.const);
  if (shape.type === 'array') {
    return shape.items === undefined ? 'array' : `array of ${typeOf(shape.items)}`;
  }
  return `${shape.type ?? 'any'}${rangeOf(shape)}`;
}

function rangeOf({ minimum, exclusiveMinimum, maximum }: Shape): string {
  const from = minimum ?? exclusiveMinimum;
  if (maximum === undefined) return from === undefined ? '' : ` ≥ ${from}`;
  return ` ${from ?? ''}..${maximum}`;
}

function withoutNull(schema: Shape): Shape {
  const rest = schema.anyOf?.filter(({ type }) => type !== 'null') ?? [];
  return rest.length === 1 ? rest[0]! : schema;
}

function itemsOf(document: ApiDocument, schema: Shape): Shape | undefined {
  if (schema.items === undefined) return undefined;
  return resolve(document, withoutNull(schema.items));
}

function resolve(document: ApiDocument, schema: JsonSchema): Shape {
  const { $ref } = schema as Shape;
  if ($ref === undefined) return schema;
  return document.components.schemas[$ref.slice($ref.lastIndexOf('/') + 1)] as Shape;
}
