import type { Logger } from 'pino';
import { serviceUnavailable } from '../api/status.ts';
import type { Services } from '../services.ts';
import type { DirectoryPasswords } from '../users/passwords/directory-passwords.ts';
import { recordName } from '../users/record/account.ts';
import type { Connector } from './connection.ts';
import { type DirectoryUsers, type Membership, namedGroups } from './directory-users.ts';
import type { DirectorySession } from './session.ts';

/** Verifies passwords by a bind as their owner, on a connection of its own. */
export function directoryPasswords({ config, log }: Services, users: DirectoryUsers): DirectoryPasswords {
  const { ldap: connectors, autoProvision } = config.users;
  const find = (id: string) => connectors.find((connector) => connector.id === id);

  /** Finds a user in a directory, with the user's groups. */
  const look = (connector: Connector, email: string, signal: AbortSignal) =>
    inSession(connector, signal, log, async (session) => {
      const person = await session.find(email);
      return person && { person, groups: await session.groupsOf(person) };
    });

  const isPasswordOf = async (connector: Connector, { person }: Membership, password: string, signal: AbortSignal) => {
    const { bindsAs } = await import('./session.ts');
    return answered(connector, log, bindsAs(connector, person.dn, password, signal));
  };

  return {
    has: (connectorID) => find(connectorID) !== undefined,
    async check({ connectorID, email, password }, signal) {
      const connector = find(connectorID);
      if (connector === undefined || password === '') return undefined;
      const found = await look(connector, email, signal);
      if (found === undefined) return undefined;
      return (await isPasswordOf(connector, found, password, signal)) ? { groups: namedGroups(found.groups) } : undefined;
    },
    async provision({ email, password }, signal) {
      // A bind without a password succeeds anonymously (RFC 4513, 5.1.2).
      if (!autoProvision || password === '' || recordName(email) === undefined) return false;
      for (const connector of connectors) {
        const membership = await look(connector, email, signal);
        if (membership === undefined) continue;
        if (!(await isPasswordOf(connector, membership, password, signal))) return false;
        return typeof (await users.apply(membership, connector, signal)) === 'string';
      }
      return false;
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
