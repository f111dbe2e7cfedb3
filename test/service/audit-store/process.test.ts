/** `atrium audit-store` as a process, with TLS and tokens of the API server. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { request } from 'undici';
import { parseAllDocuments, stringify } from 'yaml';
import { z } from 'zod';
import { auditEventList } from '../../../src/activity/schema.ts';
import { loopbackCertificates } from '../../cluster/certificates.ts';
import { eventually, type Manifest, serviceNamespace } from '../../support/cluster-admin.ts';
import { Command } from '../../support/command.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { aKubeconfig } from '../../support/kubeconfig.ts';
import { startServer } from '../../support/server.ts';
import { Trusting } from '../../support/trusting.ts';

const configMaps = '/api/kubernetes/api/v1/namespaces/default/configmaps';
const listening = z.object({ msg: z.literal('audit store is listening'), metricsPort: z.number() });

const anEvent = {
  ...{ auditID: 'a1', cluster: 'local', source: 'door', verb: 'get', sourceIPs: [], outcome: 'success' },
  objectRef: { apiGroup: '', resource: 'pods' },
  requestReceivedTimestamp: '2026-01-12T10:00:00.000Z',
};

interface StoreProcess {
  command: Command;
  metricsURL: string;
}

/** Bounds the files that a process writes, as a disk without room does. */
const limitFiles = ({ process: { pid } }: Command, bytes: string) => promisify(execFile)('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:`]);

/** A service and a store process that the test starts. */
async function anInstallation() {
  const directory = await mkdtemp(join(tmpdir(), 'atrium-store-'));
  const [port, { authority, serving }] = [await freePort(), await loopbackCertificates('audit store')];
  const file = (name: string) => join(directory, name);
  await writeFile(file('token'), 'none');
  for (const [name, text] of Object.entries({ 'ca.crt': authority.certificate, 'tls.crt': serving.certificate, 'tls.key': serving.key }))
    await writeFile(file(name), text);
  const store = { url: `https://127.0.0.1:${port}`, tokenFile: file('token'), caFile: file('ca.crt') };
  const server = await startServer({ config: { audit: { store } } });
  const manifest = parseAllDocuments(await readFile(new URL('../../../deploy/manifests/audit-store.yaml', import.meta.url), 'utf8'));
  const rights = ['ServiceAccount', 'ClusterRole', 'ClusterRoleBinding'];
  await server.kubernetes.apply(...manifest.map((object): Manifest => object.toJS()).filter(({ kind }) => rights.includes(kind)));
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['atrium-audit-store'] } };
  const { body } = await server.kubernetes.call('POST', `/api/v1/namespaces/${serviceNamespace}/serviceaccounts/atrium/token`, review);
  await writeFile(file('token'), z.object({ status: z.object({ token: z.string() }) }).parse(body).status.token);
  await writeFile(file('kubeconfig'), aKubeconfig(server.cluster, await server.kubernetes.serviceToken('atrium-audit-store')));
  const config = {
    server: { host: '127.0.0.1', port, metricsPort: 0, tls: { certFile: file('tls.crt'), keyFile: file('tls.key') } },
    kubernetes: { kubeconfig: file('kubeconfig') },
    auditStore: { databaseFile: file('audit.db'), callers: [`system:serviceaccount:${serviceNamespace}:atrium`] },
  };
  await writeFile(file('config.yaml'), stringify(config));
  const processes: Command[] = [];
  return {
    server,
    /** Appends events, as a replica. */
    async append(events: readonly object[]) {
      const headers = { authorization: `Bearer ${await readFile(file('token'), 'utf8')}`, 'content-type': 'application/json' };
      const dispatcher = new Trusting(authority.certificate);
      const answer = await request(`${store.url}/v1/events`, { method: 'POST', headers, body: JSON.stringify({ events }), dispatcher });
      const body = await answer.body.json();
      await dispatcher.close();
      return { status: answer.statusCode, body };
    },
    /** Starts the process. Resolves when it listens. */
    async run(): Promise<StoreProcess> {
      const command = new Command(['audit-store', '--config', file('config.yaml')]);
      processes.push(command);
      const told = () => {
        const lines = command.stdout
          .split('\n')
          .slice(0, -1)
          .filter((line) => line.includes('is listening'));
        return lines.map((line) => listening.parse(JSON.parse(line)))[0];
      };
      const line = await eventually(told, (found) => found !== undefined || command.process.exitCode !== null);
      if (line === undefined) throw new Error(command.stderr);
      return { command, metricsURL: `http://127.0.0.1:${line.metricsPort}` };
    },
    async stop() {
      await server.stop();
      for (const command of processes) await command.end();
      await rm(directory, { recursive: true });
    },
  };
}

describe('the process atrium audit-store', () => {
  const installation = forSuite(anInstallation);
  const create = async (name: string) => {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    expect((await installation.server.request(configMaps, { method: 'POST', as: 'admin', body })).status).to.equal(201);
  };
  /** Returns the names that the store has, newest first; undefined while it does not answer. */
  const names = async () => {
    const response = await installation.server.request('/auth/v1/audit?resource=configmaps', { as: 'admin' });
    return response.status === 200 ? auditEventList.parse(await response.json()).items.map(({ objectRef }) => objectRef.name) : undefined;
  };
  const has = async (...expected: string[]) =>
    expect(await eventually(names, (found) => `${found}` === `${expected}`)).to.deep.equal(expected);

  let store: StoreProcess;
  const stopped = async (signal: NodeJS.Signals) => {
    store.command.signal(signal);
    return store.command.finished;
  };

  it('takes events of a replica over TLS, and answers questions', async () => {
    store = await installation.run();
    await create('first');
    await has('first');
  });

  it('ends in order on SIGTERM, and has its events after a restart, with the ones from the time between', async () => {
    const { code, stdout } = await stopped('SIGTERM');
    expect(code).to.equal(0);
    expect(stdout).to.include('"msg":"audit store has stopped"');
    await create('second');
    store = await installation.run();
    await has('second', 'first');
  });

  it('has each confirmed event after it was killed', async () => {
    await create('third');
    await has('third', 'second', 'first');
    expect((await stopped('SIGKILL')).code).to.equal(null);
    await create('fourth');
    store = await installation.run();
    await has('fourth', 'third', 'second', 'first');
  });

  it('refuses events while its disk is full, tells why, and takes them later', async () => {
    const check = async () => /^\[.\]store .*$/m.exec(await (await fetch(`${store.metricsURL}/readyz?verbose`)).text())?.[0];
    await limitFiles(store.command, '4096');
    await create('fifth');
    expect(await eventually(check, (line) => line !== '[+]store ok')).to.equal('[-]store failed (not critical): disk I/O error');
    expect(await (await fetch(`${store.metricsURL}/metrics`)).text()).to.match(
      /^atrium_audit_store_events_total\{outcome="failed"\} [1-9]/m,
    );
    const { status, body } = await installation.append([anEvent]);
    expect(status).to.equal(503);
    expect(body).to.include({ kind: 'Status', message: 'the audit store is not available, try again' });
    await limitFiles(store.command, 'unlimited');
    await has('fifth', 'fourth', 'third', 'second', 'first');
    expect(await eventually(check, (line) => line === '[+]store ok')).to.equal('[+]store ok');
  });
});
