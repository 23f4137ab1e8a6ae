import { spawn } from 'node:child_process';
import { text as textOf } from 'node:stream/consumers';
import { join } from 'node:path';
import { pino } from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { loadConfig } from '#shared/config/config.ts';
import { readTraceparent } from '#shared/kernel/traceparent.ts';
import { createLogger } from '#shared/process/logger.ts';
import { openTraces } from '#shared/process/traces/open-traces.ts';
import { childEnvironment } from '#test/support/child-environment.ts';
import { Collector, pathsOf } from '#test/support/collector.ts';
import { until } from '#test/support/until.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SPAN = 'b7ad6b7169203331';
const ROOT = join(import.meta.dirname, '../../..');
const STORES = {
  DATABASE_URL: 'postgres://h/d',
  REDIS_URL: 'redis://h',
  SUPPORT_EMAIL: 'support@docket.example',
};

let collector: Collector;
let origin: string;
beforeEach(async () => {
  collector = new Collector();
  origin = await collector.listen();
  onTestFinished(() => collector.close());
});

async function open(env: Record<string, string> = {}, log = pino({ level: 'silent' })) {
  const config = loadConfig({ ...STORES, OTEL_EXPORTER_OTLP_ENDPOINT: origin, ...env });
  return (await openTraces({ config, log, processId: 'api-1' }, 'api'))!;
}

describe('the traces of a process', () => {
  it('a span is within the one that a caller names, with its state, and what is begun within it is within it, in any process', async () => {
    const traces = await open();
    const state = 'vendor=value';
    const [outer, another] = [`00-${TRACE}-${SPAN}-01`, await open({ OTEL_SERVICE_NAME: 'b' })];
    const root = traces.begin('GET', { kind: 'server', parent: outer, tracestate: state });
    const inner = traces.begin('inner', { parent: root, attributes: { n: 1, none: undefined } });
    const far = another.begin('far', {
      kind: 'consumer',
      parent: inner.traceparent,
      links: [root],
    });
    far.end({ errorType: 'broken' });
    inner.end();
    root.end({ name: 'GET /x', errorType: 'invalid_key', isCallers: true });
    root.end({ name: 'too late' });
    await Promise.all([traces.stop(), another.stop()]);
    const { spans } = collector;
    expect(pathsOf(spans, SPAN)).toEqual(['GET /x', 'GET /x > inner', 'GET /x > inner > far']);
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
    const of = (name: string) => spans.find((span) => span.name === name)!;
    expect(of('GET /x')).toMatchObject({
      kind: 2,
      traceState: state,
      isError: false,
      attributes: { 'error.type': 'invalid_key' },
      service: 'docket-api',
    });
    expect(of('inner').attributes).toEqual({ n: 1 });
    expect(of('far')).toMatchObject({
      kind: 5,
      isError: true,
      service: 'b',
      links: [of('GET /x').spanId],
    });
    expect(collector.paths).toEqual(['/v1/traces', '/v1/traces']);
  });

  it('a caller that does not sample leaves no span, nor does one that has had its share, and where its span stands goes on', async () => {
    const traces = await open();
    const span = traces.begin('GET', { parent: `00-${TRACE}-${SPAN}-00` });
    span.end();
    const beyond = traces.begin('GET', { parent: `00-${TRACE}-${SPAN}-01`, isUnrecorded: true });
    beyond.end();
    expect(readTraceparent(beyond.traceparent)).toMatchObject({ traceId: TRACE, isSampled: false });
    await traces.stop();
    expect(collector.spans).toEqual([]);
    expect(readTraceparent(span.traceparent)).toMatchObject({ traceId: TRACE, isSampled: false });
    expect(span.isRecorded).toBe(false);
  });

  it.each([
    ['parentbased_traceidratio', '0', { alone: false, sampled: true, unsampled: false }],
    ['parentbased_always_on', '0', { alone: true, sampled: true, unsampled: false }],
    ['parentbased_always_off', '1', { alone: false, sampled: true, unsampled: false }],
    ['traceidratio', '0', { alone: false, sampled: false, unsampled: false }],
    ['traceidratio', '1', { alone: true, sampled: true, unsampled: true }],
    ['always_on', '0', { alone: true, sampled: true, unsampled: true }],
    ['always_off', '1', { alone: false, sampled: false, unsampled: false }],
  ])('%s with %s samples what it says, of requests alone and of callers', async (...row) => {
    const [sampler, share, isRecorded] = row;
    const traces = await open({ OTEL_TRACES_SAMPLER: sampler, OTEL_TRACES_SAMPLER_ARG: share });
    const of = (parent?: string) => traces.begin('a', { parent }).isRecorded;
    const [alone, sampled] = [of(), of(`00-${TRACE}-${SPAN}-01`)];
    const unsampled = of(`00-${TRACE}-${SPAN}-00`);
    expect({ alone, sampled, unsampled }).toEqual(isRecorded);
    await traces.stop();
  });

  it.each(['zz', `00-${'0'.repeat(32)}-${SPAN}-01`, 'a'.repeat(10_000)])(
    'a parent that is none begins a trace, with no state: %.20s',
    async (parent) => {
      const traces = await open();
      traces.begin('GET', { parent, tracestate: 'vendor=value' }).end();
      await traces.stop();
      const [span] = collector.spans;
      expect(span?.parentSpanId ?? '').toBe('');
      expect(span?.traceState).toBeUndefined();
    },
  );

  it('the collector is told what the settings say: headers, which no log has, and attributes of every process', async () => {
    const traces = await open({
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20canary, x-part=one',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=pre%20production',
    });
    traces.begin('GET').end();
    await traces.stop();
    expect(collector.headers[0]).toMatchObject({
      authorization: 'Bearer canary',
      'x-part': 'one',
    });
    expect(collector.bodies[0]).toContain('pre production');
    expect(collector.bodies[0]).not.toContain('canary');
  });

  /** What a logger writes, line by line. */
  function lines() {
    const written: string[] = [];
    const destination = { write: (line: string) => void written.push(line) };
    const log = createLogger({ role: 'api', level: 'info', destination });
    return { log, written };
  }

  it('a collector that answers errors costs spans and one line, and nothing waits for it [metrics.traces]', async () => {
    const { log, written } = lines();
    collector.behaviour = 400;
    const traces = await open({}, log);
    for (let i = 0; i < 1_024; i += 1) traces.begin('GET').end();
    await traces.stop();
    expect(collector.paths.length).toBeGreaterThan(1);
    expect(written).toHaveLength(1);
    expect(JSON.parse(written[0]!)).toMatchObject({ event: 'traces_unsent', spans: 512 });
    expect(written[0]).toContain('HTTP 400');
  });

  it('a collector that hangs holds up no span, takes no more than a bound in memory, and ends the process in time [metrics.traces]', async () => {
    const told: { message: string; spans: number }[] = [];
    const write = (line: string): void => void told.push(JSON.parse(line) as (typeof told)[0]);
    collector.behaviour = 'hang';
    const traces = await open({}, pino({}, { write }));
    for (let i = 0; i < 50_000; i += 1) traces.begin('GET').end();
    await until(() => collector.hanging > 0);
    // Resolves by a time-out of its own, not by an answer.
    await traces.stop();
    expect(told.map(({ message }) => message)).toContain('The collector has not answered in time');
    // All that was in memory: an export on its way, and those that waited.
    const kept = told.reduce((sum, { spans }) => sum + spans, 0);
    expect(kept).toBeGreaterThan(512);
    expect(kept).toBeLessThanOrEqual(5 * 512);
  });

  it('a collector that is away is one line as well', async () => {
    const { log, written } = lines();
    const traces = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, log);
    traces.begin('GET').end();
    await traces.stop();
    expect(written).toHaveLength(1);
    expect(written[0]).toContain('traces_unsent');
  });
});

