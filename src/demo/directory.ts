import { hash } from 'node:crypto';
import type { DirectoryEntry } from './ldap-server.ts';
import type { DemoPerson } from './objects.ts';

const suffix = 'dc=example,dc=com';
const people = `ou=people,${suffix}`;
const groups = `ou=groups,${suffix}`;

/** Users of the directory who are missing in the cluster until the first synchronization. */
const newcomers = [
  { email: 'chloe@example.com', displayName: 'Chloé Petit', groups: ['dev'] },
  { email: 'kofi@example.com', displayName: 'Kofi Mensah', groups: ['oncall'] },
] as const;

/** Entry of the demo's directory in `users.ldap`. */
export const demoConnector = (url: string, caFile: string) => ({
  id: 'corp-ldap',
  name: 'Corporate directory',
  url,
  caFile,
  baseDN: people,
  groups: { baseDN: groups },
});

/**
 * Returns the users of the directory with their groups: users in the cluster that came from it and were not removed, and new ones.
 *
 * @param password password of every user
 */
export function demoDirectory(known: readonly DemoPerson[], password: string): DirectoryEntry[] {
  const here = [...known.filter(({ connector, isGone }) => connector === 'ldap' && !isGone), ...newcomers];
  const dnOf = ({ email }: { email: string }) => `uid=${account(email)},${people}`;
  const names = [...new Set(here.flatMap((person) => person.groups))];
  return [
    ...here.map((person) => ({ dn: dnOf(person), attributes: attributesOf(person), password })),
    ...names.map((cn) => ({
      dn: `cn=${cn},${groups}`,
      attributes: {
        objectClass: ['groupOfNames'],
        cn: [cn],
        member: here.filter((person) => person.groups.some((name) => name === cn)).map(dnOf),
      },
    })),
  ];
}

const account = (email: string) => email.slice(0, email.indexOf('@'));

const attributesOf = ({ email, displayName }: { email: string; displayName: string }) => ({
  objectClass: ['person'],
  uid: [account(email)],
  cn: [displayName],
  mail: [email],
  // The same at each start of the demo.
  entryUUID: [hash('sha256', email).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5')],
});
