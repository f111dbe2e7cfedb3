import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv4, isIPv6, type Socket, SocketAddress } from 'node:net';
import type { Logger } from 'pino';

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

/** More proxies than a request passes. Entries further left are ignored. */
const maxHops = 32;

/** Addresses of clients, and the first proxy that forwards for clients without being trusted. */
export class ClientAddresses {
  readonly #addressOf: ReturnType<typeof clientAddress>;
  readonly #log: Logger;
  #untrustedProxy: string | undefined;

  constructor(trustedProxies: readonly string[], log: Logger) {
    this.#log = log;
    this.#addressOf = clientAddress(trustedProxies, (peer) => this.#distrust(peer));
  }

  readonly sourceOf = ({ socket, headers }: IncomingMessage): string => this.#addressOf(peerAddress(socket), headers['x-forwarded-for']);

  /** Names the untrusted proxy, as a check of the service. */
  failure(): string | undefined {
    return this.#untrustedProxy && `${this.#untrustedProxy} sends X-Forwarded-For and is not in server.trustedProxies`;
  }

  /** All clients behind such a proxy share its address, and every limit. Logged once: any client can send the header. */
  #distrust(peer: string): void {
    if (this.#untrustedProxy !== undefined) return;
    this.#untrustedProxy = peer;
    const why = 'if it is your proxy, name it there: until then limits count all its clients as one';
    this.#log.warn({ peer }, `X-Forwarded-For comes from an address that is not in server.trustedProxies; ${why}`);
  }
}

/** Returns a function that reports whether an address is one of these addresses, or in one of these CIDR ranges. */
export function within(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/**
 * Returns the address of the client: the peer, or the address that a trusted proxy forwards for.
 *
 * @param onUntrusted receives a peer that sends X-Forwarded-For without being trusted
 */
export function clientAddress(
  trustedProxies: readonly string[],
  onUntrusted: (peer: string) => void = () => undefined,
): (peer: string, forwardedFor: string | string[] | undefined) => string {
  const isTrusted = within(trustedProxies);

  return (peer, forwardedFor) => {
    let address = peer;
    if (!forwardedFor) return address;
    let walked = 0;
    // Entries count from the right: a trusted hop vouches for the entry that it appended, and for no other.
    for (const hop of hopsOf(String(forwardedFor))) {
      if (!isTrusted(address)) {
        if (walked === 0) onUntrusted(address);
        break;
      }
      const next = parseHop(hop);
      walked += 1;
      if (next === undefined || walked > maxHops) break;
      address = next;
    }
    return address;
  };
}

/** The entries from the right. Empty ones are skipped (RFC 9110, section 5.6.1). */
function* hopsOf(list: string): Generator<string> {
  for (let end = list.length; end > 0; ) {
    const comma = list.lastIndexOf(',', end - 1);
    const hop = list.slice(comma + 1, end).trim();
    if (hop !== '') yield hop;
    end = comma;
  }
}

/** Longer than any address with zone, port, brackets and quotes. */
const maxHopLength = 100;
/** Azure Application Gateway and IIS append the port. An IPv6 address with a port has brackets (RFC 7239, section 6). */
const withPort = /^(?:\[([^[\]]+)\]|([\d.]+))(?::\d{1,5})?$/;

/** Returns the address of an entry in the one form that all its spellings share; undefined if the entry is no address. */
function parseHop(hop: string): string | undefined {
  if (hop.length > maxHopLength) return undefined;
  const unquoted = hop.startsWith('"') && hop.endsWith('"') ? hop.slice(1, -1) : hop;
  const [, bracketed, ipv4] = withPort.exec(unquoted) ?? [];
  const address = bracketed ?? ipv4 ?? unquoted;
  if (isIPv4(address)) return address;
  return isIPv6(address) ? plainAddress(new SocketAddress({ address, family: 'ipv6' }).address) : undefined;
}
