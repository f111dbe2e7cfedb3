/**
 * Audit events while replicas, the store, the network and the disk fail: none is lost where they are required, and others are counted.
 * `AUDIT_ROUNDS=20` plays each fault twenty times.
 */
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { stringify } from 'yaml';
import { z } from 'zod';
import { type AuditStatus, auditEventList, auditStatus } from '../../../src/activity/schema.ts';
import { eventually, serviceNamespace } from '../../support/cluster-admin.ts';
import { Command } from '../../support/command.ts';
import { forSuite } from '../../support/for-suite.ts';
import { freePort } from '../../support/free-port.ts';
import { aKubeconfig } from '../../support/kubeconfig.ts';
import { TcpProxy } from '../../support/tcp-proxy.ts';
import { ask } from './asking.ts';
import { type RealCluster, theRealCluster } from './real-cluster.ts';
import { ServiceProcess } from './service-process.ts';

const rounds = Number(process.env.AUDIT_ROUNDS ?? '1');
/** Writers at a time, and answered writes before and after each fault. */
const writers = 4;
const writesBetween = 15;
const configMaps = '/api/v1/namespaces/default/configmaps';
const tokenSchema = z.object({ status: z.object({ token: z.string() }) });
const named = z.object({ items: z.array(z.object({ metadata: z.object({ name: z.string() }) })) });

