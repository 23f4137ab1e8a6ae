/** Both stores and the sandbox, for a host of their own: said in one line, in which stands how they are reached from there. */
import { once } from 'node:events';
import { removeGiven } from '#embedded/stores/unprivileged-user.ts';
import { makeStores } from '#lab/upgrade/stores.ts';

const stopped = once(process, 'SIGTERM');
const { directory, env, servers } = await makeStores();
process.stdout.write(`${JSON.stringify({ event: 'ready', env })}\n`);
await stopped;
for (const server of servers) await server.stop();
await removeGiven(directory);
