import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How the API server proves who it is, and how we do; PEM. */
export interface TlsOptions {
  readonly ca?: string | Buffer;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  readonly servername?: string;
  readonly rejectUnauthorized?: boolean;
}

/** Where the API server is, and our own credential for it. */
export interface Connection {
  /** Origin and perhaps a path, without a trailing slash. */
  readonly server: string;
  /** Another object after the files behind it have changed. */
  readonly tls: TlsOptions;
  /** The namespace that we run in. */
  readonly namespace: string | undefined;
  /** The value of our own Authorization header; read again at most every 60 s. Undefined when a client certificate says who we are. */
  authorization(): Promise<string | undefined>;
  /** Says that the API server refused this value: the next call reads it again at once, unless that has happened meanwhile. */
  discardAuthorization(refused: string | undefined): void;
}

/** Tokens that a kubelet mounts live an hour and are replaced after 80 % of that. */
const rereadAfterMs = 60_000;

interface Reading<T> {
  readonly value: Promise<T>;
  readonly readAt: number;
  settled?: T;
}

/** A value that is read again when it is old or was refused; equal reads happen once. */
export class Rereading<T> {
  readonly #read: () => Promise<T>;
  readonly #clock: () => number;
  #last: Reading<T> | undefined;

  constructor(read: () => Promise<T>, clock = () => performance.now()) {
    this.#read = read;
    this.#clock = clock;
  }

  /** @throws whatever the read throws; the next call then reads again */
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

  /** Forgets the value if it is still the given one. */
  discard(value: T): void {
    if (this.#last !== undefined && 'settled' in this.#last && this.#last.settled === value) this.#last = undefined;
  }
}

interface InClusterOptions {
  /** Where the service account is mounted. */
  directory?: string;
  environment: Readonly<Record<string, string | undefined>>;
  /** Milliseconds that only ever grow. */
  clock?: () => number;
}

/**
 * The connection of a pod: address from the environment, certificate authority, token and namespace from the mounted service account.
 *
 * @throws Error if we are not in a pod, or a file is missing
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

  const authorization = new Rereading(async () => {
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
