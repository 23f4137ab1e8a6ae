import diagnostics from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';
import { expect, it } from 'vitest';
import type { Answer } from '#api/docs/operation.ts';
import { serialisersOnUse } from '#api/plugins/serialisers.ts';
import { buildTestApp, NO_DATABASE } from '#test/support/app.ts';

/** All routes that an app declares. */
async function routesOf(
  build: () => Promise<FastifyInstance>,
): Promise<{ app: FastifyInstance; routes: RouteOptions[] }> {
  const routes: RouteOptions[] = [];
  const listen = (message: unknown): void => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', (route) => {
      routes.push(route);
    });
  };
  diagnostics.subscribe('fastify.initialization', listen);
  const app = await build();
  await app.ready();
  diagnostics.unsubscribe('fastify.initialization', listen);
  return { app, routes };
}

const { app, routes } = await routesOf(() => buildTestApp(NO_DATABASE));
const nameOf = ({ method, url }: RouteOptions): string => `${String(method)} ${url}`;

const declared = routes.flatMap((route) =>
  (['body', 'querystring', 'params'] as const)
    .filter((part) => route.schema?.[part] !== undefined)
    .map((httpPart) => ({ name: `${httpPart} of ${nameOf(route)}`, route, httpPart })),
);

it.each(declared)(
  'the schema of the $name compiles, which a process finds out at its first such request',
  ({ route, httpPart }) => {
    const schema = route.schema![httpPart];
    const validate = app.validatorCompiler!({ schema, method: '', url: '', httpPart });
    expect(() => validate({})).not.toThrow();
  },
);

const answered = routes.flatMap((route) =>
  Object.entries((route.schema?.response ?? {}) as Record<string, Answer>).flatMap(
    ([status, { content = {} }]) =>
      Object.entries(content)
        .filter(([type]) => type === 'application/json')
        .map(([, { schema, examples }]) => ({
          name: `${status} of ${nameOf(route)}`,
          schema,
          examples: Object.values(examples),
        })),
  ),
);

it.each(answered)('an answer $name is written as it is', ({ name, schema, examples }) => {
  const [httpStatus = '', method = '', url = ''] = name.split(/ of | /);
  const serialise = serialisersOnUse({}, {})({ schema, method, url, httpStatus });
  expect(examples).not.toHaveLength(0);
  for (const example of examples) {
    expect(JSON.parse(serialise(example))).toEqual(JSON.parse(JSON.stringify(example)));
  }
});

it('these are the schemas of all routes', () => {
  expect(declared.length).toBeGreaterThan(40);
  expect(answered.length).toBeGreaterThan(40);
});
