import { Ajv, type Options, type ValidateFunction } from 'ajv';
import type { FastifyInstance, FastifySchemaCompiler, preValidationHookHandler } from 'fastify';

type Validation = ReturnType<FastifySchemaCompiler<unknown>>;

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
  app.setValidatorCompiler<object>(({ schema, httpPart }) => {
    if (httpPart === 'body') return compiledOnUse(ofJson, schema);
    // A misspelt filter would otherwise be an answer to another question.
    const closed = httpPart === 'querystring' ? { additionalProperties: false } : {};
    // Where a route says that it is open, others of its interface have parameters there that change nothing here.
    return compiledOnUse(ofText, { ...closed, ...schema });
  });
  app.addHook('onRoute', (route) => {
    if (route.schema?.bodyOptional === true) route.preValidation = readAbsentBodyAsEmpty;
  });
}

/** A process is asked few of its routes, and compiling all of them is a tenth of its start. */
function compiledOnUse(ajv: Ajv, schema: object): Validation {
  let compiled: ValidateFunction | undefined;
  const validate: Validation = (value) => {
    compiled ??= ajv.compile(schema);
    const isValid = compiled(value);
    validate.errors = compiled.errors ?? null;
    return isValid;
  };
  return validate;
}

const readAbsentBodyAsEmpty: preValidationHookHandler = (request, _reply, done) => {
  request.body ??= {};
  done();
};
