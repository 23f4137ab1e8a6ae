/** The control: a server that answers everything alike at once, so that what an attack does to it is what it does to the machine. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  request.resume().once('end', () => response.end('{}'));
});
server.listen(0, () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