const limitFiles = (pid: number, bytes: string) => promisify(execFile)('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:`]);

interface Files {
  directory: string;
  /** Configuration of the replica. */
  service: string;
  /** Configuration of the store. */
  store: string;
}

/** A replica and a store as processes, with a relay between them. */
class Installation {
  readonly #cluster: RealCluster;
  readonly #files: Files;
  readonly network: TcpProxy;
  service: ServiceProcess;
  #store: Command | undefined;
  #isWriting = false;
  readonly #prefix = `w-${randomUUID().slice(0, 8)}`;
  #count = 0;
  /** Ids of the requests that were answered with 201, and number of those that were refused. */
  readonly answered: string[] = [];
  refused = 0;

  private constructor(cluster: RealCluster, files: Files, parts: { network: TcpProxy; service: ServiceProcess }) {
    this.#cluster = cluster;
    this.#files = files;
    this.network = parts.network;
    this.service = parts.service;
  }

  static async start(cluster: RealCluster, delivery: 'required' | 'besteffort'): Promise<Installation> {
    const directory = await mkdtemp(join(tmpdir(), 'atrium-delivery-'));
    const port = await freePort();
    const network = new TcpProxy(`http://127.0.0.1:${port}`);
    await network.start();
    const spec = { audiences: ['atrium-audit-store'], expirationSeconds: 7_200 };
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec };
    const { body } = await cluster.admin.call('POST', `/api/v1/namespaces/${serviceNamespace}/serviceaccounts/atrium/token`, review);
    const file = async (name: string, content: string) => {
      await writeFile(join(directory, name), content);
      return join(directory, name);
    };
    const tokenFile = await file('token', tokenSchema.parse(body).status.token);
    const storeAccess = await file('kubeconfig', aKubeconfig(cluster.control, cluster.token('admin')));
    const store = {
      server: { host: '127.0.0.1', port, metricsPort: 0 },
      kubernetes: { kubeconfig: storeAccess },
      auditStore: { databaseFile: join(directory, 'audit.db'), callers: [`system:serviceaccount:${serviceNamespace}:atrium`] },
    };
    const service = {
      server: { host: '127.0.0.1', port: 0, metricsPort: 0, publicURL: 'http://console.test' },
      kubernetes: { kubeconfig: await cluster.kubeconfig(cluster.control.url), namespace: serviceNamespace },
      login: { issuer: 'https://127.0.0.1:1' },
      console: { static: { directory: 'web/dist' } },
      audit: { delivery, store: { url: network.url, tokenFile }, spool: { directory: join(directory, 'spool') } },
    };
    const files = {
      directory,
      service: await file('service.yaml', stringify(service)),
      store: await file('store.yaml', stringify(store)),
    };
    const process = await ServiceProcess.start(files.service);
    const installation = new Installation(cluster, files, { network, service: process });
    await whenReady(process);
    await installation.startStore();
    return installation;
  }

  async startService(): Promise<void> {
    this.service = await ServiceProcess.start(this.#files.service);
    await whenReady(this.service);
  }

  async startStore(): Promise<void> {
    const store = new Command(['audit-store', '--config', this.#files.store]);
    this.#store = store;
    await eventually(() => store.stdout.includes('is listening'), Boolean);
  }

  get storePid(): number {
    return this.#store?.process.pid ?? 0;
  }

  async endStore(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#store?.signal(signal);
    await this.#store?.finished;
  }

  /** Writes ConfigMaps until the work is done. */
  async whileWriting(work: () => Promise<void>): Promise<void> {
    this.#isWriting = true;
    const writing = Promise.all(Array.from({ length: writers }, () => this.#write()));
    try {
      await work();
    } finally {
      this.#isWriting = false;
      await writing;
    }
  }

  /** Waits for further answers. */
  async whenAnswered(kind: 'answered' | 'refused' = 'answered'): Promise<void> {
    const count = () => (kind === 'answered' ? this.answered.length : this.refused);
    const before = count();
    await eventually(count, (now) => now >= before + writesBetween);
  }

  async #write(): Promise<void> {
    while (this.#isWriting) {
      this.#count += 1;
      const name = `${this.#prefix}-${this.#count}`;
      const status = await this.#create(name);
      if (status === 201) this.answered.push(name);
      if (status === 503) this.refused += 1;
      // A service that is away, or refuses, must not be asked without end.
      if (status !== 201) await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Returns undefined without an answer. */
  async #create(name: string): Promise<number | undefined> {
    try {
      const answer = await fetch(`${this.service.url}/api/kubernetes${configMaps}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${this.#cluster.token('admin')}`, 'content-type': 'application/json', 'x-request-id': name },
        body: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } }),
      });
      await answer.text();
      return answer.status;
    } catch {
      return undefined;
    }
  }

  /** Returns the names of the ConfigMaps that exist, whether their writes were answered or not. */
  async effects(): Promise<string[]> {
    const { body } = await this.#cluster.admin.call('GET', configMaps);
    const names = named.parse(body).items.map(({ metadata }) => metadata.name);
    return names.filter((name) => name.startsWith(`${this.#prefix}-`));
  }

  /** Returns the request ids of events of ConfigMaps in the store, by outcome. */
  async events(from?: Date): Promise<{ id: string; outcome: string }[]> {
    const found: { id: string; outcome: string }[] = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const query = new URLSearchParams({
        resource: 'configmaps',
        limit: '500',
        ...(from && { from: from.toISOString() }),
        ...(next && { continue: next }),
      });
      const reply = await ask(this.service, `/auth/v1/audit?${query}`, { token: this.#cluster.token('admin') });
      if (reply.status !== 200) return [];
      const { items, metadata } = auditEventList.parse(reply.body);
      for (const { requestID = '', outcome } of items) if (requestID.startsWith(this.#prefix)) found.push({ id: requestID, outcome });
      next = metadata.continue;
    }
    return found;
  }

  /** Waits until nothing waits for the store. */
  async whenHandedOver(): Promise<void> {
    const waiting = async () =>
      (await this.metric('atrium_audit_events_waiting')) === 0 && (await this.metric('atrium_audit_spool_bytes')) === 0;
    await eventually(waiting, Boolean);
  }

  async status(): Promise<AuditStatus> {
    const { body } = await ask(this.service, '/auth/v1/audit/status', { token: this.#cluster.token('admin') });
    return auditStatus.parse(body);
  }

  async metric(name: string): Promise<number> {
    const text = await (await fetch(`${this.service.metricsURL}/metrics`)).text();
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  }

  async stop(): Promise<void> {
    await this.service.kill();
    await this.#store?.end();
    await this.network.cut();
    await rm(this.#files.directory, { recursive: true });
  }
}

/** Waits until a replica has its caches. */
const whenReady = ({ metricsURL }: ServiceProcess) =>
  eventually(
    async () => (await fetch(`${metricsURL}/readyz`)).status,
    (status) => status === 200,
  );

type Fault = (installation: Installation) => Promise<void>;

const faults: Readonly<Record<string, Fault>> = {
  async 'a replica that is killed'(installation) {
    await installation.service.kill();
    await installation.startService();
  },
  async 'a replica that is stopped'(installation) {
    await installation.service.terminate();
    await installation.startService();
  },
  async 'a replica that is killed while the store is away'(installation) {
    await installation.network.cut();
    await installation.whenAnswered();
    await installation.service.kill();
    await installation.startService();
    await installation.network.mend();
  },
  async 'a store that is killed'(installation) {
    await installation.endStore('SIGKILL');
    await installation.whenAnswered();
    await installation.startStore();
  },
  async 'a store that is stopped'(installation) {
    await installation.endStore('SIGTERM');
    await installation.whenAnswered();
    await installation.startStore();
  },
  async 'a store whose disk is full'(installation) {
    await limitFiles(installation.storePid, '4096');
    await installation.whenAnswered();
    await limitFiles(installation.storePid, 'unlimited');
  },
  async 'a network that is cut'(installation) {
    await installation.network.cut();
    await installation.whenAnswered();
    await installation.network.mend();
  },
};

const play = (installation: Installation, fault: Fault) =>
  installation.whileWriting(async () => {
    for (let round = 0; round < rounds; round += 1) {
      await installation.whenAnswered();
      await fault(installation);
      await installation.whenAnswered();
    }
  });

/** Expects an event for each write that was answered and for each that had an effect, and none twice. */
async function expectAll(installation: Installation): Promise<void> {
  await installation.whenHandedOver();
  const events = await installation.events();
  const ids = new Set(events.map(({ id }) => id));
  const wanted = new Set([...installation.answered, ...(await installation.effects())]);
  expect([...wanted].filter((id) => !ids.has(id))).to.deep.equal([]);
  expect(events).to.have.length(ids.size);
  const unknown = events.filter(({ outcome }) => outcome === 'unknown').length;
  if (rounds > 1) console.log(`      ${wanted.size} writes, ${events.length} events, ${unknown} with an unknown outcome`);
}

for (const delivery of ['required', 'besteffort'] as const)
  describe(`audit events with delivery ${delivery}`, () => {
    const cluster = theRealCluster();
    const installation = forSuite(() => Installation.start(cluster, delivery));

    for (const [name, fault] of Object.entries(faults))
      it(`survive ${name}`, async () => {
        await play(installation, fault);
        await expectAll(installation);
        expect(await installation.metric('atrium_audit_events_lost_total')).to.equal(0);
      });

    if (delivery === 'required')
      it('are there for each write around a full disk, because the others are refused', async () => {
        await play(installation, async ({ service }) => {
          await limitFiles(service.pid, '4096');
          await installation.network.cut();
          await installation.whenAnswered('refused');
          await limitFiles(service.pid, 'unlimited');
          await installation.network.mend();
        });
        await expectAll(installation);
        expect(await installation.metric('atrium_audit_events_lost_total')).to.equal(0);
      });
    else {
      it('survive a replica whose disk is full', async () => {
        await play(installation, async ({ service }) => {
          await limitFiles(service.pid, '4096');
          await installation.whenAnswered();
          await limitFiles(service.pid, 'unlimited');
        });
        await expectAll(installation);
        expect(await installation.metric('atrium_audit_events_lost_total')).to.equal(0);
      });

      it('are counted as lost, also by the next process, where disk and store are away', async () => {
        for (let round = 0, before = 0; round < rounds; round += 1) {
          const [from, answered] = [new Date(), installation.answered.length];
          await installation.whileWriting(async () => {
            await installation.network.cut();
            await limitFiles(installation.service.pid, '4096');
            await installation.whenAnswered();
          });
          await installation.service.terminate();
          await installation.network.mend();
          await installation.startService();
          await installation.whenHandedOver();
          const lost = await installation.metric('atrium_audit_events_lost_total');
          const ids = new Set((await installation.events(from)).map(({ id }) => id));
          const writes = installation.answered.slice(answered);
          expect(lost).to.be.greaterThan(before);
          expect(writes.filter((id) => !ids.has(id))).to.have.length(lost - before);
          expect((await installation.status()).lost).to.equal(lost);
          if (rounds > 1) console.log(`      ${writes.length} writes, ${lost - before} events lost and counted`);
          before = lost;
        }
      }).timeout(rounds * 120_000);
    }
  });
