import { createLog } from '@atrium/http/telemetry/log.ts';
import { Metrics } from '@atrium/http/telemetry/metrics.ts';
import { KubernetesClient } from '@atrium/kubernetes/kubernetes-client.ts';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { ConnectorSync } from '../../../src/directory/connector-sync.ts';
import { DirectoryUsers } from '../../../src/directory/directory-users.ts';
import type { Listing } from '../../../src/directory/listing.ts';
import { watchUsers } from '../../../src/users/users.ts';
import { nameOf } from '../../service/users/a-user.ts';
import { apiServer } from '../../support/api-server.ts';
import { type ClusterAdmin, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { install } from '../../support/installed-cluster.ts';
import { servicesOf } from '../../support/services.ts';
import { aConnector } from './a-connector.ts';

const connector = aConnector({ id: 'corp', name: 'Corporation', url: 'ldaps://directory.example.com', baseDN: 'dc=example,dc=com' });
const emailOf = (uid: string) => `${uid}@corp.example.com`;

/** Returns the listing of a directory, as the LDAP client reports it. */
const listing = (uids: readonly string[], more: Partial<Listing> = {}): Listing => ({
  fetched: uids.length,
  members: uids.map((uid) => ({
    person: {
      dn: `uid=${uid},dc=example,dc=com`,
      id: `id-${uid}`,
      email: emailOf(uid),
      username: uid,
      account: uid,
      mobile: '',
      primaryGroupSID: '',
    },
    groups: [],
    areGroupsWhole: true,
  })),
  errors: [],
  warnings: [],
  isWhole: true,
  has: ({ ids }) => ids.some((id) => uids.includes(id.replace('id-', ''))),
  leftOut: async () => false,
  ...more,
});

describe('the synchronisation of users with a listing', () => {
  const cluster = forSuite(() => apiServer());
  let admin: ClusterAdmin;
  let apiServerClient: KubernetesClient;
  let watched: ReturnType<typeof watchUsers>;
  let users: DirectoryUsers;

  before(async () => {
    admin = await install(cluster);
    const authorization = `Bearer ${await admin.serviceToken()}`;
    const metrics = new Metrics();
    const log = createLog({ level: 'silent', format: 'json' });
    const tls = { ca: cluster.certificateAuthority };
    const connection = {
      server: cluster.url,
      tls,
      namespace: serviceNamespace,
      authorization: async () => authorization,
      discardAuthorization() {},
    };
    apiServerClient = new KubernetesClient({ connection, requestTimeoutMs: 60_000, metrics });
    const services = servicesOf(apiServerClient, { log });
    watched = watchUsers(services);
    watched.collection.cache.start();
    await watched.collection.cache.whenSynced();
    const { accounts, records } = watched;
    users = new DirectoryUsers(services, accounts, records);
  });
  after(async () => {
    await watched.collection.cache.stop();
    await apiServerClient.close();
    await admin.close();
  });

  const run = async (given: Listing, isForced = false) => {
    const { signal } = new AbortController();
    const result = await new ConnectorSync(users, connector, { rules: { maxInvalidPercent: 50, isDryRun: false, isForced }, signal }).run(
      given,
    );
    await users.waitForWrite(signal);
    return result;
  };
  const specOf = async (uid: string) => {
    const { body } = await admin.call('GET', `/apis/auth.platform.io/v1/users/${nameOf(emailOf(uid))}`);
    return (body as { spec: Record<string, unknown> }).spec;
  };

  it('invalidates no user, even when forced, if the directory finds unlisted users by name', async () => {
    expect(await run(listing(['anna', 'ben', 'chris']))).to.include({ status: 'Success', created: 3 });
    const asked: string[] = [];
    const leftOut = async (missing: readonly { email: string }[]) => {
      asked.push(...missing.map(({ email }) => email));
      return true;
    };
    for (const isForced of [false, true]) {
      const result = await run(listing(['anna', 'ben', 'dora'], { leftOut }), isForced);
      expect(result).to.deep.include({ status: 'Failed', created: 0, invalidated: 0 });
      expect(result.errors[0]).to.include({ reason: 'Incomplete' });
    }
    expect(asked).to.deep.equal([emailOf('chris'), emailOf('chris')]);
    expect((await specOf('chris')).valid).to.equal(true);
  });

  it('skips users that were changed meanwhile', async () => {
    const change = { spec: { is_disabled: true, mobile: '110' } };
    const path = `/apis/auth.platform.io/v1/users/${nameOf(emailOf('ben'))}`;
    const leftOut = async () => {
      await admin.call('PATCH', path, change, { 'content-type': 'application/merge-patch+json' });
      return false;
    };
    const given = listing(['anna', 'ben'], { leftOut });
    const members = given.members.map((member) => ({ ...member, person: { ...member.person, username: `${member.person.username} 2` } }));
    expect(await run({ ...given, members })).to.include({ updated: 2, invalidated: 1 });
    expect(await specOf('ben')).to.deep.include({ is_disabled: true, username: 'ben 2' });
    expect(await specOf('ben')).not.to.have.property('mobile');
    expect((await specOf('chris')).valid).to.equal(false);
  });
});
