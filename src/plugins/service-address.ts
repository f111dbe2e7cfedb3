import { lookup } from 'node:dns/promises';
import { BlockList, isIP, type LookupFunction } from 'node:net';

/** Name resolution, and refused addresses. Services of the demo and the tests are on loopback, unlike those of a cluster. */
export interface PluginNetwork {
  /** Resolves a host name. */
  resolve(hostname: string): Promise<readonly string[]>;
  /** Reports whether the address can belong to no Service. */
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
  // Networks that embed IPv4 addresses. No Service has such an address.
  ['64:ff9b::', 96],
  ['2002::', 16],
] as const)
  refused.addSubnet(network, prefix, 'ipv6');
refused.addAddress('100.100.100.200', 'ipv4');
refused.addAddress('fd00:ec2::254', 'ipv6');

/** Resolves names by DNS. Refuses loopback, link-local and multicast addresses, and metadata services of clouds. */
export const clusterNetwork: PluginNetwork = {
  resolve: async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address),
  // An IPv4-mapped address is checked as the IPv4 address.
  isRefused: (address) => refused.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4'),
};

/** Host and port of the API server, which plugins may not reach. */
export interface ForbiddenTarget {
  readonly hostname: string;
  readonly port: number;
}

export function forbiddenTarget(serverURL: string): ForbiddenTarget {
  const { hostname, port, protocol } = new URL(serverURL);
  return { hostname: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (protocol === 'http:' ? 80 : 443) };
}

/**
 * Returns a `lookup` for a single connection. Connections use the checked addresses, so that DNS rebinding has no effect. A refused
 * address refuses the name.
 */
export function guardedLookup(network: PluginNetwork, forbidden: ForbiddenTarget, port: number): LookupFunction {
  const addressesOf = async (hostname: string): Promise<readonly string[]> => {
    const addresses = await network.resolve(hostname);
    if (addresses.length === 0) throw new Error('the name of the Service has no address');
    const others = port === forbidden.port ? await addressesOfForbidden(network, forbidden) : [];
    if (addresses.some((address) => network.isRefused(address) || others.includes(address)))
      throw new Error('the name of the Service leads to an address where no Service is');
    return addresses;
  };
  return (hostname, { all }, callback) => {
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
}

const addressesOfForbidden = async (network: PluginNetwork, { hostname }: ForbiddenTarget): Promise<readonly string[]> =>
  isIP(hostname) === 0 ? network.resolve(hostname) : [hostname];
