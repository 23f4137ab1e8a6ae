/**
 * A product with endpoints for stand-ins of providers, a second stage of screening, and a collector of traces. One is enough for all parts: each asks
 * models of its own, or leaves those of the sandbox as it found them. What counts by all that was answered, or by a whole
 * process, comes first, and what opens circuits last.
 */
import { beforeAll, describe } from 'vitest';
import { Collector } from '#test/support/collector.ts';
import { atFileEnd } from '#test/support/file-end.ts';
import { NativeUpstream } from '#test/support/native-upstream.ts';
import { ResponsesUpstream } from '#test/support/responses-upstream.ts';
import { startSystem, type System } from '#test/support/system.ts';
import { accessLog } from './configured/access-log.ts';
import { writeCatalogue } from './configured/catalogue.ts';
import { upstreamFaults } from './configured/upstream-faults.ts';
import { keptResponses } from './configured/kept-responses.ts';
import { LargeUpstream, largeAnswers } from './configured/large-answers.ts';
import { metrics } from './configured/metrics.ts';
import { nativeMessages } from './configured/native-messages.ts';
import { nativeProviders } from './configured/native-providers.ts';
import { recalculation } from './configured/recalculation.ts';
import { responses } from './configured/responses.ts';
import { ModerationUpstream, secondScreening } from './configured/second-screening.ts';
import { signingKeys } from './configured/signing-keys.ts';
import { traces } from './configured/traces.ts';
import { PAGE_ORIGIN, ToldUpstream, unbufferedStreams } from './configured/unbuffered-streams.ts';

const upstreams = {
  large: new LargeUpstream(),
  told: new ToldUpstream(),
  responses: new ResponsesUpstream(),
  native: new NativeUpstream(),
};
const moderation = new ModerationUpstream();
const collector = new Collector();
let started: System;
const system = (): System => started;

beforeAll(async () => {
  for (const upstream of [...Object.values(upstreams), moderation, collector])
    atFileEnd(() => upstream.close());
  const { large, told, native } = upstreams;
  const catalogue = writeCatalogue({
    large: await large.listen(),
    told: await told.listen(),
    responses: await upstreams.responses.listen(),
    native: await native.listen(),
  });
  started = await startSystem({
    // Figures of the inference worker are looked at, and the one for receipts reads the catalogue again.
    replicas: {},
    env: {
      CATALOGUE: catalogue,
      ACCESS_LOG: 'json',
      OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(),
      CORS_ORIGINS: PAGE_ORIGIN,
      MODERATION_URL: `${await moderation.listen()}/v1`,
      ANTHROPIC_API_KEY: 'sk-anthropic',
      GEMINI_API_KEY: 'sk-gemini',
    },
  });
});

describe('recalculation', () => {
  recalculation(system);
});
describe('access log', () => {
  accessLog(system);
});
describe('metrics', () => {
  metrics(system);
});
describe('traces', () => {
  traces(system, collector);
});
describe('large answers', () => {
  largeAnswers(system);
});
describe('unbuffered streams', () => {
  unbufferedStreams(system, upstreams.told);
});
describe('second screening', () => {
  secondScreening(system, moderation);
});
describe('signing keys', () => {
  signingKeys(system);
});
describe('responses', () => {
  responses(system, upstreams.responses);
});
describe('kept responses', () => {
  keptResponses(system, upstreams.responses);
});
describe('native providers', () => {
  nativeProviders(system, upstreams.native);
});
describe('native messages', () => {
  nativeMessages(system, upstreams.native);
});
describe('upstream faults', () => {
  upstreamFaults(system);
});
