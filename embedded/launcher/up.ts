import { forBrowsers } from '#shared/kernel/localhost.ts';
import { join } from 'node:path';
import { isatty } from 'node:tty';
import { readEnvironment } from '#shared/config/config.ts';
import { collectGarbage } from '#shared/process/collect-garbage.ts';
import { EXIT_OF } from '#shared/process/exits.ts';
import { PAID_REQUESTS_PER_DAY } from '#embedded/demo-accounts.ts';
import type { ProviderInUse } from '#embedded/providers/start-catalogue.ts';
import { DEV_FILE } from './dev-file.ts';
import { Launcher, type Running } from './launch.ts';
import { type Output, terminalOutput } from './output.ts';

/**
 * `docket up`: starts everything, runs until told to stop, stops in reverse order. A second signal kills what is left.
 * SIGHUP reloads the catalogue in every process. The exit code is 0 after a clean stop, and 1 when the start failed.
 * @param options.root the folder of another Procfile
 */
export async function up(options: { root?: URL } = {}): Promise<void> {
  const startedAt = performance.now();
  const output = terminalOutput(process.stdout);
  const launcher = new Launcher({ env: readEnvironment(), output, ...options });
  const told = signalled(launcher, output);
  try {
    const running = await launcher.start();
    output.plain(welcome(running, performance.now() - startedAt));
    collectGarbage();
    await told;
    await launcher.stop();
    output.say('stopped');
  } catch (error) {
    const interrupted = launcher.isStopping;
    if (!interrupted) output.say(error instanceof Error ? error.message : String(error), 'red');
    await launcher.stop();
    if (!interrupted) throw new Error('docket did not start', { cause: error });
  }
}

/** How often is looked whether the shell of npm is there that `npx docket up` and `npm start` run in. */
const LOOK_MS = 500;

/**
 * Obeys signals; resolves with the first request to stop. SIGHUP means two things: that the terminal is gone, and everything
 * stops; or, from another sender, that the catalogue is to be read again.
 */
function signalled(launcher: Launcher, output: Output): Promise<void> {
  const terminals = [0, 1, 2].filter((fd) => isatty(fd));
  return new Promise((resolve) => {
    let told = false;
    const stop = (why: string): void => {
      told = true;
      output.say(`${why}: stopping`);
      void launcher.stop();
      resolve();
    };
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (told) void launcher.kill().finally(() => process.exit(EXIT_OF[signal]));
        else stop(signal);
      });
    }
    process.on('SIGHUP', () => {
      // A terminal that closes sends this more than once, and its pipe breaks too; that is no second request.
      if (told) return;
      if (terminals.every((fd) => isatty(fd))) launcher.reload();
      else stop('the terminal is closed');
    });
    // npm passes signals on to its shell, which ends by them and passes none on.
    const shell = process.ppid;
    if (readEnvironment()['npm_command'] !== undefined) {
      setInterval(() => {
        if (!told && process.ppid !== shell) stop('npm has ended');
      }, LOOK_MS).unref();
    }
    // The reader of our output is gone: nothing can be said any more, but everything is to be stopped.
    process.stdout.on('error', () => {
      if (!told) stop('the output is closed');
    });
  });
}

/** The text shown when everything is ready: where it is, with which key, where to sign in, whose models, and something to try. */
export function welcome(
  {
    info,
    chatModel,
    inactive,
    providers,
    dataDir,
  }: Pick<Running, 'info' | 'chatModel' | 'inactive' | 'providers' | 'dataDir'>,
  tookMs: number,
): string {
  const body = JSON.stringify({
    model: chatModel ?? '<model>',
    messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
  });
  return `
  Docket is ready, after ${(tookMs / 1_000).toFixed(1)} s. Stop it with Ctrl-C.

  base URL    ${info.base_url}
  API key     ${info.api_key || 'none'}   (demo organisation, enterprise)
${inactiveText(inactive)}  dashboard   ${forBrowsers(info.dashboard_url)}
              ${info.owner.email}   ${info.owner.password}   (owner)
              those of an operator and two reviewers are in ${join(dataDir, DEV_FILE)}
  reference   ${forBrowsers(info.base_url.replace(/\/v1$/, '/docs'))}
${providersText(providers)}
  curl ${info.base_url}/chat/completions \\
    -H 'Authorization: Bearer ${info.api_key}' \\
    -H 'Content-Type: application/json' \\
    -d '${body}'
`;
}

/** Demo organisations whose requests are refused, and what is done about it. */
function inactiveText(inactive: Running['inactive']): string {
  return inactive
    .map(
      ({ id, name, state }) =>
        `              ${name} is ${state.replace('_', ' ')}: requests with its keys are refused. Its page is\n              /dashboard/service/accounts/${id}\n`,
    )
    .join('');
}

/** Whose models are offered beside the sandbox's, by which key, and how far the demo key gets with them. */
function providersText(providers: readonly ProviderInUse[]): string {
  if (providers.length === 0) return '';
  const lines = providers.map(
    ({ title, baseUrl, keyVariable, models }, at) =>
      `  ${(at === 0 ? 'providers' : '').padEnd(11)} ${title}, ${models} ${models === 1 ? 'model' : 'models'} (${
        keyVariable ?? new URL(baseUrl).host
      })`,
  );
  return `${lines.join('\n')}
              GET /v1/models lists them; they cost what the provider charges, and the demo key
              has ${PAID_REQUESTS_PER_DAY} requests a day while they are offered. PROVIDERS=none offers none.
`;
}
