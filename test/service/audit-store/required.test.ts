/** `audit.delivery: required`: no write without an event. */
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { request } from 'undici';
import { auditEventList } from '../../../src/activity/schema.ts';
import { parseConfig } from '../../../src/config/load.ts';
import { eventually } from '../../support/cluster-admin.ts';
import { forSuite } from '../../support/for-suite.ts';
import { withAuditStore } from './installation.ts';

const configMaps = '/api/kubernetes/api/v1/namespaces/default/configmaps';
const aConfigMap = (name: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });
const review = { spec: { resourceAttributes: { verb: 'list', resource: 'pods' } } };

describe('an installation that requires audit events', () => {
  const installation = forSuite(async () => {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-required-'));
    // A file in the place of the directory above the spool makes the disk fail.
    const obstacle = join(directory, 'disk');
    await writeFile(obstacle, '');
    const spool = join(obstacle, 'spool');
    const server = await withAuditStore({ config: { audit: { delivery: 'required', spool: { directory: spool } } } });
    return {
      ...server,
      spool,
      mend: () => rm(obstacle),
      async stop() {
        await server.stop();
        await rm(directory, { recursive: true });
      },
    };
  });
  const write = (name: string) => installation.request(configMaps, { method: 'POST', as: 'admin', body: aConfigMap(name) });
  const metric = async (name: string) =>
    new RegExp(`^${name} (.*)$`, 'm').exec(await (await fetch(`${installation.metricsURL}/metrics`)).text())?.[1];
  const check = async () =>
    /^\[.\]auditSpool .*$/m.exec(await (await fetch(`${installation.metricsURL}/readyz?verbose`)).text())?.[0] ?? '';

  it('refuses writes while no event can be kept, and tells callers and administrators', async () => {
    const response = await write('refused');
    expect(response.status).to.equal(503);
    expect(response.headers.get('retry-after')).to.equal('5');
    const status = (await response.json()) as { kind: string; reason: string; details: { causes: { reason: string }[] } };
    expect(status).to.include({ kind: 'Status', reason: 'ServiceUnavailable' });
    expect(status.details.causes.map(({ reason }) => reason)).to.deep.equal(['AuditNotAvailable']);
    expect((await installation.request(`${configMaps}/refused`, { as: 'admin' })).status).to.equal(404);
    expect([await metric('atrium_audit_spool_failing'), await metric('atrium_audit_writes_refused_total')]).to.deep.equal(['1', '1']);
    expect(await check()).to.match(/^\[-\]auditSpool failed \(not critical\): the spool E[A-Z]+: .*; writes are refused$/);
  });

  it('refuses connections to containers, and operations of its own', async () => {
    const token = await installation.token('admin');
    const path = '/api/kubernetes/api/v1/namespaces/default/pods/any/exec?command=id';
    const headers = { authorization: `Bearer ${token}` };
    const exec = await request(`${installation.url}${path}`, { method: 'POST', headers });
    expect(exec.statusCode).to.equal(503);
    expect(await exec.body.text()).to.include('AuditNotAvailable');
    const body = { metadata: { name: 'refused' }, spec: { displayName: 'Refused' } };
    const group = await installation.request('/auth/v1/groups', { method: 'POST', as: 'admin', body });
    expect(group.status).to.equal(503);
    expect(await group.text()).to.include('AuditNotAvailable');
    expect((await installation.request('/auth/v1/groups', { as: 'admin' })).status).to.equal(200);
  });

  it('answers reads and reviews meanwhile', async () => {
    expect((await installation.request(configMaps, { as: 'admin' })).status).to.equal(200);
    const answer = await installation.request('/auth/v1/selfsubjectaccessreviews', { method: 'POST', as: 'admin', body: review });
    expect(answer.status).to.be.oneOf([200, 201]);
  });

  it('answers writes once events can be kept, while the store is away', async () => {
    await installation.mend();
    const status = await eventually(
      async () => (await write('kept')).status,
      (code) => code !== 503,
    );
    expect(status).to.equal(201);
    expect([await check(), await metric('atrium_audit_spool_failing')]).to.deep.equal(['[+]auditSpool ok', '0']);
    const files = (await readdir(installation.spool)).filter((name) => name.endsWith('.jsonl'));
    const texts = await Promise.all(files.map((name) => readFile(join(installation.spool, name), 'utf8')));
    expect(texts.join('')).to.match(/"intent":.*"resource":"configmaps"/);
  });

  it('gives the events to the store when it is back, and none of a refused write', async () => {
    await installation.startStore();
    const events = async () => {
      const answer = await installation.request('/auth/v1/audit?resource=configmaps&verb=create', { as: 'admin' });
      return answer.status === 200 ? auditEventList.parse(await answer.json()).items : [];
    };
    const items = await eventually(events, (found) => found.length > 0);
    expect(items.map(({ objectRef, outcome, responseStatus }) => [objectRef.name, outcome, responseStatus?.code])).to.deep.equal([
      ['kept', 'success', 201],
    ]);
    const metrics = await (await fetch(`${installation.metricsURL}/metrics`)).text();
    expect(metrics).to.include('\natrium_audit_events_lost_total 0\n');
  });
});

describe('audit.delivery: required', () => {
  it('is an error of the configuration without a store and a spool', () => {
    const yaml = 'audit: {delivery: required}';
    expect(() => parseConfig({ yaml })).to.throw(/audit\.store: is required with audit\.delivery: required/);
    expect(() => parseConfig({ yaml })).to.throw(/audit\.spool: is required with audit\.delivery: required/);
  });
});
