/** Logs and terminals are WebSockets: those take none of the few connections that a browser has for requests. */
import { base } from './client';
import { readsOnly, viewed } from './view';

/** @throws Problem in a view: a WebSocket of a page sends no headers, and would be that of the caller */
export function socketAt(path: string, query: URLSearchParams, protocols: string[] = []): WebSocket {
  const view = viewed.peek();
  if (view !== undefined) throw readsOnly(view);
  const url = new URL(`${path}?${query}`, base);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  const socket = new WebSocket(url, protocols);
  socket.binaryType = 'arraybuffer';
  return socket;
}
