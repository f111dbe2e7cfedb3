import { z } from 'zod';
import type { Keycloak } from './keycloak.ts';

export const password = 'correct horse battery staple';
export const clientSecret = 'a-secret-of-the-tests';
/** Redirect URL of all clients, for logins and logouts. */
export const consoleURL = 'http://console.test/';

/** Clients of a realm. */
export type ClientID = 'atrium' | 'atrium-public' | 'atrium-id-token' | 'atrium-access-token' | 'atrium-brief' | 'kubectl';

/** Common settings of clients that redeem codes. */
export const codeClient = {
  protocol: 'openid-connect',
  publicClient: false,
  secret: clientSecret,
  redirectUris: [consoleURL],
  directAccessGrantsEnabled: false,
  attributes: { 'pkce.code.challenge.method': 'S256', 'post.logout.redirect.uris': consoleURL },
};

const audienceMapper = {
  name: 'audience',
  protocol: 'openid-connect',
  protocolMapper: 'oidc-audience-mapper',
  config: { 'included.client.audience': 'atrium-access-token', 'access.token.claim': 'true' },
};

const clients: Record<ClientID, Record<string, unknown>> = {
  atrium: codeClient,
  'atrium-public': { ...codeClient, publicClient: true },
  'atrium-id-token': { ...codeClient, publicClient: true, standardFlowEnabled: false, implicitFlowEnabled: true },
  'atrium-access-token': { ...codeClient, protocolMappers: [audienceMapper] },
  // The tokens of this client live for seconds.
  'atrium-brief': { ...codeClient, attributes: { ...codeClient.attributes, 'access.token.lifespan': '5' } },
  // Client for users' machines as in docs/kubectl.md, except for tokens that live little longer than kubectl can use them.
  kubectl: {
    ...codeClient,
    publicClient: true,
    redirectUris: ['http://127.0.0.1/callback'],
    attributes: { ...codeClient.attributes, 'oauth2.device.authorization.grant.enabled': 'true', 'access.token.lifespan': '16' },
  },
};

export const clientIDs = Object.keys(clients) as [ClientID, ...ClientID[]];

const groupsScope = {
  name: 'groups',
  protocol: 'openid-connect',
  attributes: { 'include.in.token.scope': 'true' },
  protocolMappers: [
    {
      name: 'groups',
      protocol: 'openid-connect',
      protocolMapper: 'oidc-group-membership-mapper',
      config: {
        'claim.name': 'groups',
        'full.path': 'false',
        'id.token.claim': 'true',
        'access.token.claim': 'true',
        'userinfo.token.claim': 'true',
      },
    },
  ],
};

/** A realm as in docs/install-keycloak.md, with the groups `dev` and `oncall`. */
export class Realm {
  readonly keycloak: Keycloak;
  readonly name: string;
  readonly issuer: string;

  private constructor(keycloak: Keycloak, name: string) {
    this.keycloak = keycloak;
    this.name = name;
    this.issuer = keycloak.issuer(name);
  }

  static async create(keycloak: Keycloak, name: string): Promise<Realm> {
    await keycloak.admin('POST', '', {
      realm: name,
      enabled: true,
      sslRequired: 'all',
      revokeRefreshToken: true,
      refreshTokenMaxReuse: 0,
      groups: [{ name: 'dev' }, { name: 'oncall' }],
    });
    const realm = new Realm(keycloak, name);
    const scope = await realm.create('client-scopes', groupsScope);
    await realm.admin('PUT', `/default-optional-client-scopes/${scope}`);
    for (const [clientId, settings] of Object.entries(clients)) await realm.create('clients', { clientId, ...settings });
    return realm;
  }

  /** @param path below the realm */
  admin(...[method, path, body]: Parameters<Keycloak['admin']>) {
    return this.keycloak.admin(method, `/${this.name}${path}`, body);
  }

  /** @returns the ID of the created object */
  async create(kind: 'client-scopes' | 'clients' | 'users' | 'components', representation: unknown): Promise<string> {
    const { headers } = await this.admin('POST', `/${kind}`, representation);
    return headers.get('location')?.split('/').at(-1) ?? '';
  }

  /** Returns the ID of an object in the admin REST API. */
  async idOf(kind: 'clients' | 'groups', name: string): Promise<string> {
    const query = kind === 'clients' ? 'clientId' : 'search';
    const { text } = await this.admin('GET', `/${kind}?${query}=${name}`);
    const [found] = z.array(z.object({ id: z.string() })).parse(JSON.parse(text));
    if (found === undefined) throw new Error(`the realm ${this.name} has no ${name} among its ${kind}`);
    return found.id;
  }

  async changeClient(clientId: ClientID, changes: Record<string, unknown>): Promise<void> {
    await this.admin('PUT', `/clients/${await this.idOf('clients', clientId)}`, { clientId, ...changes });
  }

  async changeComponent(id: string, config: Record<string, unknown>): Promise<void> {
    const component = z.looseObject({ config: z.looseObject({}) }).parse(JSON.parse((await this.admin('GET', `/components/${id}`)).text));
    await this.admin('PUT', `/components/${id}`, { ...component, config: { ...component.config, ...config } });
  }

  async leaveGroup({ id }: Person, group: string): Promise<void> {
    await this.admin('DELETE', `/users/${id}/groups/${await this.idOf('groups', group)}`);
  }

  /** Creates a user with an address of this realm and the password above. */
  async person(
    username: string,
    { groups = [], emailVerified = true }: { groups?: readonly string[]; emailVerified?: boolean } = {},
  ): Promise<Person> {
    const email = `${username}@${this.name}.test`;
    const id = await this.create('users', {
      ...{ username, email, emailVerified, groups, firstName: username, lastName: 'Doe', enabled: true },
      credentials: [{ type: 'password', value: password, temporary: false }],
    });
    return { id, username, email };
  }
}

export interface Person {
  id: string;
  username: string;
  email: string;
}
