import { isIP, type LookupFunction } from 'node:net';
import { lookupOf, type Network } from '../http/network.ts';

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
export function guardedLookup(network: Network, forbidden: ForbiddenTarget, port: number): LookupFunction {
  const addressesOf = async (hostname: string): Promise<readonly string[]> => {
    const addresses = await network.resolve(hostname);
    if (addresses.length === 0) throw new Error('the name of the Service has no address');
    const others = port === forbidden.port ? await addressesOfForbidden(network, forbidden) : [];
    if (addresses.some((address) => network.isRefused(address) || others.includes(address)))
      throw new Error('the name of the Service leads to an address where no Service is');
    return addresses;
  };
  return lookupOf(addressesOf);
}

const addressesOfForbidden = async (network: Network, { hostname }: ForbiddenTarget): Promise<readonly string[]> =>
  isIP(hostname) === 0 ? network.resolve(hostname) : [hostname];
