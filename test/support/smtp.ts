import { createServer, type AddressInfo } from 'node:net';

/** As much of RFC 5321 as one letter needs. */
export async function startSmtpServer() {
  const seen = { recipients: [] as string[], data: '' };
  const server = createServer((socket) => {
    let inData = false;
    let pending = '';
    socket.write('220 test\r\n');
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      pending += chunk;
      for (let end = pending.indexOf('\r\n'); end >= 0; end = pending.indexOf('\r\n')) {
        const line = pending.slice(0, end);
        pending = pending.slice(end + 2);
        if (inData) {
          if (line === '.') socket.write('250 taken\r\n');
          else seen.data += `${line}\n`;
          inData = line !== '.';
        } else if (line.startsWith('DATA')) {
          inData = true;
          socket.write('354 go on\r\n');
        } else if (line.startsWith('QUIT')) {
          socket.end('221 bye\r\n');
        } else {
          const recipient = /^RCPT TO:<(.+?)>/.exec(line)?.[1];
          if (recipient !== undefined) seen.recipients.push(recipient);
          socket.write('250 ok\r\n');
        }
      }
    });
    socket.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...seen,
    get data() {
      return seen.data;
    },
    url: `smtp://127.0.0.1:${port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** The text of a letter as its reader sees it: RFC 2045, 6.7. */
export function decodeLetter(data: string): string {
  return data
    .replaceAll(/=\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    );
}
