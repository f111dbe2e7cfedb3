import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { type ClusterAdmin, eventually, type Manifest } from '../../support/cluster-admin.ts';
import type { TestServer } from '../../support/server.ts';

export const groups = '/auth/v1/groups';
export const nativeGroups = '/apis/auth.platform.io/v1/groups';

/** A Group to be created without the service. */
export const aGroup = (name: string, members: readonly string[] = [], spec: Record<string, unknown> = {}): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'Group',
  metadata: { name },
  spec: { ...(members.length > 0 && { users: members.map((member) => ({ name: member })) }), ...spec },
});

const rbac = 'rbac.authorization.k8s.io';

/** Lets a person act as these groups, as who changes their members has to. */
export function mayImpersonate(person: Person, ...names: string[]): Manifest[] {
  const metadata = { name: `${person}-acts-as-groups` };
  const rules = [{ apiGroups: [''], resources: ['groups'], verbs: ['impersonate'], resourceNames: names.map((name) => `local:${name}`) }];
  return [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: metadata.name },
      subjects: [{ apiGroup: rbac, kind: 'User', name: person }],
    },
  ];
}

const review = z.object({ status: z.object({ allowed: z.boolean() }) });

/** Waits until the API server knows that a person may act as that group. */
export const untilActsAs = (server: TestServer, as: Person, group: string) =>
  eventually(
    async () => {
      const resourceAttributes = { verb: 'impersonate', resource: 'groups', name: `local:${group}` };
      const answer = await server.request('/auth/v1/selfsubjectaccessreviews', {
        method: 'POST',
        as,
        body: { spec: { resourceAttributes } },
      });
      return review.parse(await answer.json()).status.allowed;
    },
    (isAllowed) => isAllowed,
  );

const condition = z.looseObject({ type: z.string(), status: z.string(), reason: z.string(), message: z.string() });

/** A Group, a list, a result or a Status: as much of each as the tests look at. */
const answerBody = z.looseObject({
  kind: z.string().default(''),
  message: z.string().default(''),
  reason: z.string().default(''),
  total: z.number().optional(),
  details: z
    .looseObject({ causes: z.array(z.looseObject({ reason: z.string().optional(), field: z.string().optional() })).default([]) })
    .optional(),
  metadata: z
    .looseObject({ name: z.string().default(''), uid: z.string().default(''), resourceVersion: z.string().default('') })
    .optional(),
  spec: z.looseObject({ users: z.array(z.looseObject({ name: z.string(), importTime: z.string().optional() })).default([]) }).optional(),
  status: z
    .union([z.string(), z.looseObject({ memberCount: z.number().optional(), conditions: z.array(condition).default([]) })])
    .optional(),
  items: z
    .array(
      z.looseObject({ name: z.string().optional(), code: z.number().optional(), metadata: z.looseObject({ name: z.string() }).optional() }),
    )
    .default([]),
});
export type AnswerBody = z.output<typeof answerBody>;

export interface Asked {
  status: number;
  body: AnswerBody;
  headers: Headers;
}

interface AskOptions {
  body?: unknown;
  headers?: Record<string, string>;
  /** Address of another replica. */
  at?: string;
}

/** What the person is answered. */
export async function ask(server: TestServer, as: Person, method: string, path: string, options: AskOptions = {}): Promise<Asked> {
  const response = await server.request(path, { method, as, ...options });
  const text = await response.text();
  return { status: response.status, body: answerBody.parse(text === '' ? {} : JSON.parse(text)), headers: response.headers };
}

/** The group as it is stored. */
export const stored = async (kubernetes: ClusterAdmin, name: string): Promise<AnswerBody> =>
  answerBody.parse((await kubernetes.call('GET', `${nativeGroups}/${name}`)).body);

export const memberNamesOf = async (kubernetes: ClusterAdmin, name: string): Promise<string[]> =>
  (await stored(kubernetes, name)).spec?.users.map((user) => user.name) ?? [];

/** Waits until the service has seen what was written without it. */
export const whenSeen = (server: TestServer, as: Person, name: string, resourceVersion?: string) =>
  eventually(
    () => ask(server, as, 'GET', `${groups}/${name}`),
    ({ status, body }) =>
      status === 200 && (resourceVersion === undefined || Number(body.metadata?.resourceVersion) >= Number(resourceVersion)),
  );

/** The group once its status is about what it is now: nothing more is written then. */
export const settled = (kubernetes: ClusterAdmin, name: string): Promise<AnswerBody> =>
  eventually(
    () => stored(kubernetes, name),
    ({ metadata, status }) =>
      typeof status === 'object' && status.observedGeneration === metadata?.generation && status.conditions.length > 0,
  );

/** How many members the status tells of, and what of them. */
export async function statusOf(kubernetes: ClusterAdmin, name: string) {
  const { status } = await stored(kubernetes, name);
  if (typeof status !== 'object') return undefined;
  const { memberCount, conditions } = status;
  return { memberCount, known: conditions.find(({ type }) => type === 'MembersKnown') };
}

export const causesOf = ({ body }: Asked) => (body.details?.causes ?? []).map(({ reason, field }) => `${field} ${reason}`);
