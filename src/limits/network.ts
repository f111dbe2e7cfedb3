import { isIPv6, type Socket } from 'node:net';

/** Returns an IPv4 address that a dual-stack socket reports as `::ffff:a.b.c.d` in its own form, and any other address as it is. */
export const plainAddress = (address: string): string => (address.startsWith(':') ? address.replace(/^::ffff:(?=\d+\.)/i, '') : address);

/** Returns the address of the other end; empty once the connection is closed. */
export const peerAddress = ({ remoteAddress = '' }: Pick<Socket, 'remoteAddress'>): string => plainAddress(remoteAddress);

/** Returns the network that counts as one client: an IPv4 address, or the first 64 bits of an IPv6 address (RFC 4291, 2.5.1). */
export function networkOf(address: string): string {
  // Asked twice for each request with a body, and the test of Node.js is a long regular expression.
  if (!address.includes(':') || !isIPv6(address)) return address;
  const { hostname } = new URL(`http://[${address.split('%', 1)[0]}]`);
  const [head = '', tail] = hostname.slice(1, -1).split('::');
  const front = head.split(':').filter(Boolean);
  const back = (tail ?? '').split(':').filter(Boolean);
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => '0');
  return [...front, ...zeros, ...back].slice(0, 4).join(':');
}
