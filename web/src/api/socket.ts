/** Logs and terminals are WebSockets: those take none of the few connections that a browser has for requests. */
import { base } from './client';

export function socketAt(path: string, query: URLSearchParams, protocols: string[] = []): WebSocket {
  const url = new URL(`${path}?${query}`, base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, protocols);
  socket.binaryType = 'arraybuffer';
  return socket;
}
