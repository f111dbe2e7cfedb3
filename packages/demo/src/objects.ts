import { hash } from 'node:crypto';
import type { KubernetesObject } from '@atrium/embedded-cluster/objects.ts';

/** ClusterRoles of each role in the demo, granted by ordinary RBAC objects. */
const demoRoles = {
  admin: ['cluster-admin'],
  manager: ['atrium-users-admin', 'atrium-certificates'],
  viewer: ['atrium-users-view'],
  nobody: [],
} as const satisfies Record<string, readonly string[]>;

export type DemoRole = keyof typeof demoRoles;

/** A user of the demo. Users with a `role` get a token. */
export interface DemoPerson {
  email: string;
  displayName: string;
  groups: readonly string[];
  role?: DemoRole;
  isAdmin?: true;
  connector?: 'local' | 'ldap';
  isDisabled?: true;
  isGone?: true;
}

const namedPeople: readonly DemoPerson[] = [
  { email: 'admin@example.com', displayName: 'Ada Admin', groups: ['platform'], role: 'admin', isAdmin: true },
  { email: 'manager@example.com', displayName: 'Max Manager', groups: ['platform'], role: 'manager' },
  { email: 'viewer@example.com', displayName: 'Vera Viewer', groups: ['dev'], role: 'viewer' },
  { email: 'nobody@example.com', displayName: 'Noa Nobody', groups: [], role: 'nobody' },
  { email: 'jane@example.com', displayName: 'Jane Doe', groups: ['dev', 'oncall'] },
  { email: 'li.wei@example.com', displayName: '李伟', groups: ['dev'] },
  { email: 'juergen@example.com', displayName: 'Jürgen Müller', groups: ['dev'], connector: 'ldap' },
  { email: 'amara@example.com', displayName: 'Amara Okafor', groups: ['oncall'], connector: 'ldap' },
  { email: 'zoe@example.com', displayName: 'Zoë Martin', groups: [], connector: 'ldap', isGone: true },
  { email: 'olaf@example.com', displayName: 'Olaf Offboarded', groups: [], isDisabled: true },
  { email: 'priya@example.com', displayName: 'Priya Nair', groups: ['dev'] },
  { email: 'tomas@example.com', displayName: 'Tomás Silva', groups: ['oncall'], connector: 'ldap' },
];

/** Returns the users of the demo: the named ones, and the given number of generated ones. */
export function demoPeople(generated: number): DemoPerson[] {
  const more = Array.from({ length: generated }, (_, index): DemoPerson => {
    const number = String(index + 1).padStart(3, '0');
    // A Group accepts 5,000 members.
    const isDeveloper = index % 3 === 0 && index < 12_000;
    return { email: `person${number}@example.com`, displayName: `Person ${number}`, groups: isDeveloper ? ['dev'] : [] };
  });
  return [...namedPeople, ...more];
}

/** The name rule of User records: the first 32 hex digits of the SHA-256 of the lower-cased email. */
export const recordName = (email: string) => hash('sha256', email.toLowerCase()).slice(0, 32);

/** Namespace of the service in the demo, as in deploy/manifests. */
export const demoNamespace = 'atrium-system';

/** Images for the demo's page and scripts. */
export const demoImages = [
  { name: 'console-logo', key: 'logo.png' },
  { name: 'console-logo', key: 'mark.svg' },
  { name: 'release-poster', key: 'poster.svg' },
] as const;

export const demoEnvironment = 'console-environment';

const logo =
  'iVBORw0KGgoAAAANSUhEUgAAAEgAAABICAYAAABV7bNHAAAA9klEQVR42u3cyw3CMBRFwVTCjj7ohQIpjCJASKzjxPH3eY7kvTX7d7cts/vz/ZnpbTWbDaMZ' +
  'WlSYIlCr4GQhrYZzCmlVnENIq+PsIoFJIEHZAQKSQIIBCBCgXkAgEkijfegXoD/E2ZYAKlFIoBqFAarZ9EAtmhaoZdMB9WgaoJ4NDzRCoYFuj1dcoFyQ1OuJ' +
  '1BXoCE4u0nBANXF6InUBysHJQZoS6ArOWSRAgACtAdQSpzUSIECAAAECBAgQIECAAAECBAgQIECAAAECBAgQoBhAJe41ogIVu/YBBMjZEyCXz+7mrS/Y77AA' +
  'Y0MIjokuUJbxSmJ8AbmqMNE9DcdGAAAAAElFTkSuQmCC';

const mark = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 72 72" role="img" aria-label="Atrium">
  <rect width="72" height="72" rx="14" fill="#2563eb"/><path d="M17 60V34a19 19 0 0 1 38 0v26z" fill="#fff"/><path d="M27 60V34a9 9 0 0 1 18 0v26z" fill="#1e40af"/>
