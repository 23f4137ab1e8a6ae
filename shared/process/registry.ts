import { collectDefaultMetrics, Registry } from 'prom-client';

/** A registry of the process's own, with the runtime's measurements and its role on every series. */
export function createRegistry(role: string): Registry {
  const registry = new Registry();
  registry.setDefaultLabels({ role });
  collectDefaultMetrics({ register: registry });
  return registry;
}

export { Counter, Registry } from 'prom-client';
