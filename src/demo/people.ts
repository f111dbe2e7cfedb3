import { hash } from 'node:crypto';

/** ClusterRoles of each role in the demo, granted by ordinary RBAC objects. */
export const demoRoles = {
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
