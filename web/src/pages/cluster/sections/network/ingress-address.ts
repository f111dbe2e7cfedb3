interface Route {
  host: string;
  path?: string;
  pathType: string;
}

/** Returns the address of a route for a browser; undefined for a host or a path that stands for many. */
export function routeAddress(
  { host, path = '/', pathType }: Route,
  tls: readonly { hosts?: readonly string[] }[] = [],
): string | undefined {
  if (!/^[a-z0-9.-]+$/i.test(host) || pathType === 'ImplementationSpecific') return undefined;
  const isSecure = tls.some(({ hosts = [] }) => hosts.includes(host) || hosts.includes(host.replace(/^[^.]+/, '*')));
  return `${isSecure ? 'https' : 'http'}://${host}${encodedPath(path)}`;
}

/** Returns a path for a URL. Paths of an Ingress are encoded already, or written as they are read. */
const encodedPath = (path: string): string =>
  encodeURI(path)
    .replaceAll(/%25(?=[0-9a-f]{2})/gi, '%')
    .replaceAll(/[?#]/g, encodeURIComponent);
