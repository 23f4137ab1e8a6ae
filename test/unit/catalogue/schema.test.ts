import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import schema from '../../../docs/catalogue.schema.json' with { type: 'json' };

interface Node {
  type?: string;
  properties?: Record<string, Node>;
  additionalProperties?: boolean;
  pattern?: string;
  description?: string;
}

/** Every object schema in the published file, with where it stands. */
function objects(node: unknown, at = '#'): [string, Node][] {
  if (typeof node !== 'object' || node === null) return [];
  const here: [string, Node][] = Array.isArray(node) ? [] : [[at, node]];
  return [
    ...here,
    ...Object.entries(node).flatMap(([key, value]) => objects(value, `${at}/${key}`)),
  ];
}

describe('docs/catalogue.schema.json', () => {
  it('is a valid JSON Schema 2020-12', () => {
    expect(new Ajv2020({ strict: false }).validateSchema(schema)).toBe(true);
  });

  it('refuses unknown fields in every object', () => {
    const open = objects(schema).filter(
      ([, node]) =>
        node.properties !== undefined &&
        node.type === 'object' &&
        node.additionalProperties !== false,
    );
    expect(open.map(([at]) => at)).toEqual([]);
  });

  it('describes every pattern in words', () => {
    const silent = objects(schema).filter(
      ([, node]) => typeof node.pattern === 'string' && typeof node.description !== 'string',
    );
    expect(silent.map(([at]) => at)).toEqual([]);
  });
});
