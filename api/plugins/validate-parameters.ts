import { Ajv, type Options } from 'ajv';
import type { FastifyInstance, preValidationHookHandler } from 'fastify';

/**
 * Keywords that only describe are ours to use; `useDefaults` is what makes a missing `limit` 20. `verbose` gives a refusal
 * the schema that was not met, of which its words are made. That schemas are ones is tested with the description of the API,
 * and takes a start more time than compiling them.
 */
const OPTIONS: Options = {
  useDefaults: true,
  strict: false,
  verbose: true,
  validateSchema: false,
  code: { optimize: false },
};

/**
 * Validates what routes declare. A query and a path are text, so their numbers are read out of it. A body is taken at its
 * word, where `"5"` is no number. In neither is a misspelt name dropped without a word.
 */
export function validateParameters(app: FastifyInstance): void {
  const ofText = new Ajv({ ...OPTIONS, coerceTypes: true });
  const ofJson = new Ajv(OPTIONS);
  app.setValidatorCompiler(({ schema, httpPart }) => {
    if (httpPart === 'body') return ofJson.compile(schema as object);
    // A misspelt filter would otherwise be an answer to another question.
    const closed = httpPart === 'querystring' ? { additionalProperties: false } : {};
    return ofText.compile({ ...(schema as object), ...closed });
  });
  app.addHook('onRoute', (route) => {
    if (route.schema?.bodyOptional === true) route.preValidation = readAbsentBodyAsEmpty;
  });
}

const readAbsentBodyAsEmpty: preValidationHookHandler = (request, _reply, done) => {
  request.body ??= {};
  done();
};
