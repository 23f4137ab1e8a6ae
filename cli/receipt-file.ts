import { readFileSync, statSync } from 'node:fs';

/** A saved answer holds its receipt: large answers (embeddings, images) are tens of megabytes. */
const FILE_BYTES_MAX = 256 * 1_048_576;

/**
 * The text of a file that somebody saved, or of standard input for `-`.
 * @throws Error when it is missing, too large for an answer, or not UTF-8
 */
export async function readReceiptFile(path: string): Promise<string> {
  const bytes = path === '-' ? await standardInput() : boundedFile(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error('The input is not UTF-8.', { cause: error });
  }
}

function boundedFile(path: string): Buffer {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`There is no file ${path}.`);
  if (!stat.isFile()) throw new Error(`${path} is not a file.`);
  if (stat.size > FILE_BYTES_MAX) throw new Error(`${path} is too large to be an answer.`);
  return readFileSync(path);
}

async function standardInput(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > FILE_BYTES_MAX) throw new Error('Standard input is too large to be an answer.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
