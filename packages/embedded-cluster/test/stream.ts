import { once } from 'node:events';
import type { Cluster } from '@atrium/embedded-cluster/cluster.ts';
import { WebSocket } from 'ws';
import { administratorToken } from './api.ts';

export interface Wanted {
  protocol: string;
  /** Lines for the standard input. */
  lines?: string[];
}

/** Opens a WebSocket as the administrator, and waits for its end. */
export async function streamOf(cluster: Cluster, path: string, { protocol, lines = [] }: Wanted) {
  const headers = { authorization: `Bearer ${await administratorToken(cluster)}` };
  const socket = new WebSocket(`${cluster.url.replace('https', 'wss')}${path}`, protocol, { headers, ca: cluster.certificateAuthority });
  const messages: Buffer[] = [];
  socket.on('message', (data: Buffer) => messages.push(data));
  socket.on('open', () => {
    for (const line of lines) socket.send(Buffer.from(`\0${line}\n`));
  });
  const [code] = await Promise.race([
    once(socket, 'close'),
    once(socket, 'unexpected-response').then(([, { statusCode }]) => [statusCode]),
  ]);
  const of = (channel: number) =>
    Buffer.concat(messages.filter(([first]) => first === channel).map((message) => message.subarray(1))).toString();
  return { code, text: Buffer.concat(messages).toString(), of };
}