describe('without a collector', () => {
  /** Loads what the processes of a request are made of. What it prints is what is loaded of OpenTelemetry, without and with a collector. */
  const PROGRAM = `
    import { registerHooks } from 'node:module';
    let loaded = 0;
    registerHooks({ load(url, context, next) {
      // Its interface, which does nothing by itself, is loaded by prom-client.
      if (/[/]@opentelemetry[/](?!api[/])/.test(url)) loaded += 1;
      return next(url, context);
    } });
    const [{ openTraces }, { loadConfig }] = await Promise.all(
      ['shared/process/traces/open-traces', 'shared/config/config', 'api/deps', 'workers/inference/deps',
        'workers/receipts/deps'].map((path) => import('#' + path + '.ts')));
    const open = (config) => openTraces({ config, log: console, processId: 'p' }, 'api');
    const none = await open(loadConfig());
    const before = loaded;
    await open({ ...loadConfig(), otlpEndpoint: 'http://127.0.0.1:9' });
    console.log(JSON.stringify({ isTraced: none !== undefined, before, after: loaded }));
    process.exit(0);
  `;

  it('a process has no traces and loads nothing that would send them', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
      cwd: ROOT,
      // From the files themselves: what is bundled for tests has everything in it.
      env: { ...childEnvironment(), NODE_OPTIONS: '', ...STORES },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const { isTraced, before, after } = JSON.parse(await textOf(child.stdout)) as {
      isTraced: boolean;
      before: number;
      after: number;
    };
    expect({ isTraced, before }).toEqual({ isTraced: false, before: 0 });
    expect(after).toBeGreaterThan(0);
  });
});
