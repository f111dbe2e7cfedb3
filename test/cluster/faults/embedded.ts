import { isKubernetesObject } from '@atrium/kubernetes/resource.ts';
import { Passwords } from '../../../src/users/passwords/passwords.ts';
import { passwordSecret } from '../../../src/users/passwords/secret.ts';
import { Browser } from '../../service/identity/browser.ts';
import { aUser, nameOf } from '../../service/users/a-user.ts';
import { serviceNamespace as namespace } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';
import { nativeUsers } from './asking.ts';
import type { RealCluster, Service, ServiceOptions } from './real-cluster.ts';

/** Creates a user of the embedded issuer. */
export async function addLocalUser({ admin }: RealCluster, email: string, password: string): Promise<void> {
  await admin.apply(aUser(email, { groups: ['dev'] }));
  const { body } = await admin.call('GET', `${nativeUsers}/${nameOf(email)}`);
  if (!isKubernetesObject(body)) throw new Error(`no user ${email}`);
  const user = { name: body.metadata.name, uid: body.metadata.uid };
  await admin.apply(passwordSecret({ user, namespace, hash: await new Passwords().hash(password), changedAt: new Date() }));
}

/** Returns the status of a user record. */
export async function statusOf({ admin }: RealCluster, email: string): Promise<Record<string, unknown>> {
  const { body } = await admin.call('GET', `${nativeUsers}/${nameOf(email)}`);
  const status = isKubernetesObject(body) ? body.status : undefined;
  return typeof status === 'object' && status !== null ? { ...status } : {};
}

/** Starts a service with the embedded issuer. */
export async function embeddedService(cluster: RealCluster, { config = {}, ...options }: ServiceOptions): Promise<Service> {
  const port = await freePort();
  return cluster.service({
    ...options,
    config: { ...config, login: { perMinute: 100_000 }, server: { port, publicURL: `http://127.0.0.1:${port}` } },
  });
}

export interface Attempt {
  /** Status of the answer: 303 for the right password. */
  status: number;
  isLoggedIn: boolean;
}

/** Opens the login page in a new browser. @returns a function that submits it */
export async function logInPage({ url }: Service): Promise<(email: string, password: string) => Promise<Attempt>> {
  const browser = new Browser(url, [url]);
  const { auth_url: address } = JSON.parse((await browser.get(`${url}/api/v2/token/login`)).body);
  const page = await browser.get(address);
  return async (email, password) => {
    const { url: back, response } = await browser.submit(page, { email, password });
    if (!back.searchParams.has('code')) return { status: response.status, isLoggedIn: false };
    const callback = await browser.get(`${url}/api/v2/token/callback${back.search}`);
    return { status: callback.response.status, isLoggedIn: callback.response.status === 200 };
  };
}
