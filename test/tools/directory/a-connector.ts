import { stringify } from 'yaml';
import { parseConfig } from '../../../src/config/load.ts';
import type { Connector } from '../../../src/directory/connection.ts';

/** Returns a connector, parsed like in a configuration file. */
export function aConnector(settings: Record<string, unknown>): Connector {
  const [connector] = parseConfig({ yaml: stringify({ users: { ldap: [settings] } }) }).users.ldap;
  if (connector === undefined) throw new Error('no connector');
  return connector;
}
