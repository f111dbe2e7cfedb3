import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Change, Client, Control } from 'ldapts';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { freePort } from '../../support/free-port.ts';

const programs = '/usr/sbin';
const install = 'apt-get update && apt-get install -y --no-install-recommends slapd';

const suffix = 'dc=example,dc=com';
export const people = `ou=people,${suffix}`;
export const groups = `ou=groups,${suffix}`;
const root = { dn: `cn=root,${suffix}`, password: 'root-secret' };
/** Account that may search without a limit. */
const reader = { dn: `cn=reader,${suffix}`, password: 'reader-sécret' };
/** Account that may search, limited to 100 entries. */
export const limited = { dn: `cn=limited,${suffix}`, password: 'limited-secret' };

/** Allows to write operational attributes (draft-zeilenga-ldap-relax). */
class RelaxRules extends Control {
  constructor() {
    super('1.3.6.1.4.1.4203.666.5.12', { critical: true });
  }
}

type Attributes = Record<string, string | string[]>;

export interface EntryOfPerson extends Attributes {
  uid: string;
  cn: string;
}

const personClasses = ['person', 'organizationalPerson', 'inetOrgPerson', 'extensibleObject'];

/** Returns an entry as LDIF, with all values in base64 (RFC 2849). */
const ldif = (dn: string, attributes: Attributes): string =>
  [['dn', dn] as const, ...Object.entries(attributes).flatMap(([name, values]) => [values].flat().map((value) => [name, value] as const))]
    .map(([name, value]) => `${name}:: ${Buffer.from(value).toString('base64')}`)
    .join('\n');

const personAttributes = ({ cn, ...rest }: EntryOfPerson): Attributes => ({ objectClass: personClasses, cn, sn: cn, ...rest });

export interface Entry {
  dn: string;
  attributes: Attributes;
}

export const aPerson = (person: EntryOfPerson, rdn = `uid=${person.uid}`): Entry => ({
  dn: `${rdn},${people}`,
  attributes: personAttributes(person),
});

export const aGroup = (cn: string, member: string[]): Entry => ({
  dn: `cn=${cn},${groups}`,
  attributes: { objectClass: 'groupOfNames', cn, member },
});

/** OpenLDAP's server as a child process, with its own directory on free ports of loopback. */
export class Slapd {
  readonly #folder: string;
  readonly port: number;
  readonly securePort: number;
  /** File of the authority that verifies the server. */
  readonly caFile: string;
  /** File of another authority. */
  readonly otherCAFile: string;
  readonly passwordFile: string;
  #child: ChildProcess | undefined;

  private constructor(folder: string, [port, securePort]: readonly [number, number]) {
    this.#folder = folder;
    this.port = port;
    this.securePort = securePort;
    this.caFile = join(folder, 'ca.crt');
    this.otherCAFile = join(folder, 'other-ca.crt');
    this.passwordFile = join(folder, 'reader-password');
  }

  /** Starts a server with the base entries and the given ones. @throws Error with the command that installs it */
  static async start(entries: readonly Entry[]): Promise<Slapd> {
    if (!existsSync(`${programs}/slapd`)) throw new Error(`slapd is not installed: ${install}`);
    const folder = await mkdtemp(join(tmpdir(), 'atrium-slapd-'));
    const slapd = new Slapd(folder, [await freePort(), await freePort()]);
    await slapd.#prepare(entries);
    await slapd.run();
    return slapd;
  }

  get url(): string {
    return `ldap://127.0.0.1:${this.port}`;
  }

  get secureURL(): string {
    return `ldaps://127.0.0.1:${this.securePort}`;
  }

  /** Returns an entry of `users.ldap` for this server. */
  connector(differences: Record<string, unknown> = {}): Record<string, unknown> {
    return {
      id: 'corp',
      name: 'Corporation',
      url: this.secureURL,
      caFile: this.caFile,
      bindDN: reader.dn,
      bindPasswordFile: this.passwordFile,
      baseDN: people,
      groups: { baseDN: groups },
      ...differences,
    };
  }

