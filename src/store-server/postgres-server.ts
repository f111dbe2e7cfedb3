import type { PostgresServer } from '@atrium/audit-store/postgres-store.ts';
import { tlsTrust } from '@atrium/http/outgoing.ts';
import { readSecretFile } from '@atrium/http/secret-file.ts';
import type { Config } from '../config/schema.ts';

type PostgresSettings = NonNullable<Config['auditStore']['postgres']>;

/** Modes of libpq. Each one that requires TLS also verifies the certificate and its name here. */
const verifiedModes = ['require', 'verify-ca', 'verify-full'];

interface Address extends Required<Pick<PostgresServer, 'host' | 'port' | 'user' | 'database'>> {
  password: string;
  hasTLS: boolean;
}

/**
 * Returns the server of the settings. TLS is required, unless the address is a Unix socket or says `sslmode=disable`.
 *
 * @throws Error that says what is wrong with the file, without its content
 */
export async function postgresServer({ urlFile, caFile }: PostgresSettings): Promise<PostgresServer> {
  const address = async () => addressIn(urlFile, await readSecretFile(urlFile));
  const { hasTLS, ...server } = await address();
  return { ...server, password: async () => (await address()).password, ssl: hasTLS && (await tlsTrust(caFile)) };
}

function addressIn(file: string, text: string): Address {
  try {
    return addressOf(text);
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`);
  }
}

/** Parses an address of libpq with one host. @throws Error without a part of the text, which has a password */
export function addressOf(text: string): Address {
  if (!/^postgres(?:ql)?:\/\//.test(text) || !URL.canParse(text)) throw new Error(`holds no address such as ${example}`);
  const { hostname, port, username, password, pathname, searchParams } = new URL(text);
  const {
    host = decoded(hostname).replace(/^\[(.+)\]$/, '$1'),
    user = decoded(username),
    sslmode,
    ...others
  } = Object.fromEntries(searchParams);
  const [other] = Object.keys(others);
  if (other !== undefined) throw new Error(`the address has the parameter ${printable(other)}; only host, user and sslmode are known`);
  if (sslmode !== undefined && sslmode !== 'disable' && !verifiedModes.includes(sslmode))
    throw new Error(`sslmode must be disable, or one of ${verifiedModes.join(', ')}, which all verify the certificate and its name`);
  const database = decoded(pathname.slice(1));
  for (const [part, value] of Object.entries({ host, user, database }))
    if (value === '') throw new Error(`the address names no ${part}; write it as ${example}`);
  const hasTLS = sslmode !== 'disable' && !host.startsWith('/');
  return { host, port: port === '' ? 5432 : Number(port), user, password: decoded(password), database, hasTLS };
}

const example = 'postgresql://USER:PASSWORD@HOST:5432/DATABASE';

/** Accepts a password with a percent sign that is not escaped. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const printable = (name: string) => name.replaceAll(/[^\w.-]/g, '?').slice(0, 32);
