import { BlockList, isIPv6 } from 'node:net';

/**
 * Tells who is calling: the peer, or, when the peer is a proxy that the configuration trusts, whom it forwards for.
 *
 * @param onUntrusted told of a peer that says whom it forwards for, and is not believed
 */
export function clientAddress(
  trustedProxies: readonly string[],
  onUntrusted: (peer: string) => void = () => undefined,
): (peer: string, forwardedFor: string | string[] | undefined) => string {
  const trusted = new BlockList();
  for (const entry of trustedProxies) {
    const [address = '', prefix] = entry.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) trusted.addAddress(address, family);
    else trusted.addSubnet(address, Number(prefix), family);
  }
  const isTrusted = (address: string) => trusted.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');

  return (peer, forwardedFor) => {
    let address = plain(peer);
    if (!forwardedFor) return address;
    // Read from the right: each trusted hop vouches for the entry that it appended, nothing vouches for what stands further left.
    const hops = String(forwardedFor)
      .split(',')
      .map((hop) => plain(hop.trim()))
      .filter(Boolean);
    if (hops.length > 0 && !isTrusted(address)) onUntrusted(address);
    while (hops.length > 0 && isTrusted(address)) address = hops.pop() ?? address;
    return address;
  };
}

/** IPv4 as seen by a dual-stack socket. */
const plain = (address: string) => (address.startsWith(':') ? address.replace(/^::ffff:(?=\d+\.)/i, '') : address);
