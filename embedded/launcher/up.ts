import { readEnvironment } from '#shared/config/config.ts';
import type { DevFile } from './dev-file.ts';
import { Launcher } from './launch.ts';
import { terminalOutput } from './output.ts';

/** Exit codes of a shell's convention: 128 and the number of the signal. */
const EXIT_OF: Partial<Record<NodeJS.Signals, number>> = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

/**
 * `docket up`: starts everything, runs until told to stop, stops in reverse order. A second signal
 * kills what is left. The exit code is 0 after a clean stop, and 1 when the start failed.
 * @param options.root the folder of another Procfile
 */
export async function up(options: { root?: URL } = {}): Promise<void> {
  const startedAt = performance.now();
  const output = terminalOutput(process.stdout);
  const launcher = new Launcher({ env: readEnvironment(), output, ...options });
  const told = toldToStop(launcher, (signal) => output.say(`${signal}: stopping`));
  // The reader of our output is gone: nothing can be said any more, but everything is to be stopped.
  process.stdout.on('error', () => {});
  process.stdout.once('error', () => process.kill(process.pid, 'SIGHUP'));
  try {
    const running = await launcher.start();
    output.plain(welcome(running.info, running.chatModel, performance.now() - startedAt));
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

function toldToStop(launcher: Launcher, say: (signal: NodeJS.Signals) => void): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        // A terminal that closes sends this more than once, and its pipe breaks too; that is no second request.
        if (signal === 'SIGHUP' && signals > 0) return;
        signals += 1;
        if (signals > 1) {
          void launcher.kill().finally(() => process.exit(EXIT_OF[signal]));
          return;
        }
        say(signal);
        void launcher.stop();
        resolve();
      });
    }
  });
}

/** The text shown when everything is ready: where it is, with which key, and something to try. */
export function welcome(info: DevFile, chatModel: string | undefined, tookMs: number): string {
  const body = JSON.stringify({
    model: chatModel ?? '<model>',
    messages: [{ role: 'user', content: 'Tell me about the lighthouse.' }],
  });
  return `
  Docket is ready, after ${(tookMs / 1_000).toFixed(1)} s. Stop it with Ctrl-C.

  base URL    ${info.base_url}
  API key     ${info.api_key}   (demo organisation, enterprise)
  reference   ${info.base_url.replace(/\/v1$/, '/docs')}

  curl ${info.base_url}/chat/completions \\
    -H 'Authorization: Bearer ${info.api_key}' \\
    -H 'Content-Type: application/json' \\
    -d '${body}'
`;
}
