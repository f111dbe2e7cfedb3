import { isTrue } from './request-target.ts';

const [maxWords, maxWordLength] = [32, 256];
const connects = ['exec', 'attach', 'portforward'];

/**
 * Subresources that run something in a container or reach a port, whatever the method is: a WebSocket opens them by GET, which RBAC takes
 * for `get`.
 */
export const runningSubresources: readonly string[] = [...connects, 'proxy'];

/** Parameters of a connection to a container or port. */
export interface OpenedConnection {
  container?: string;
  /** Image of a debug container. */
  image?: string;
  /** First words, cut to a length. */
  command?: string[];
  ports?: string[];
  tty?: true;
}

/** A bound must not leave half of a surrogate pair. */
const cut = (word: string): string => word.slice(0, maxWordLength).toWellFormed();

/** Returns the parameters of a connection to a container or port; undefined for other requests. */
export function connectionOf(subresource: string | undefined, search: string): OpenedConnection | undefined {
  if (!connects.includes(subresource ?? '')) return undefined;
  const query = new URLSearchParams(search);
  const container = cut(query.get('container') ?? '');
  const words = (name: string) => {
    const all = query.getAll(name).slice(0, maxWords);
    return all.length > 0 && { [name]: all.map(cut) };
  };
  return { ...(container && { container }), ...words('command'), ...words('ports'), ...(isTrue(search, 'tty') && { tty: true }) };
}

interface DebugContainer {
  name: string;
  image: string;
  command: readonly string[];
  tty: boolean;
}

/** Returns what is told about a container that is added to a pod. */
export const debugConnection = ({ name, image, command, tty }: DebugContainer): OpenedConnection => ({
  ...{ container: cut(name), image: cut(image) },
  ...(command.length > 0 && { command: command.slice(0, maxWords).map(cut) }),
  ...(tty && { tty: true }),
});
