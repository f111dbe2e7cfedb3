import { readFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { dirname, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { z } from 'zod';
import { type Connection, RefreshedValue, type TlsOptions } from './connection.ts';

/** Members that the official client does not read. */
const kubeconfigUsers = z.object({
  users: z.array(z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }).nullish() })).nullish(),
});

/**
 * Returns the connection of the current context of a kubeconfig: with a token, a token file, a client certificate, or a plugin that
 * provides one of these.
 *
 * This module is loaded on demand, because the official client costs 0.6 s and 65 MB in the sources.
 *
 * @throws Error if the file cannot be read or its current context is incomplete
 * @see https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/
 */
export async function kubeconfigConnection(path: string): Promise<Connection> {
  const config = new KubeConfig();
  config.loadFromFile(path);
  const cluster = config.getCurrentCluster();
  if (!cluster?.server) throw new Error(`${path}: the current context names no cluster with a server`);
  if (cluster.proxyUrl) throw new Error(`${path}: proxy-url is not supported`);
  const tokenFile = await tokenFileOf(path, config.getCurrentUser()?.name);

  let tls: TlsOptions = {};
  const authorization = new RefreshedValue(async () => {
    const applied: RequestOptions = {};
    await config.applyToHTTPSOptions(applied);
    const current = tlsOf(applied);
    if (!isDeepStrictEqual(tls, current)) tls = current;
    return tokenFile === undefined ? authorizationOf(applied) : `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`;
  });
  await authorization.get();

  return {
    server: cluster.server.replace(/\/{1,8}$/, ''),
    get tls() {
      return tls;
    },
    namespace: config.getContextObject(config.getCurrentContext())?.namespace,
    authorization: () => authorization.get(),
    discardAuthorization: (refused) => authorization.discard(refused),
  };
}

async function tokenFileOf(path: string, userName: string | undefined): Promise<string | undefined> {
  const parsed = kubeconfigUsers.safeParse(parse(await readFile(path, 'utf8')));
  const tokenFile = parsed.data?.users?.find(({ name }) => name === userName)?.user?.tokenFile;
  return tokenFile === undefined ? undefined : resolve(dirname(path), tokenFile);
}

function authorizationOf({ headers, auth }: RequestOptions): string | undefined {
  if (auth) return `Basic ${Buffer.from(auth).toString('base64')}`;
  if (headers === undefined || Array.isArray(headers)) return undefined;
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  return typeof value === 'string' ? value : undefined;
}

function tlsOf({ ca, cert, key, servername, rejectUnauthorized }: RequestOptions): TlsOptions {
  return {
    ...(isPem(ca) && { ca }),
    ...(isPem(cert) && { cert }),
    ...(isPem(key) && { key }),
    ...(servername && { servername }),
    // `insecure-skip-tls-verify` of the file. The service itself has no such setting.
    ...(rejectUnauthorized === false && { rejectUnauthorized }),
  };
}

const isPem = (value: unknown): value is string | Buffer => typeof value === 'string' || Buffer.isBuffer(value);
