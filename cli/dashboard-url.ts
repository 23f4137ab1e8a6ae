import { loadToolConfig } from '#shared/config/config.ts';
import { forBrowsers } from '#shared/kernel/localhost.ts';
import { readDevFile } from '#embedded/launcher/dev-file.ts';

/** Where people sign in: to the embedded instance whose database this is, at the port that it has. */
export async function dashboardUrl(): Promise<string> {
  const { dataDir, publicUrl, secrets } = loadToolConfig();
  const dev = secrets.databaseUrl === undefined ? await readDevFile(dataDir) : undefined;
  return dev === undefined
    ? `${new URL(publicUrl).origin}/dashboard`
    : forBrowsers(dev.dashboard_url);
}
