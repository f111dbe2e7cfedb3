import { serviceUnavailable } from '@atrium/objects/status.ts';
import type { Logger } from 'pino';
import type { Services } from '../services.ts';
import type { DirectoryPasswords, Provisioned } from '../users/passwords/directory-passwords.ts';
import { recordName } from '../users/record/account.ts';
import type { Connector } from './connection.ts';
import { type DirectoryUsers, type Membership, namedGroups } from './directory-users.ts';
import type { KnownUser, Person } from './person.ts';
import type { DirectorySession } from './session.ts';

/** Verifies passwords by a bind as their owner, on a connection of its own. */
export function directoryPasswords({ config, log }: Services, users: DirectoryUsers): DirectoryPasswords {
  const { ldap: connectors, autoProvision } = config.users;
  const find = (id: string) => connectors.find((connector) => connector.id === id);

  /** Finds a user in a directory, with the user's groups, and the entry of another user with the address. */
  const look = (connector: Connector, user: KnownUser, signal: AbortSignal) =>
    inSession(connector, signal, log, async (session) => {
      const { own, other } = await session.find(user);
      if (own === undefined) return { own, other };
      const { names, hasReferences } = await session.groupsOf(own);
      return { own: { person: own, groups: names, areGroupsWhole: !hasReferences }, other };
    });

  const isPasswordOf = async (connector: Connector, person: Person, password: string, signal: AbortSignal) => {
    const { bindsAs } = await import('./session.ts');
    return answered(connector, log, bindsAs(connector, person.dn, password, signal));
  };

  const provisionEntry = async (
    connector: Connector,
    entry: Membership,
    { email, password }: { email: string; password: string },
    signal: AbortSignal,
  ): Promise<Provisioned | undefined> => {
    // The password is verified, and the attempt counted, as for the address of the record.
    const holder = users.holderOf(entry.person, connector);
    if (holder !== undefined) return { login: holder.email };
    if (!(await isPasswordOf(connector, entry.person, password, signal))) return undefined;
    const membership = { ...entry, record: users.nameOf(entry) };
    const change = users.preview(membership, connector);
    const applied = change.outcome === 'failed' || !autoProvision ? change : await users.apply(membership, connector, signal);
    if (typeof applied === 'string') return { login: email };
    return applied.outcome === 'failed' && applied.reason === 'EntryDiffers' ? 'SubjectDiffers' : undefined;
  };

  return {
    has: (connectorID) => find(connectorID) !== undefined,
    async check({ account, password }, signal) {
      const connector = find(account.connectorID);
      if (connector === undefined || password === '') return undefined;
      const { own, other } = await look(connector, { email: account.email, ids: account.directoryIDs ?? [] }, signal);
      if (own !== undefined && (await isPasswordOf(connector, own.person, password, signal)))
        return { groups: namedGroups(own.areGroupsWhole ? own.groups : [...own.groups, ...account.groups]) };
      return other !== undefined && (await isPasswordOf(connector, other, password, signal)) ? 'SubjectDiffers' : undefined;
    },
    async provision({ email, password }, signal) {
      // A bind without a password succeeds anonymously (RFC 4513, 5.1.2).
      if (password === '' || recordName(email) === undefined) return undefined;
      for (const connector of connectors) {
        const { own } = await look(connector, { email, ids: [] }, signal);
        if (own !== undefined) return provisionEntry(connector, own, { email, password }, signal);
      }
      return undefined;
    },
  };
}

async function inSession<T>(
  connector: Connector,
  signal: AbortSignal,
  log: Logger,
  use: (session: DirectorySession) => Promise<T>,
): Promise<T> {
  const { DirectorySession: Session } = await import('./session.ts');
  const session = await answered(connector, log, Session.open(connector, signal));
  try {
    return await answered(connector, log, use(session));
  } finally {
    await session.close();
  }
}

/** @throws StatusError 503 if the directory fails */
async function answered<T>(connector: Connector, log: Logger, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    log.warn({ connector: connector.id, err: error }, 'directory did not answer a login');
    throw serviceUnavailable('directory', { cause: error });
  }
}
