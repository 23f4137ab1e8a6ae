import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, stringify } from 'yaml';
import { claimPort } from '#embedded/ports.ts';
import { readDevFile } from '#embedded/launcher/dev-file.ts';
import { type Programs, Server } from './programs.ts';
import { shortenRules } from './shortened.ts';

export const FILES = join(import.meta.dirname, '../../ops/prometheus');
const LOOK_MS = 500;
const HOST = '127.0.0.1';

interface Configuration {
  global: object;
  scrape_configs: { job_name: string; static_configs?: object }[];
}

export interface Alert {
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** A Prometheus that scrapes the product by the files of ops/ once a second, and an Alertmanager that hears from it. */
export class Watchers {
  readonly #prometheus: Server;
  readonly #alertmanager: Server;
  readonly #following: AbortController;

  static async start(
    programs: Programs,
    options: {
      scratch: string;
      /** Where processes serve their metrics now. */
      targets: () => Promise<string[]>;
      factor: number;
    },
  ): Promise<Watchers> {
    const { scratch, targets, factor } = options;
    const [port, alertPort] = [await claimPort(HOST, 0), await claimPort(HOST, 0)];
    await writeFile(
      join(scratch, 'alertmanager.yml'),
      stringify({
        route: { receiver: 'none', group_wait: '1s', group_interval: '1s' },
        receivers: [{ name: 'none' }],
      }),
    );
    const alertmanager = await Server.start(
      programs.alertmanager,
      [
        '--config.file=alertmanager.yml',
        '--storage.path=alertmanager',
        '--cluster.listen-address=',
      ],
      { port: alertPort, scratch },
    );
    const following = new AbortController();
    try {
      await writeConfiguration(scratch, alertPort, factor);
      void follow(targets, join(scratch, 'processes.json'), following.signal);
      const prometheus = await Server.start(
        programs.prometheus,
        [
          '--config.file=prometheus.yml',
          '--storage.tsdb.path=prometheus',
          '--rules.alert.resend-delay=1s',
        ],
        { port, scratch },
      );
      return new Watchers(prometheus, alertmanager, following);
    } catch (error) {
      following.abort();
      await alertmanager.stop();
      throw error;
    }
  }

  private constructor(prometheus: Server, alertmanager: Server, following: AbortController) {
    this.#prometheus = prometheus;
    this.#alertmanager = alertmanager;
    this.#following = following;
  }

  /** What Alertmanager has now. */
  alerts(): Promise<Alert[]> {
    return this.#alertmanager.get('/api/v2/alerts?active=true');
  }

  /** The targets that Prometheus has asked, and how they were. */
  async targets(): Promise<string[]> {
    const { data } = await this.#prometheus.get<{
      data: { activeTargets: { health: string }[] };
    }>('/api/v1/targets');
    return data.activeTargets.map(({ health }) => health);
  }

  async stop(): Promise<void> {
    this.#following.abort();
    await Promise.all([this.#prometheus.stop(), this.#alertmanager.stop()]);
  }
}

/** The shipped configuration, with what concerns this trial put in its place. */
async function writeConfiguration(
  scratch: string,
  alertPort: number,
  factor: number,
): Promise<void> {
  const read = async (name: string): Promise<unknown> =>
    parse(await readFile(join(FILES, name), 'utf8'));
  const shipped = (await read('scrape.yml')) as Configuration;
  const job = { ...shipped.scrape_configs[0]! };
  delete job.static_configs;
  const rules = (await read('alerts.yml')) as { groups: { rules: object[] }[] };
  await writeFile(join(scratch, 'alerts.yml'), stringify(shortenRules(rules, factor)));
  await writeFile(
    join(scratch, 'prometheus.yml'),
    stringify({
      ...shipped,
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      alerting: { alertmanagers: [{ static_configs: [{ targets: [`${HOST}:${alertPort}`] }] }] },
      scrape_configs: [{ ...job, file_sd_configs: [{ files: ['processes.json'] }] }],
    }),
  );
}

/** Those of an instance: a process that is started again has another port. */
export async function targetsOf(dataDir: string): Promise<string[]> {
  const { processes = [] } = (await readDevFile(dataDir)) ?? {};
  return [...new Set(processes.map((one) => `${HOST}:${one.metrics_port}`))];
}

/** Tells Prometheus where each is now. */
async function follow(
  targetsNow: () => Promise<string[]>,
  path: string,
  signal: AbortSignal,
): Promise<void> {
  let known = '';
  while (!signal.aborted) {
    const text = JSON.stringify([{ targets: await targetsNow() }]);
    if (text !== known) {
      await writeFile(`${path}.new`, text);
      await rename(`${path}.new`, path);
      known = text;
    }
    await delay(LOOK_MS);
  }
}