</svg>`;

const poster = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 120" role="img" aria-label="Next release: in two weeks">
  <rect width="320" height="120" rx="12" fill="#0f172a"/><text x="24" y="56" font-family="system-ui, sans-serif" font-size="26" fill="#f8fafc">Next release</text>
  <text x="24" y="88" font-family="system-ui, sans-serif" font-size="18" fill="#94a3b8">in two weeks, for those who may know</text>
</svg>`;

const isPublic = { 'console.platform.io/public': 'true' };

function configMap(
  name: string,
  labels: Record<string, string>,
  content: { data?: Record<string, string>; binaryData?: Record<string, string> },
): KubernetesObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: demoNamespace, labels },
    ...content,
  };
}

/** A public image, a private one and the console's variables. */
export const demoConfigMaps = (): KubernetesObject[] => [
  configMap('console-logo', isPublic, { binaryData: { 'logo.png': logo }, data: { 'mark.svg': mark } }),
  configMap('release-poster', {}, { data: { 'poster.svg': poster } }),
  configMap(demoEnvironment, isPublic, { data: { theme: 'auto', CONSOLE_PUBLIC_DOCS_URL: 'https://docs.example.com' } }),
];

/** Age of the User records: older than the first of the events, because users see as own what is not older than their record. */
const recordMs = 120 * 86_400_000;

export const recordTime = (now: Date): Date => new Date(now.getTime() - recordMs);

/** Returns the User record of a person, with the status that the service would write. */
export function demoUser(person: DemoPerson, now: Date): KubernetesObject {
  const { email, displayName, connector = 'local' } = person;
  const name = recordName(email);
  const time = now.toISOString().replace(/\.\d+Z$/, 'Z');
  const [phase, reason] = person.isGone ? ['Invalid', 'GoneFromSource'] : person.isDisabled ? ['Disabled', 'ByHand'] : ['Normal', ''];
  const state = person.isDisabled ? 'inactive' : 'active';
  const password = connector === 'local' && { passwordChangedTime: time };
  const prefix = 'auth.platform.io';
  return {
    apiVersion: 'auth.platform.io/v1',
    kind: 'User',
    metadata: {
      name,
      labels: {
        [`${prefix}/user.email`]: name,
        [`${prefix}/user.username`]: /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(displayName)
          ? displayName
          : recordName(displayName),
        [`${prefix}/user.connector_id`]: connector === 'local' ? 'local' : 'corp-ldap',
        [`${prefix}/user.connector_type`]: connector,
        [`${prefix}/user.state`]: state,
        [`${prefix}/user.valid`]: String(!person.isGone),
      },
    },
    spec: {
      email,
      username: displayName,
      connector_type: connector,
      connector_id: connector === 'local' ? 'local' : 'corp-ldap',
      connector_name: connector === 'local' ? 'Local' : 'Corporate directory',
      is_admin: person.isAdmin ?? false,
      is_disabled: person.isDisabled ?? false,
      state,
      valid: !person.isGone,
    },
    status: { phase, ...(reason && { reason }), subjectName: email, groups: [...person.groups], activatedTime: time, ...password },
  };
}

/** The two groups of the demo, with the records of their members. */
export const demoGroups = (people: readonly DemoPerson[]): KubernetesObject[] =>
  [
    { name: 'dev', displayName: 'Developers' },
    { name: 'oncall', displayName: 'On call' },
  ].map(({ name, displayName }) => {
    const users = people.filter(({ groups }) => groups.includes(name)).map(({ email }) => ({ name: recordName(email) }));
    return {
      apiVersion: 'auth.platform.io/v1',
      kind: 'Group',
      metadata: { name },
      spec: { displayName, users },
      status: { memberCount: users.length },
    };
  });

/** A UserBinding of a group and a user in one namespace. */
export const demoExtensions: readonly KubernetesObject[] = [
  {
    apiVersion: 'auth.platform.io/v1',
    kind: 'UserBinding',
    metadata: { name: 'oncall-view' },
    spec: {
      subjects: [
        { kind: 'Group', name: 'oncall' },
        { kind: 'User', name: recordName('priya@example.com') },
      ],
      roleRef: 'view',
      scope: 'namespace',
      constraint: [{ namespace: 'default' }],
    },
  },
];

/** Returns a ClusterRoleBinding for each role of each user. */
export const demoBindings = (people: readonly DemoPerson[]): KubernetesObject[] =>
  people.flatMap(({ email, role }) =>
    (role === undefined ? [] : demoRoles[role]).map((clusterRole) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: `demo-${role}-${clusterRole}` },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: clusterRole },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: email }],
    })),
  );

/** User name of the cluster when it asks the service about access tokens. */
export const webhookUser = 'token-webhook';

export const webhookBinding: KubernetesObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'demo-token-webhook' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'atrium-token-reviews' },
  subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: webhookUser }],
};
