import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { demandFile } from './input.ts';

/** SHA-256 (hex) of a file of any size. @throws Error when it is missing, or no file */
export async function digestOfFile(path: string): Promise<string> {
  demandFile(path);
  const digest = createHash('sha256');
  for await (const chunk of createReadStream(path)) digest.update(chunk as Buffer);
  return digest.digest('hex');
}
