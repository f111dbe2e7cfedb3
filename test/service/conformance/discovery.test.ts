import { expect } from 'chai';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { aggregatedDiscovery } from './widget.ts';
import { suiteWorkspace } from './workspace.ts';

const resourceList = z.object({ resources: z.array(z.record(z.string(), z.unknown())) });

describe('discovery', () => {
  const { admin } = suiteWorkspace();

  const resource = async (path: string, name: string) => {
    const { resources } = resourceList.parse((await admin.get(path)).body);
    return resources.find((entry) => entry.name === name);
  };

  it('lists the versions of the core group', async () => {
    const answer = await admin.get('/api');

    expect(answer.status).to.equal(200);
    expect(answer.body).to.deep.include({ kind: 'APIVersions', versions: ['v1'] });
    expect(answer.body).to.have.property('serverAddressByClientCIDRs').that.is.an('array');
  });

  it('lists the groups with their preferred version', async () => {
    const answer = await admin.get('/apis');

    expect(answer.body).to.include({ kind: 'APIGroupList', apiVersion: 'v1' });
    expect(answer.body)
      .to.have.property('groups')
      .that.deep.includes({
        name: 'conformance.example.com',
        versions: [{ groupVersion: 'conformance.example.com/v1', version: 'v1' }],
        preferredVersion: { groupVersion: 'conformance.example.com/v1', version: 'v1' },
      });
    for (const group of ['rbac.authorization.k8s.io', 'authorization.k8s.io', 'authentication.k8s.io', 'apiextensions.k8s.io']) {
      expect(answer.text).to.include(`"${group}"`);
    }
  });

  it('describes one group', async () => {
    const answer = await admin.get('/apis/conformance.example.com');

    expect(answer.body).to.deep.equal({
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'conformance.example.com',
      versions: [{ groupVersion: 'conformance.example.com/v1', version: 'v1' }],
      preferredVersion: { groupVersion: 'conformance.example.com/v1', version: 'v1' },
    });
  });

  it('lists the resources of the core group', async () => {
    const answer = await admin.get('/api/v1');

    expect(answer.body).to.include({ kind: 'APIResourceList', groupVersion: 'v1' });
    expect(await resource('/api/v1', 'configmaps')).to.deep.include({
      singularName: 'configmap',
      namespaced: true,
      kind: 'ConfigMap',
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['cm'],
    });
    expect(await resource('/api/v1', 'namespaces')).to.include({ namespaced: false, kind: 'Namespace' });
    expect(await resource('/api/v1', 'serviceaccounts/token')).to.deep.include({
      kind: 'TokenRequest',
      group: 'authentication.k8s.io',
      version: 'v1',
      verbs: ['create'],
    });
  });

  it('lists a custom resource and its status subresource', async () => {
    const widget = await eventually(async () => {
      const found = await resource('/apis/conformance.example.com/v1', 'widgets');
      expect(found).not.to.equal(undefined);
      return found;
    });

    expect(widget).to.deep.include({
      singularName: 'widget',
      namespaced: true,
      kind: 'Widget',
      shortNames: ['wdg'],
      categories: ['conformance'],
    });
    expect(widget?.verbs).to.have.members(['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']);
    expect(await resource('/apis/conformance.example.com/v1', 'widgets/status')).to.deep.include({
      namespaced: true,
      kind: 'Widget',
      verbs: ['get', 'patch', 'update'],
    });
  });

  it('lists reviews as resources that can only be created', async () => {
    for (const name of ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']) {
      expect(await resource('/apis/authorization.k8s.io/v1', name)).to.deep.include({ namespaced: false, verbs: ['create'] });
    }
  });

  it('answers aggregated discovery, or plain discovery instead, to clients that request it', async () => {
    const answer = await admin.send('GET', '/apis', { headers: { accept: aggregatedDiscovery } });

    expect(answer.status).to.equal(200);
    expect(answer.body).to.have.property('kind').that.is.oneOf(['APIGroupDiscoveryList', 'APIGroupList']);
    expect(answer.text).to.include('conformance.example.com');
  });

  it('returns its version', async () => {
    const answer = await admin.get('/version');

    expect(answer.status).to.equal(200);
    expect(answer.body).to.have.property('major', '1');
    expect(answer.body).to.have.property('minor').that.matches(/^\d+/);
    expect(answer.body)
      .to.have.property('gitVersion')
      .that.matches(/^v\d+\.\d+\.\d+/);
  });

  it('says that it lives and is ready', async () => {
    for (const path of ['/livez', '/readyz', '/healthz']) {
      const answer = await admin.get(path);

      expect([answer.status, answer.text]).to.deep.equal([200, 'ok']);
      expect(answer.headers['content-type']).to.match(/^text\/plain/);
    }
  });

  it('answers a group or version that is not there with 404', async () => {
    expect((await admin.get('/apis/nothing.example.com')).status).to.equal(404);
    expect((await admin.get('/apis/conformance.example.com/v7')).status).to.equal(404);
  });

  it('serves an OpenAPI v3 index', async () => {
    const answer = await admin.get('/openapi/v3');

    expect(answer.status).to.equal(200);
    expect(answer.body).to.have.property('paths').that.is.an('object');
  });
});
