import serialisers from '@fastify/fast-json-stringify-compiler';

/**
 * Fastify's own serialisers of answers, each compiled when the first such answer is written: a process gives few of those that
 * its routes declare, and compiling all of them is a seventh of its start. A test compiles all.
 */
export const serialisersOnUse: serialisers.SerializerFactory = (schemas, options) => {
  const compile = serialisers()(schemas, options);
  return (route) => {
    let serialise: serialisers.Serializer | undefined;
    return (answer) => {
      serialise ??= compile(route);
      return serialise(answer);
    };
  };
};
