import { connect } from 'node:net';

export interface RawAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/**
 * Sends bytes unchanged and reads until the peer closes, for requests that no HTTP client would send.
 *
 * @param parts sent one after the other, each after the previous one has left the process
 */
export function sendRaw(port: number, ...parts: (string | Buffer)[]): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1');
    socket.setTimeout(60_000, () => socket.destroy(new Error('no answer within 60 s')));
    socket.on('data', (chunk) => {
      text += chunk;
    });
    // A peer that refuses a body resets the connection after its answer; the test needs the answer.
    socket.on('error', (error) => (text === '' ? reject(error) : resolve(parseAnswer(text))));
    socket.on('close', () => resolve(parseAnswer(text)));
    for (const part of parts) socket.write(part);
  });
}

/** Sends a request without a body that ends the connection; `target` is sent unchanged. */
export const rawGet = (port: number, target: string, method = 'GET', headers = '') =>
  sendRaw(port, `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`);

function parseAnswer(text: string): RawAnswer {
  const [head = '', ...rest] = text.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(statusLine.split(' ')[1]), headers, body: rest.join('\r\n\r\n') };
}