  async file(name: string, text: string): Promise<string> {
    const path = join(this.#folder, name);
    await writeFile(path, text, { mode: 0o600 });
    return path;
  }

  /** Starts the server, or restarts it on the same ports. */
  async run(): Promise<void> {
    // A server that a test has just killed may still hold the ports.
    await this.kill();
    // The certificate is not valid for 127.0.0.2.
    const urls = ['127.0.0.1', '127.0.0.2']
      .flatMap((host) => [`ldap://${host}:${this.port}/`, `ldaps://${host}:${this.securePort}/`])
      .join(' ');
    const child = spawn(`${programs}/slapd`, ['-d', '0', '-f', join(this.#folder, 'slapd.conf'), '-h', urls], { stdio: 'ignore' });
    this.#child = child;
    await eventually(
      async () => {
        if (child.exitCode !== null) throw new Error(`slapd ended with ${child.exitCode}`);
        return canConnect(this.securePort);
      },
      (isUp) => isUp,
    );
  }

  /** Kills the server by SIGKILL. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true });
  }

  /** Changes the directory as its administrator. */
  async as<T>(use: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client({ url: this.url, timeout: 10_000 });
    try {
      await client.bind(root.dn, root.password);
      return await use(client);
    } finally {
      await client.unbind();
    }
  }

  add = ({ dn, attributes }: Entry) => this.as((client) => client.add(dn, attributes));
  /** Adds an entry with the id that it had before it was removed. */
  restore = ({ dn, attributes }: Entry, entryUUID: string) =>
    this.as((client) => client.add(dn, { ...attributes, entryUUID }, new RelaxRules()));
  remove = (dn: string) => this.as((client) => client.del(dn));
  modify = (dn: string, change: Change) => this.as((client) => client.modify(dn, change));
  rename = (dn: string, to: string) => this.as((client) => client.modifyDN(dn, to));

  async #prepare(entries: readonly Entry[]): Promise<void> {
    const { authority, serving } = await loopbackCertificates();
    const other = await loopbackCertificates();
    await this.file('ca.crt', authority.certificate);
    await this.file('other-ca.crt', other.authority.certificate);
    await this.file('serving.crt', serving.certificate);
    await this.file('serving.key', serving.key);
    await this.file('reader-password', `${reader.password}\n`);
    await mkdir(join(this.#folder, 'data'));
    await this.file('slapd.conf', this.#configuration());
    const base: Entry[] = [
      { dn: suffix, attributes: { objectClass: ['dcObject', 'organization'], dc: 'example', o: 'Example' } },
      { dn: people, attributes: { objectClass: 'organizationalUnit', ou: 'people' } },
      { dn: groups, attributes: { objectClass: 'organizationalUnit', ou: 'groups' } },
      ...[reader, limited].map(({ dn, password }) => ({
        dn,
        attributes: {
          objectClass: ['organizationalRole', 'simpleSecurityObject'],
          cn: /cn=(\w+)/.exec(dn)?.[1] ?? '',
          userPassword: password,
        },
      })),
    ];
    const text = [...base, ...entries].map(({ dn, attributes }) => ldif(dn, attributes)).join('\n\n');
    const flags = ['-q', '-f', join(this.#folder, 'slapd.conf'), '-l', await this.file('entries.ldif', text)];
    const { status, stderr } = spawnSync(`${programs}/slapadd`, flags, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`slapadd: ${stderr}`);
  }

  #configuration(): string {
    const schemas = ['core', 'cosine', 'inetorgperson'].map((name) => `include /etc/ldap/schema/${name}.schema`);
    return `${schemas.join('\n')}
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile ${this.#folder}/slapd.pid
TLSCertificateFile ${this.#folder}/serving.crt
TLSCertificateKeyFile ${this.#folder}/serving.key
database mdb
suffix "${suffix}"
directory ${this.#folder}/data
maxsize 268435456
dbnosync
rootdn "${root.dn}"
rootpw ${root.password}
index objectClass,uid,mail,member,entryUUID eq
limits dn.exact="${limited.dn}" size=100
limits dn.exact="${reader.dn}" size=unlimited
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="${reader.dn}" read by dn.exact="${limited.dn}" read by * none
`;
  }
}

async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
