/** Custom resource definitions that are missing or deleted, and ConfigMaps that a user breaks. */
import { readdir, readFile } from 'node:fs/promises';
import { isRecord } from '@atrium/objects/reader.ts';
import { expect } from 'chai';
import { parse } from 'yaml';
import { Clock } from '../../service/login/support.ts';
import { aUser } from '../../service/users/a-user.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import {
  accessReview,
  ask,
  expectDefinitionMissing,
  expectFollows,
  listedUsers,
  nativeUsers,
  plugin,
  usersList,
  whenReady,
} from './asking.ts';
import { Issuer } from './issuer.ts';
import { type Service, theRealCluster } from './real-cluster.ts';

const definitions = new URL('../../../deploy/manifests/crds/', import.meta.url);
const definitionPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const needsNoUsers = ['/', '/healthz', '/readyz', '/api/v1/i18n/languages', '/api/v1/envs', '/api/v1/modules', '/api/v1/console-plugins'];

describe('FLT-13 the service without definitions or manifests', () => {
  const cluster = theRealCluster();
  const issuer = forSuite(() => Issuer.start(cluster));
  const viewer = () => cluster.token('viewer');

  const start = (clocks: Partial<Clock> = {}) => cluster.service({ connection: cluster.control.url, config: issuer.config, ...clocks });

  /** Deletes definitions, with all objects of their kinds. */
  async function removeDefinitions(isMeant: (name: string) => boolean = () => true): Promise<void> {
    for (const file of (await readdir(definitions)).filter((name) => name.endsWith('.io.yaml'))) {
      const { metadata, spec } = parse(await readFile(new URL(file, definitions), 'utf8'));
      if (!isMeant(metadata.name)) continue;
      // kube-apiserver creates the store of a kind at the first request for it. If that is the deletion of its definition, the deletion
      // may fail once, and is retried only after five minutes.
      await cluster.admin.call('GET', `/apis/${spec.group}/v1/${spec.names.plural}`);
      await cluster.admin.remove(`${definitionPath}/${metadata.name}`);
      await eventually(
        () => cluster.admin.call('GET', `${definitionPath}/${metadata.name}`),
        ({ status }) => status === 404,
      );
    }
  }

  async function expectTheRestWorks(service: Service): Promise<void> {
    for (const path of needsNoUsers) {
      const { status, header } = await ask(service, path);
      expect(status, path).to.equal(200);
      expect(header('warning'), path).to.equal(undefined);
    }
    expect((await ask(service, accessReview.path, { method: 'POST', token: viewer(), body: accessReview.body })).status).to.equal(201);
  }

  /** Requires that logins work. Retries, because the API server needs time to recreate the store of a restored definition. */
  async function expectLogIn(service: Service): Promise<void> {
    await eventually(
      async () => (await issuer.logIn(service)).callback.status,
      (status) => status === 200,
    );
  }

  it('FLT-13 answers 503 for users and sessions if their definitions are missing at the start, serves the rest, and recovers', async () => {
    await removeDefinitions();
    const time = new Clock();
    const service = await start({ now: time.now, clock: time.clock });
    try {
      // A new replica waits for a moment for checks that another replica may pass.
      time.advance(20);
      await eventually(
        async () => (await ask({ url: service.metricsURL }, '/readyz?verbose')).text,
        (report) => /^\[-\]users failed \(not critical\): 404/m.test(report),
      );
      await expectTheRestWorks(service);
      expectDefinitionMissing(await ask(service, usersList, { token: viewer() }), 'users');
      expect((await ask(service, nativeUsers, { token: viewer() })).status).to.equal(404);
      const { browser, callback } = await issuer.logIn(service);
      expect(callback.status).to.equal(503);
      expect((await browser.info('v2')).status).to.be.oneOf([401, 503]);
      await cluster.admin.install();
      await expectFollows(cluster, service);
      await whenReady(service);
      await expectLogIn(service);
    } finally {
      await cluster.admin.install();
      await service.stop();
    }
  });

  it('FLT-13 answers 503 for users whose definition is deleted during sessions, ends the sessions, and recovers', async () => {
    const service = await start();
    try {
      await whenReady(service);
      await cluster.admin.apply(aUser('gone-with-all@example.com'));
      const { browser } = await issuer.logIn(service);
      expect((await browser.info('v2')).status).to.equal(200);
      await removeDefinitions((name) => name === 'users.auth.platform.io');
      await eventually(
        () => ask(service, usersList, { token: viewer() }),
        ({ status }) => status === 503,
      );
      expectDefinitionMissing(await ask(service, usersList, { token: viewer() }), 'users');
      await expectTheRestWorks(service);
      await eventually(
        async () => (await browser.info('v2')).status,
        (status) => status === 401,
      );
      await cluster.admin.install();
      await expectFollows(cluster, service);
      expect(await listedUsers(service, viewer())).to.not.include('gone-with-all@example.com');
      await expectLogIn(service);
    } finally {
      await cluster.admin.install();
      await service.stop();
    }
  });

  it('FLT-13 logs users out when the definition of sessions is deleted, accepts bearer tokens, and recovers', async () => {
    const service = await start();
    try {
      await whenReady(service);
      const { browser } = await issuer.logIn(service);
      await removeDefinitions((name) => name === 'sessions.auth.platform.io');
      await eventually(
        async () => (await browser.info('v2')).status,
        (status) => status === 401 || status === 503,
      );
      await expectTheRestWorks(service);
      expect((await ask(service, usersList, { token: viewer() })).status).to.equal(200);
      expect((await issuer.logIn(service)).callback.status).to.equal(503);
      await cluster.admin.install();
      await expectLogIn(service);
      await whenReady(service);
      expect((await browser.info('v2')).status).to.equal(401);
    } finally {
      await cluster.admin.install();
      await service.stop();
    }
  });

  it('FLT-13 leaves a broken plugin out, and keeps the others', async () => {
    const service = await start();
    try {
      await cluster.admin.apply(plugin('good'), plugin('spoilt'));
      const plugins = async () => {
        const { status, body } = await ask(service, '/api/v1/console-plugins');
        expect(status).to.equal(200);
        const items: unknown[] = isRecord(body) && Array.isArray(body.items) ? body.items : [];
        return items.map((item) => isRecord(item) && item.plugin);
      };
      await eventually(plugins, (names) => names.includes('good') && names.includes('spoilt'));
      for (const manifest of ['{ half', '[]']) {
        await cluster.admin.apply(plugin('spoilt', manifest));
        expect(await eventually(plugins, (names) => !names.includes('spoilt'))).to.include('good');
        await cluster.admin.apply(plugin('spoilt'));
        await eventually(plugins, (names) => names.includes('spoilt'));
      }
    } finally {
      for (const name of ['good', 'spoilt']) await cluster.admin.remove(`/api/v1/namespaces/${serviceNamespace}/configmaps/${name}`);
      await service.stop();
    }
  });
});
