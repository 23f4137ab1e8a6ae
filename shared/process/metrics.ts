import { type CollectFunction, Counter, Gauge, Histogram, type Registry } from 'prom-client';

/** Makes the metrics of a registry, each of its name, what it says, and the labels that tell its series apart. */
export function metricsOf(registry: Registry) {
  const registers = [registry];
  const gauge = <L extends string = never>(
    name: string,
    help: string,
    labelNames: L[] = [],
    collect?: CollectFunction<Gauge<L>>,
  ) => new Gauge({ name, help, labelNames, registers, ...(collect && { collect }) });
  return {
    gauge,
    counter: <L extends string = never>(name: string, help: string, labelNames: L[] = []) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: <L extends string = never>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: L[] = [],
    ) => new Histogram({ name, help, buckets, labelNames, registers }),
    /** A gauge whose value is read when the metrics are asked for. */
    reading: (name: string, help: string, read: () => number): void => {
      gauge(name, help, [], function collect() {
        this.set(read());
      });
    },
  };
}
