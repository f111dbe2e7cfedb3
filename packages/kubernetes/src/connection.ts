import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Certificate authority of the API server, and the client certificate of the service; PEM. */
export interface TlsOptions {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Address of the API server, and the service's own credential. */
export interface Connection {
  /** Origin and optional path, without a trailing slash. */
  readonly server: string;
  /** TLS options. A new object after their files have changed. */
  readonly tls: TlsOptions;
  /** Namespace of the service. */
  readonly namespace: string | undefined;
  /**
   * Returns the value of the service's own Authorization header, which is read again at most every 60 s. Undefined if a client certificate
   * authenticates the service.
   */
  authorization(): Promise<string | undefined>;
  /** Reports that the API server refused this value. The next call reads it again, unless it was read again since. */
  discardAuthorization(refused: string | undefined): void;
}

/** A kubelet mounts tokens that live an hour, and replaces them after 80 % of that. */
const rereadAfterMs = 60_000;

interface Reading<T> {
  readonly value: Promise<T>;
  readonly readAt: number;
  settled?: T;
}

/** A value that is read again if it is old or was refused. Concurrent reads are shared. */
export class RefreshedValue<T> {
  readonly #read: () => Promise<T>;
  readonly #clock: () => number;
  #last: Reading<T> | undefined;

  constructor(read: () => Promise<T>, clock = () => performance.now()) {
    this.#read = read;
    this.#clock = clock;
  }

  /** Returns the value. @throws the error of the read; the next call reads again */
  get(): Promise<T> {
    const now = this.#clock();
    if (this.#last !== undefined && now - this.#last.readAt < rereadAfterMs) return this.#last.value;
    const last: Reading<T> = { value: this.#read(), readAt: now };
    this.#last = last;
    last.value.then(
      (value) => {
        last.settled = value;
      },
      () => {
        if (this.#last === last) this.#last = undefined;
      },
    );
    return last.value;
  }

  /** Drops the value if it is still the given one. */
  discard(value: T): void {
    if (this.#last !== undefined && 'settled' in this.#last && this.#last.settled === value) this.#last = undefined;
  }
}

interface InClusterOptions {
  /** Directory of the mounted service account. */
  directory?: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** Monotonic clock, in milliseconds. */
  clock?: () => number;
}

/**
 * Returns the connection of a pod: address from the environment, certificate authority, token and namespace from the mounted service
 * account.
 *
 * @throws Error outside of a pod, or if a file is missing
 * @see https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/
 */
export async function inClusterConnection({
  directory = '/var/run/secrets/kubernetes.io/serviceaccount',
  environment,
  clock,
}: InClusterOptions): Promise<Connection> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = environment;
  if (!host || !port) throw new Error('not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set');
  const read = (name: string) => readFile(join(directory, name), 'utf8');
  let tls: TlsOptions = { ca: await read('ca.crt') };
  const namespace = (await read('namespace')).trim();

  const authorization = new RefreshedValue(async () => {
    const [token, ca] = await Promise.all([read('token'), read('ca.crt')]);
    if (token.trim() === '') throw new Error('the token of the service account is empty');
    if (ca !== tls.ca) tls = { ca };
    return `Bearer ${token.trim()}`;
  }, clock);
  await authorization.get();

  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    get tls() {
      return tls;
    },
    namespace,
    authorization: () => authorization.get(),
    discardAuthorization(refused) {
      if (refused !== undefined) authorization.discard(refused);
    },
  };
}
