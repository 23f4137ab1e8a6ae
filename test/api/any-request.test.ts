/**
 * Requests of every kind, most of which are refused, and what their answers have in common. No part changes what another one
 * meets, so that one product is enough; what it has logged of all of them is looked at last.
 */
import { beforeAll, describe } from 'vitest';
import { ApiDescription } from '#test/support/api-description.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { errorsOfHttp } from './any-request/errors-http.ts';
import { errorsOfValidation } from './any-request/errors-validation.ts';
import { fuzz } from './any-request/fuzz.ts';
import { describedRequests } from './any-request/openapi.ts';

/** Small, so that a body over the limit is cheap to make. */
const BODY_BYTES_MAX = 256 * 1024;

let started: System;
let description: ApiDescription;
const system = (): System => started;
const api = (): ApiDescription => description;

beforeAll(async () => {
  const env = { BODY_BYTES_MAX: String(BODY_BYTES_MAX) };
  started = await startSystem({ replicas: {}, env });
  description = await ApiDescription.of(started.root);
});

describe('errors of HTTP', () => {
  errorsOfHttp(system, BODY_BYTES_MAX);
});
describe('errors of validation', () => {
  errorsOfValidation(system);
});
describe('described requests', () => {
  describedRequests(system, api);
});
describe('fuzz', () => {
  fuzz(system, api);
});
