import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectTo } from './lanes.ts';

const PAGE = join(import.meta.dirname, '../../docs/operations.md');
const PASSWORD = 'secret';

/** Makes a user on a server that has no more rights than docs/operations.md names; returns the URL for it. */
export async function withDocumentedRights(url: string): Promise<string> {
  const [, user, rights] = /^ACL SETUSER (\S+) on ><password> (.*)$/m.exec(
    readFileSync(PAGE, 'utf8'),
  )!;
  const client = connectTo(url);
  await client.call('ACL', 'SETUSER', user!, 'on', `>${PASSWORD}`, ...rights!.split(' '));
  client.disconnect();
  return url.replace('redis://', `redis://${user}:${PASSWORD}@`);
}
