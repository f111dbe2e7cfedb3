import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Name resolution, and refused addresses. Receivers of the demo and the tests are on loopback. */
export interface Network {
  /** Resolves a host name. */
  resolve(hostname: string): Promise<readonly string[]>;
  /** Reports whether a name that resolves to the address is refused. */
  isRefused(address: string): boolean;
}

const refused = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  // Metadata services of clouds use this network and the two single addresses below.
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  refused.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of [
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
  // Networks that embed IPv4 addresses. No Service or receiver has such an address.
  ['64:ff9b::', 96],
  ['2002::', 16],
] as const)
  refused.addSubnet(network, prefix, 'ipv6');
refused.addAddress('100.100.100.200', 'ipv4');
refused.addAddress('fd00:ec2::254', 'ipv6');

/** Resolves names by DNS. Refuses loopback, link-local and multicast addresses, and metadata services of clouds. */
export const clusterNetwork: Network = {
  resolve: async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address),
  // An IPv4-mapped address is checked as the IPv4 address.
  isRefused: (address) => refused.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'),
};

/** Returns a `lookup` whose connections use the addresses of the function, so that DNS rebinding has no effect. */
export const lookupOf =
  (addressesOf: (hostname: string) => Promise<readonly string[]>): LookupFunction =>
  (hostname, { all }, callback) => {
    addressesOf(hostname).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (all) callback(null, found);
        else callback(null, first?.address ?? '', first?.family ?? 4);
      },
      (error: NodeJS.ErrnoException) => callback(error, all ? [] : '', 0),
    );
  };
