import { pairs } from '#shared/config/parsers.ts';
import { readBuild } from '../build.ts';
import type { ProcessContext } from '../run-process.ts';
import type { Traces } from './traces.ts';

/** The traces of a process, where a collector is named; no package that makes or sends spans is loaded where none is. */
export async function openTraces(
  { config, log, processId }: Pick<ProcessContext, 'config' | 'log' | 'processId'>,
  role: 'api' | 'inference' | 'receipts',
): Promise<Traces | undefined> {
  const { otlpEndpoint, serviceName, resourceAttributes, tracesSampler, tracesShare } = config;
  if (otlpEndpoint === undefined) return undefined;
  const { OtlpTraces } = await import('./otlp.ts');
  const { version } = readBuild();
  return new OtlpTraces({
    endpoint: otlpEndpoint,
    headers: Object.fromEntries(pairs(config.secrets.otlpHeaders ?? '')),
    sampler: tracesSampler,
    share: tracesShare,
    resource: {
      'service.version': version,
      'service.instance.id': processId,
      ...Object.fromEntries(resourceAttributes),
      'service.name': serviceName ?? `docket-${role}`,
      'docket.role': role,
    },
    onUnsent: (spans, reason) => log.warn({ event: 'traces_unsent', spans, message: reason }),
  });
}
