import { z } from 'zod';
import type { Person } from '../../support/api-server.ts';
import { type ClusterAdmin, eventually, type Manifest } from '../../support/cluster-admin.ts';
import type { TestServer } from '../../support/server.ts';

export const groups = '/auth/v1/groups';
export const nativeGroups = '/apis/auth.platform.io/v1/groups';

/** Returns a Group to be created without the service. */
export const aGroup = (name: string, members: readonly string[] = [], spec: Record<string, unknown> = {}): Manifest => ({
  apiVersion: 'auth.platform.io/v1',
  kind: 'Group',
  metadata: { name },
  spec: { ...(members.length > 0 && { users: members.map((member) => ({ name: member })) }), ...spec },
});

const rbac = 'rbac.authorization.k8s.io';

/** Lets a person impersonate these groups, as required to change their members. */
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

/** Waits until the API server lets the person impersonate the group. */
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

/** Members of a Group, a list, a result or a Status that the tests read. */
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
  /** URL of another replica. */
  at?: string;
}

/** Sends a request of that person, and returns the answer. */
export async function ask(server: TestServer, as: Person, method: string, path: string, options: AskOptions = {}): Promise<Asked> {
  const response = await server.request(path, { method, as, ...options });
  const text = await response.text();
  return { status: response.status, body: answerBody.parse(text === '' ? {} : JSON.parse(text)), headers: response.headers };
}

/** Reads the group from the cluster. */
export const stored = async (kubernetes: ClusterAdmin, name: string): Promise<AnswerBody> =>
  answerBody.parse((await kubernetes.call('GET', `${nativeGroups}/${name}`)).body);

export const memberNamesOf = async (kubernetes: ClusterAdmin, name: string): Promise<string[]> =>
  (await stored(kubernetes, name)).spec?.users.map((user) => user.name) ?? [];

/** Waits until the service has seen a write of another client. */
export const whenSeen = (server: TestServer, as: Person, name: string, resourceVersion?: string) =>
  eventually(
    () => ask(server, as, 'GET', `${groups}/${name}`),
    ({ status, body }) =>
      status === 200 && (resourceVersion === undefined || Number(body.metadata?.resourceVersion) >= Number(resourceVersion)),
  );

/** Waits until the status is about the current version: no further write follows. */
export const settled = (kubernetes: ClusterAdmin, name: string): Promise<AnswerBody> =>
  eventually(
    () => stored(kubernetes, name),
    ({ metadata, status }) =>
      typeof status === 'object' && status.observedGeneration === metadata?.generation && status.conditions.length > 0,
  );

/** Returns the member count of the status, and the condition about the members. */
export async function statusOf(kubernetes: ClusterAdmin, name: string) {
  const { status } = await stored(kubernetes, name);
  if (typeof status !== 'object') return undefined;
  const { memberCount, conditions } = status;
  return { memberCount, known: conditions.find(({ type }) => type === 'MembersKnown') };
}

export const causesOf = ({ body }: Asked) => (body.details?.causes ?? []).map(({ reason, field }) => `${field} ${reason}`);
