/** The cluster of the suites of views: alice views by `impersonate`, carol by `atrium-view-as`, mallory not at all. */
import { z } from 'zod';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { type EmbeddedLogin, type EmbeddedLoginOptions, startEmbeddedLogin } from '../../support/embedded-login.ts';
import { aBinding, aNamespace, aRole } from '../access/objects.ts';

const people = ['alice', 'bob', 'carol', 'mallory'] as const;
export type Viewer = (typeof people)[number];
export const emailOf = (name: Viewer) => `${name}@example.com`;
export const bob = emailOf('bob');
const password = 'Zuihitsu-84-bloom';

export const kubernetes = '/api/kubernetes';
export const mapsOf = (namespace: string) => `${kubernetes}/api/v1/namespaces/${namespace}/configmaps`;
export const asBob = { 'Impersonate-User': bob };

export const listOfMaps = '/api/v2/resources/core/v1/configmaps';

const statusBody = z.object({
  message: z.string().default(''),
  details: z.object({ causes: z.array(z.object({ reason: z.string() })).default([]) }).optional(),
});

export interface ViewService extends EmbeddedLogin {
  tokens: Record<Viewer, string>;
  send(
    as: Viewer,
    path: string,
    headers?: Record<string, string> | [string, string][],
    init?: Parameters<EmbeddedLogin['request']>[1],
  ): Promise<Response>;
  /** Returns the status and the reason of the first cause. */
  outcome(...sent: Parameters<ViewService['send']>): Promise<[number, string | undefined]>;
  /** Waits until the service lets carol view with her role. */
  untilCarolMayView(): Promise<void>;
  auditOf(name: string): { actor: { name: string }; target: string; outcome: string; reason: string; code: number }[];
}

const lists = { resources: [{ version: 'v1', resource: 'configmaps' }] };

/** Starts the service with the login of these people, and shops of which bob may view one, and the group `crew` another. */
export async function startViews(options: Partial<EmbeddedLoginOptions> = {}): Promise<ViewService> {
  const service = await startEmbeddedLogin({ emails: people.map(emailOf), password, lists, ...options });
  const { admin } = service;
  await admin.applyFile('impersonation.yaml');
  const rules = (verbs: string[], resource: string, resourceNames: string[], group = '') => ({
    apiGroups: [group],
    resources: [resource],
    resourceNames,
    verbs,
  });
  const robot = `system:serviceaccount:${serviceNamespace}:atrium`;
  await admin.apply(
    ...['shop', 'depot', 'attic'].map((name) => aNamespace(name)),
    ...['shop', 'depot', 'attic'].flatMap((namespace) =>
      ['another', `of-${namespace}`].map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } })),
    ),
    aBinding('bob', { role: 'edit', to: `User:${bob}`, namespace: 'shop' }),
    aBinding('crew', { role: 'view', to: ['Group:crew', 'Group:a,b'], namespace: 'depot' }),
    aRole('viewers', [
      rules(['impersonate'], 'users', [bob, emailOf('alice'), robot, 'atrium:group-view']),
      rules(['impersonate'], 'groups', ['crew', 'a,b', 'system:masters', 'kubeadm:cluster-admins']),
      rules(['impersonate'], 'uids', ['u-1'], 'authentication.k8s.io'),
      { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] },
    ]),
    aRole('follows-maps', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] }]),
    aBinding('follows-maps', { role: 'follows-maps', to: `ServiceAccount:${serviceNamespace}/atrium` }),
    aBinding('viewers', { role: 'viewers', to: `User:${emailOf('alice')}` }),
    aBinding('alice-attic', { role: 'view', to: `User:${emailOf('alice')}`, namespace: 'attic' }),
    aBinding('carol-views', { role: 'atrium-view-as', to: `User:${emailOf('carol')}` }),
    ...(['alice', 'carol', 'mallory'] as const).map((name) => ({
      ...aBinding(`${name}-looks`, { role: 'system:basic-user', to: `User:${emailOf(name)}` }),
    })),
  );
  const tokens = Object.fromEntries(await Promise.all(people.map(async (name) => [name, await tokenOf(service, name)])));
  const send: ViewService['send'] = (as, path, headers = {}, init = {}) => {
    const all = new Headers(headers);
    all.set('Authorization', `Bearer ${tokens[as]}`);
    if (init.body !== undefined && !all.has('Content-Type')) all.set('Content-Type', 'application/json');
    return service.request(path, { ...init, headers: [...all] });
  };
  const outcome: ViewService['outcome'] = async (...sent) => {
    const response = await send(...sent);
    const text = await response.text();
    const body = statusBody.safeParse(text.startsWith('{') ? JSON.parse(text) : {});
    return [response.status, body.data?.details?.causes[0]?.reason];
  };
  const untilAllowed = (as: Viewer, path: string) =>
    eventually(
      () => outcome(as, path, asBob),
      ([status]) => status === 200,
    );
  await untilAllowed('alice', mapsOf('shop'));
  await untilAllowed('alice', listOfMaps);
  return {
    ...service,
    tokens,
    send,
    outcome,
    async untilCarolMayView() {
      await untilAllowed('carol', mapsOf('shop'));
    },
    auditOf: (name) => service.lines.filter((line) => line.startsWith(`{"audit":"${name}"`)).map((line) => JSON.parse(line)),
  };
}

/** Returns the status and the names of a list of the Kubernetes API or of the service. */
export async function namesOf(response: Response): Promise<string[]> {
  const body = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) }).parse(await response.json());
  return body.items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith('of-'));
}

async function tokenOf(service: EmbeddedLogin, name: Viewer): Promise<string> {
  const { body } = await service.logIn(emailOf(name), password, '?token_storage=local');
  return z.object({ ext: z.object({ token: z.object({ id_token: z.string() }) }) }).parse(JSON.parse(body)).ext.token.id_token;
}
