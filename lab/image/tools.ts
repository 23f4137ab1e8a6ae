import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { readEnvironment } from '#shared/config/config.ts';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** buildah and podman store layers as plain folders, and build without a container of their own: that works everywhere. */
const ENVIRONMENT = { ...readEnvironment(), STORAGE_DRIVER: 'vfs', BUILDAH_ISOLATION: 'chroot' };

/** Runs a program and returns its standard output; what it writes to standard error is in the error when it fails. */
export async function run(file: string, ...args: string[]): Promise<string> {
  const options = { env: ENVIRONMENT, maxBuffer: OUTPUT_BYTES_MAX };
  const { stdout } = await promisify(execFile)(file, args, options);
  return stdout.trim();
}

/** Of these programs, those that the machine does not have. */
export async function missing(programs: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    programs.map((name) =>
      run('which', name).then(
        () => true,
        () => false,
      ),
    ),
  );
  return programs.filter((_, index) => !found[index]);
}
