import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import type { ExportDescription } from '#shared/packs/export-record.ts';
import type { ProgressBar } from '#cli/progress-bar.ts';
import type { ExportAccess } from './access.ts';

/** Often enough for a smooth progress bar, and not so often that the server notices. */
const POLL_MS = 500;

/** Waits until a pack is ready. @throws Error when it failed, has expired or was deleted */
export async function waitForExport(
  access: ExportAccess,
  id: string,
  bar: ProgressBar,
): Promise<ExportDescription> {
  for (;;) {
    const current = await access.get(id);
    const { status, progress, error } = current;
    if (status === 'ready') return current;
    if (status === 'failed') throw new Error(error?.message ?? 'The export has failed.');
    if (status === 'expired') throw new Error('The pack has expired; ask for it again.');
    bar.show(progress.done, progress.total);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/**
 * Fetches a pack into a file. An interrupted download goes on where it ended, and the file gets its name when its
 * SHA-256 is what the service says.
 */
export async function downloadExport(
  access: ExportAccess,
  wanted: ExportDescription,
  path: string,
  bar: ProgressBar,
): Promise<void> {
  const { size_bytes: size, sha256 } = wanted;
  if (size === null || sha256 === null) throw new Error(`The export is ${wanted.status}.`);
  const partial = `${path}.${sha256.slice(0, 16)}.partial`;
  const digest = createHash('sha256');
  let done = 0;
  const kept = (await stat(partial).catch(() => undefined))?.size ?? 0;
  // A part that was fetched before is hashed again: another program may have written it.
  if (kept > 0 && kept < size) {
    for await (const chunk of createReadStream(partial)) digest.update(chunk as Buffer);
    done = kept;
  }
  const file = await open(partial, done > 0 ? 'a' : 'w', 0o600);
  try {
    for await (const chunk of await access.open(wanted, done)) {
      await file.writeFile(chunk);
      digest.update(chunk);
      done += chunk.length;
      bar.show(done, size);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  if (done < size) throw new Error('The connection ended early. Run the command again to go on.');
  if (digest.digest('hex') !== sha256) {
    await rm(partial, { force: true });
    throw new Error('What came is not the pack: its SHA-256 is another. Run the command again.');
  }
  await rename(partial, path);
}
